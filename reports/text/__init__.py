"""Sentences that the documents of all reports are made of."""
