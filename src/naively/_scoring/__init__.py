"""From estimates to evidence, from evidence to a decision, and the reasons for it."""
