"""Generation: translations and paraphrases by search or sampling, and reranking."""
