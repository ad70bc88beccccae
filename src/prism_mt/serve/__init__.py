"""Scores over HTTP, for one machine."""
