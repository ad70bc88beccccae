"""Text: lines from files, languages, subwords."""
