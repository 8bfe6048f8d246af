"""Figures, tables and claims of the three papers, computed again: `python -m benchmarks.paper`."""
