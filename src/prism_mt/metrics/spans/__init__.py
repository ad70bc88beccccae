"""Error spans: which words of an output are wrong, and which words of its reference or source it lacks."""
