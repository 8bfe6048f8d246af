"""Counts of a table, from its distinct values and combinations of these values."""
