"""Fixtures for metrics that are trained."""

from metric_runs import run  # noqa: F401
