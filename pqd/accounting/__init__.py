"""Accounting: composition, charges and limits of budgets, and the ledger on disk."""
