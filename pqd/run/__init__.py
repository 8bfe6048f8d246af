"""Runs: the measurements, the execution that charges and draws them, and the cost."""
