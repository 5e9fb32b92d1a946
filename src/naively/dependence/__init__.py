"""Experts that relax the independence assumption, and the pool that joins them with ``auto``."""
