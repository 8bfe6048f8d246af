"""Engines: they count a table for a workload, and give one histogram for each query."""
