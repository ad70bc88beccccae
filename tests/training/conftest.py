"""Fixtures for tests of training."""

from metric_runs import run  # noqa: F401
from toy_training import sentencepiece, toy_config, toy_data  # noqa: F401
