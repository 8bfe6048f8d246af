"""Texts: the sentences of every rendering."""
