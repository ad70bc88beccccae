"""Contextual and sentence encoders: texts to vectors, of pieces or of the whole."""
