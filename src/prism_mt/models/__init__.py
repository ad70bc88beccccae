"""Models: what they are, where they are kept, and how foreign ones are read."""
