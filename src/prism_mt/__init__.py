"""Prism: machine translation scored by a multilingual translation model, and metrics judged by people."""

__version__ = "0.1.0"
