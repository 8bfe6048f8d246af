"""Share of runs that decide: what "decides", "needs", "is enough" and "would do" mean everywhere.

An epsilon decides a query if at least this share of all runs end with a right verdict and a p-value
of at most alpha, on every public table of the forecast (deciders/evaluation/needed_budget.py).
An error rate of at most alpha is a weaker claim: at the epsilon that it needs about half of the
runs stay undecided.
"""

from fractions import Fraction

DECIDED = Fraction(9, 10)
