"""Engines: pairs of token ids in, token log-probabilities out."""
