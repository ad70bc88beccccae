"""What tests of meta-evaluation share."""

from collections.abc import Callable

from prism_mt.evaluation.judgments import Judgments

Read = Callable[[str], dict[str, Judgments]]
"""Reads a file of the judgments folder once and gives its judgments by language pair."""
