"""What a model holds: its columns, its options by name, what it has learnt, and the records that it answers for."""
