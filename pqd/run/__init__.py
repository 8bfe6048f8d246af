"""Measurements, the one place where a charge meets a draw, and what a run costs."""
