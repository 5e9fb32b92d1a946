"""Texts, cut into tokens and tallied."""
