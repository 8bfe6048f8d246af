"""Evaluation of deciders on public tables: error rates, thresholds and needed budgets."""
