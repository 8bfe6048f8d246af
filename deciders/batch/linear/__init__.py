"""Batches of numerical queries over row classes (Qiu et al. 2022)."""
