"""Scoring over HTTP, on one machine."""
