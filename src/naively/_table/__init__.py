"""What the user holds, read into a `Table`: arrays, data frames, sparse matrices, records; labels, classes, weights."""
