"""Exports: a model as a file that other programs, and this one, can read."""
