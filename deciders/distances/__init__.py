"""Distances between distributions: sensitivity 1, decided one by one or released together."""
