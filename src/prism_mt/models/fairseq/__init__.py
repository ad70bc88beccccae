"""Models in the layout of the original Prism: a fairseq checkpoint, read without fairseq."""
