"""Batches: several queries that one mechanism answers together."""
