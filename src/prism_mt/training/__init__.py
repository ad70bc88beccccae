"""Training: one loop and three objectives: translation, ranking and regression."""
