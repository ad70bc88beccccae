"""Reports: results as text, TSV, JSON, LaTeX, HTML and plots."""
