"""Contextual and sentence encoders: vectors of pieces or whole texts."""
