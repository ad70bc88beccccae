"""Corpus preparation: from raw bitext to training shards."""
