"""Distances between the distributions of the copy and of the private table."""
