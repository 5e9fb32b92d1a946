"""What every room may use and what knows none of them: checks of parameters, numbers by label, progress, threads."""
