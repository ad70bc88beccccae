"""The steps of corpus preparation, one class a file."""
