"""Evaluate systems with metrics, and metrics with human judgments."""
