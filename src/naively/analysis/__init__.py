"""What else a model can be asked."""
