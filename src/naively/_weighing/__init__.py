"""How much to believe each term: the recipes "fast", "auto" and "strong"."""
