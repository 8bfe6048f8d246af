"""Accounting: what is composed, charged, limited and kept on disk."""
