"""Everything that is counted of a table, from its distinct values and combinations of them."""
