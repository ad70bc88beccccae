"""Translation and language models: cross-entropy on shards."""
