"""What is added up: each statistic merges with ``+`` and forgets."""
