"""Writes docs/reference.md from the code: `python -m docs.generate`."""
