"""Comparison: candidates, reference tables, leaderboard."""
