"""How often a likely verdict is false: bits without p-values against real tables.

    python -m benchmarks.likely_verdicts FOLDER [--seeds 1] [--queries 24]

FOLDER holds tables and copies as for ``needed_epsilon``.  Per pair it draws queries (SUM, MEDIAN,
QUANTILE of a number >= 0 where a category has a value), at tolerances of 3.2 and 10 % and epsilon
1/4 and 1.  A SUM has two stated bounds: the largest value of both tables, and 20 times that.

A bit of a decider is *likely* if its error is at most alpha on all public stand-ins, shapes and
tails of the copy.  The chance that it is false on the real table is then exact; only queries and
copies are drawn.  It prints, by decider and aggregate, how many bits are likely, the share that is
false, and how many are false more often than alpha; then the same for those that ``auto`` takes.
"""

import argparse
from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from benchmarks.drawn_queries import LEAST_ROWS, numeric_columns, pairs, selections
from benchmarks.result_tables import ResultTable, add_csv_option
from pqd.deciders import Decider, Histogram, Interval, Lattice, answer, applicable
from pqd.deciders.evaluation.tails import largest_error
from pqd.deciders.single.base import BOTH
from pqd.parameters import Parameters
from pqd.planning.choose_decider import choose_decider, likely_choice

ALPHA = Fraction(1, 20)
HALF = Fraction(1, 2)
TOLERANCES = Fraction(32, 1000), Fraction(1, 10)
EPSILONS = Fraction(1, 4), Fraction(1)
AGGREGATES = (
    ("SUM", HALF),
    ("MEDIAN", HALF),
    ("QUANTILE", Fraction(1, 4)),
    ("QUANTILE", Fraction(9, 10)),
)
WIDER = 1, 20


class Problem(NamedTuple):
    """One query on a real table and its copy, within stated bounds."""

    aggregate: str
    p: Fraction
    lattice: Lattice
    private: Histogram
    copy: Histogram

    @property
    def deciders(self) -> tuple[Decider, ...]:
        """Deciders that fit."""
        parameters = {"p": self.p} if self.aggregate == "QUANTILE" else {}
        return applicable(self.aggregate, self.lattice, **parameters)


def problems(
    private: pd.DataFrame, copy: pd.DataFrame, number: int, rng: np.random.Generator
) -> Iterator[Problem]:
    """Queries that both tables answer, of every aggregate alike."""
    numeric = [c for c in numeric_columns(copy) if min(copy[c].min(), private[c].min()) >= 0]
    made = 0
    for selection in selections(copy, number, rng, numeric):
        if made == number:
            return
        found = [selection.of(table) for table in (private, copy)]
        if min(map(len, found)) < LEAST_ROWS or not found[1].any():
            continue
        aggregate, p = AGGREGATES[made % len(AGGREGATES)]
        made += 1
        upper = max(int(each.max()) for each in found)
        for wider in WIDER if aggregate == "SUM" else WIDER[:1]:
            histograms = [Histogram.from_values(values) for values in found]
            yield Problem(aggregate, p, Lattice(0, upper * wider), *histograms)


class Found(NamedTuple):
    """A likely bit: who gave it, whether ``auto`` takes it, and the chance that it is false."""

    decider: str
    aggregate: str
    taken: bool
    false: float


def likely_bits(problem: Problem, share: Fraction, epsilon: Fraction) -> Iterator[Found]:
    """Every likely bit on one problem."""
    centre = answer(problem.aggregate, problem.copy, problem.p)
    truth = answer(problem.aggregate, problem.private, problem.p)
    if not centre or truth is None:
        return
    interval = Interval.around(centre, centre * share)
    terms = Parameters.parse(tau=centre * share, epsilon=epsilon, alpha=ALPHA)
    choice = choose_decider(terms, problem.aggregate, problem.deciders, problem.copy, interval)
    reliable = choice.is_reliable(ALPHA)
    likely = None if reliable else likely_choice(choice, terms, problem.copy, interval)
    for decider in problem.deciders:
        if decider.proves == BOTH:
            continue
        if largest_error(decider, problem.copy, interval, epsilon) <= ALPHA:
            yes = decider.accept(problem.private, interval, epsilon)
            taken = likely is not None and likely.decider.id == decider.id
            false = 1 - yes if interval.contains(truth) else yes
            yield Found(decider.id, problem.aggregate, taken, false)


def add_rows(results: ResultTable, bits: str, problems: int, rows: list[Found]) -> None:
    """Add a row for each decider and aggregate; ``false`` is a mean chance in per cent."""
    groups: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row in rows:
        groups[row.decider, row.aggregate].append(row.false)
        groups["all", ""].append(row.false)
    for (decider, aggregate), chances in sorted(groups.items()):
        often = sum(chance > ALPHA for chance in chances)
        results.add(
            bits=bits,
            problems=problems,
            decider=decider,
            aggregate=aggregate,
            likely=len(chances),
            false=100 * float(np.mean(chances)),
            false_error=100 * float(np.std(chances) / np.sqrt(len(chances))),
            above_alpha=often,
        )


def main() -> None:
    """Print likely bits of any decider without p-values, then those that ``auto`` takes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--queries", type=int, default=24)
    add_csv_option(parser)
    arguments = parser.parse_args()
    found: list[Found] = []
    asked = 0
    for name, private, copy in pairs(arguments.folder, arguments.seeds):
        rng = np.random.default_rng(sum(map(ord, name)))
        for problem in problems(private, copy, arguments.queries, rng):
            for share in TOLERANCES:
                for epsilon in EPSILONS:
                    asked += 1
                    found.extend(likely_bits(problem, share, epsilon))
    with ResultTable("likely-verdicts", arguments.csv) as results:
        add_rows(results, "of any decider without p-values", asked, found)
        add_rows(results, "taken by auto", asked, [row for row in found if row.taken])


if __name__ == "__main__":
    main()
