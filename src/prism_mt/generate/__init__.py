"""Generation: translations and paraphrases by search or sampling, and the choice among candidates."""
