"""Batches of range sums (Wu et al. 2019)."""
