"""Risk: how often attacks succeed on private rows, and how much more often than on others."""
