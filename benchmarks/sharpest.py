"""Margin deciders of AVG and QUANTILE against the paper's: which errs less, and which knows first.

    python -m benchmarks.sharpest FOLDER [--seeds 1] [--queries 24]

FOLDER holds tables and copies as for ``needed_epsilon``, whose queries are drawn here too.  At
epsilon 1/4 and 1 each query is evaluated by ``inv_mean`` and ``lm_mean``, or by ``inv_quantile``
and ``hist_quantile``: the larger error on the stand-ins, the threshold, the error on the real
table, and the chance of a proof there.  All numbers are exact; only queries and copies are drawn.
It prints how often the paper's decider is the better one, and the means.
"""

import argparse
from collections import defaultdict
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.drawn_queries import pairs
from benchmarks.needed_epsilon import BenchmarkQuery, benchmark_queries
from benchmarks.result_tables import ResultTable, add_csv_option
from pqd.deciders import Decider, Histogram, Interval, answer, applicable, error_rates

ALPHA = Fraction(1, 20)
EPSILONS = Fraction(1, 4), Fraction(1)
HALF = Fraction(1, 2)
MARGINS = {"AVG": "inv_mean", "QUANTILE": "inv_quantile"}
PUBLISHED = {"AVG": "lm_mean", "QUANTILE": "hist_quantile"}


class Figures(NamedTuple):
    """Figures of one decider on one query: errors, threshold in shares of tau, chance of proof."""

    on_stand_ins: float
    threshold: float
    on_real_table: float
    unproven: float


def figures(decider: Any, query: BenchmarkQuery, epsilon: Fraction) -> Figures:  # noqa: ANN401 - or its law
    """Figures of ``decider``; the real values are cut to the copy's for AVG."""
    centre = answer(query.aggregate, query.copy, query.p or HALF) or Fraction(0)
    interval = Interval.around(centre, abs(centre) * query.share)
    private = query.private
    if query.aggregate == "AVG":
        clamped = np.clip(private.values, int(query.lattice.lower), int(query.lattice.upper))
        private = Histogram.weighted(clamped, private.counts)
    law = decider.acceptance(private, interval)
    truth = interval.contains(answer(query.aggregate, private, query.p or HALF) or Fraction(0))
    chance = law.proof_chance if truth else law.refutation_chance
    return Figures(
        error_rates(decider, query.copy, interval, epsilon).worst,
        decider.tau_min(query.copy, epsilon, ALPHA).tau / float(interval.tau),
        1 - law(epsilon) if truth else law(epsilon),
        1 - chance(epsilon, ALPHA),
    )


def both(query: BenchmarkQuery) -> tuple[Decider, Decider]:
    """Margin decider and published decider of a query."""
    parameters = {"p": query.p} if query.aggregate == "QUANTILE" else {}
    known = {d.id: d for d in applicable(query.aggregate, query.lattice, **parameters)}
    return known[MARGINS[query.aggregate]], known[PUBLISHED[query.aggregate]]


def main() -> None:
    """Print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--queries", type=int, default=24)
    add_csv_option(parser)
    arguments = parser.parse_args()
    found: dict[str, list[tuple[Figures, Figures]]] = defaultdict(list)
    for name, private, copy in pairs(arguments.folder, arguments.seeds):
        rng = np.random.default_rng(sum(map(ord, name)))
        for query in benchmark_queries(private, copy, arguments.queries, rng):
            if query.aggregate in MARGINS:
                for epsilon in EPSILONS:
                    ours, published = both(query)
                    figured = figures(ours, query, epsilon), figures(published, query, epsilon)
                    found[query.aggregate].append(figured)
    with ResultTable("sharpest", arguments.csv) as results:
        for aggregate, cells in found.items():
            for place, figure in enumerate(Figures._fields):
                columns = [(ours[place], published[place]) for ours, published in cells]
                results.add(aggregate=aggregate, figure=figure, **compared(columns))


def compared(columns: list[tuple[float, float]]) -> dict[str, object]:
    """In how many queries the published decider's figure is less than ours, and the means.

    ``less_above_alpha`` counts those where ours is above alpha; ``most`` is the largest difference.
    """
    less = [(ours, published) for ours, published in columns if published < ours - 1e-9]
    finite = [pair for pair in columns if max(pair) < float("inf")]
    means = np.mean(finite, axis=0)
    return {
        "queries": len(columns),
        "less": len(less),
        "less_above_alpha": sum(ours > float(ALPHA) for ours, _ in less),
        "most": max(ours - published for ours, published in finite),
        "ours": float(means[0]),
        "published": float(means[1]),
    }


if __name__ == "__main__":
    main()
