"""Training of the classifier behind error spans."""
