"""Training: batches, objectives and the trainer."""
