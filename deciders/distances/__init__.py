"""Distances between distributions: of sensitivity 1, decided one by one or released together."""
