"""Attacks on a copy: public functions of one row, and the counts of their successes."""
