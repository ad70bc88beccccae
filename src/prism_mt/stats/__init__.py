"""Correlations, resampling and significance tests: pure functions of arrays."""
