"""Mechanisms that answer a whole batch of queries under one budget."""
