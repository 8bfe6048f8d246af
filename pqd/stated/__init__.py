"""What a caller states, read: budgets, queries, tolerances, facts of columns, cells."""
