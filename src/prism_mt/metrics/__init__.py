"""Metrics: segments in, segment scores out."""
