"""Engines: from a table and a workload to one histogram per query."""
