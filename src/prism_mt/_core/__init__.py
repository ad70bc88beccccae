"""Shared infrastructure: errors, options, files, progress, cache, environment."""
