"""Batches: many queries answered by one mechanism."""
