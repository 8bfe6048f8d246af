"""Queries: from SQL text to resolved expressions, predicates, regions and groups."""
