"""Correlations, accuracies, resampling and significance tests, as pure functions of arrays."""
