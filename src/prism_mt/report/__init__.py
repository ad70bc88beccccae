"""Reports: results as text, TSV, JSON, LaTeX and pictures."""
