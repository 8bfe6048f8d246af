"""Readers of a caller's statements: budgets, queries, tolerances, facts of columns, cells."""
