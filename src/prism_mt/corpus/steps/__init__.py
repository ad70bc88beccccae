"""The steps of corpus preparation, one class per file."""
