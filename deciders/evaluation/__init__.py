"""Evaluation: what a decider is worth on public tables."""
