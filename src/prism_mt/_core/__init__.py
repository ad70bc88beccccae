"""Shared by all rooms: errors, options, files, progress, cache, environment."""
