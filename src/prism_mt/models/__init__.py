"""Models: description, model directory, network, and readers of foreign formats."""
