"""Recorded runs, one folder each: what a page shows before any model is loaded."""
