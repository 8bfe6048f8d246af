"""Results: the chances of every entrant's answers to every problem, as a table."""

from collections.abc import Iterator, Sequence
from fractions import Fraction

import pandas as pd

from benchmarks.quality.entrants import Constant, Entrant, TunedEntrant, chances_of
from benchmarks.quality.noisy_answers import BY_HAND
from benchmarks.quality.pqd_entrants import DISPATCHERS, SINGLE
from benchmarks.quality.problems import DrawnQuery, Problem
from benchmarks.quality.similarity import TUNED

ENTRANTS: tuple[Entrant, ...] = (
    *DISPATCHERS,
    *SINGLE,
    *BY_HAND,
    *TUNED,
    Constant(says_yes=True),
    Constant(says_yes=False),
)
# Columns that name a query, and a problem.
QUERY, PROBLEM = ["entry", "seed", "query"], ["entry", "seed", "query", "tolerance"]


def results_of(
    problems: Sequence[Problem], entrants: Sequence[Entrant], epsilons: Sequence[Fraction]
) -> pd.DataFrame:
    """One row for each problem, entrant that fits and epsilon."""
    ready = [e.tuned(problems) if isinstance(e, TunedEntrant) else e for e in entrants]
    return pd.DataFrame([row for problem in problems for row in _rows(problem, ready, epsilons)])


def _rows(
    problem: Problem, entrants: Sequence[Entrant], epsilons: Sequence[Fraction]
) -> Iterator[dict[str, object]]:
    facts = facts_of(problem)
    for entrant in entrants:
        if entrant.fits(problem):
            for epsilon in epsilons:
                named = {"entrant": entrant.name, "private": int(entrant.private)}
                chances = chances_of(entrant, problem, epsilon)._asdict()
                chances["exact"] = int(chances["exact"])
                yield facts | named | {"epsilon": float(epsilon)} | chances


def facts_of(problem: Problem) -> dict[str, object]:
    """Columns of a problem and its query."""
    query: DrawnQuery = problem.query
    private, copy = query.answers
    return {
        "entry": query.tables.name,
        "seed": query.tables.seed,
        "query": query.number,
        "aggregate": query.aggregate,
        "sql": query.sql,
        "private_answer": None if private is None else float(private),
        "copy_answer": float(copy),
        "tolerance": problem.stratum,
        "hard": int(problem.is_hard),
        "tau": float(problem.tau),
        "within": int(problem.truth),
    }
