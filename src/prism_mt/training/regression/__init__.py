"""Learned metrics: regression to human judgments over a frozen encoder."""
