"""Readers of what a caller states: budgets, queries, tolerances, facts of columns, cells."""
