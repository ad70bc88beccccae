"""Fixtures for tests of training."""

from toy_training import sentencepiece, toy_config, toy_data  # noqa: F401
