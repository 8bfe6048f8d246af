"""Deciders of a single query (Patwa et al. 2023, and inverse sensitivity)."""
