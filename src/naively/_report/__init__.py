"""The report of a model: one HTML page that needs no network, made of tables of counts and of evidence, of no rows."""
