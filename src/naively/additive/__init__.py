"""The additive recipes: evidence per column, weighed on the kept rows by leave-one-out, in one additive model."""
