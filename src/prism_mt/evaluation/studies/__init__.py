"""The tables and figures of the papers as studies that can be run: published cells, data, and how ours are made."""
