"""Errors of the deciders on cases: exact, and as the share of wrong answers in 100 trials."""

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction

import numpy as np
import pandas as pd

from benchmarks.paper.patwa.cases import Case, generated_cases, printed_cases
from benchmarks.paper.record import Setting
from pqd.deciders import DECIDERS, Interval, SimulatedNoise

TAUS = ("0.2", "0.8", "3.2", "12.8", "51.2")
EPSILONS = ("0.0625", "0.125", "0.25", "0.5", "1")
# Defaults of section 7.1: what stays while the other varies.
TAU, EPSILON = "3.2", "0.25"
PUBLISHED = {
    "COUNT": ("lm_count", "em_count"),
    "SUM": ("lm_sum", "r2t_sum", "svt_sum"),
    "MEDIAN": ("em_median", "hist_median"),
}
OURS = {
    "COUNT": ("inv_count",),
    "SUM": ("r2t_sum_tight", "inv_sum"),
    "MEDIAN": ("em_median_corrected", "inv_median"),
}
TRIALS, QUICK_TRIALS = 100, 10


def interval_of(case: Case, percent: str) -> Interval:
    """Interval around the copy's answer; tau is rounded up to a whole number, as in the paper.

    Its printed errors of q5 come out only so (errata, number 8).
    """
    return Interval.around(case.synthetic, math.ceil(Fraction(percent) / 100 * case.synthetic))


def rows(
    case: Case, deciders: Iterable[str], trials: int, seed: int
) -> Iterator[dict[str, object]]:
    """Rows of one case: every tau at every epsilon, with trials where one has its default."""
    for number, name in enumerate(deciders):
        kind = DECIDERS[name]
        ends = {} if case.aggregate == "COUNT" else {"lower": case.lower, "upper": case.upper}
        decider = kind(**ends)
        for tau in TAUS:
            interval = interval_of(case, tau)
            inside = interval.contains(case.private)
            for epsilon in EPSILONS:
                accept = float(decider.accept(case.histogram, interval, epsilon))
                wrong = None
                if trials and (tau == TAU or epsilon == EPSILON):
                    key = [seed, number, TAUS.index(tau), EPSILONS.index(epsilon)]
                    noise = SimulatedNoise(np.random.default_rng(key))
                    wrong = (
                        sum(
                            decider.decide(case.histogram, interval, epsilon, noise).outcome
                            is not inside
                            for _ in range(trials)
                        )
                        / trials
                    )
                yield {
                    "answers": case.answers,
                    "query": case.id,
                    "private": case.private,
                    "synthetic": case.synthetic,
                    "decider": name,
                    "tau": tau,
                    "epsilon": epsilon,
                    "inside": int(inside),
                    "error": min(1.0, max(0.0, 1 - accept if inside else accept)),
                    "trials": wrong,
                }  # fmt: skip


def errors(aggregate: str, setting: Setting) -> pd.DataFrame:
    """Errors on the printed and on the generated answers, for all queries of an aggregate."""
    published, every = PUBLISHED[aggregate], (*PUBLISHED[aggregate], *OURS[aggregate])
    trials = QUICK_TRIALS if setting.quick else TRIALS
    lines: list[dict[str, object]] = []
    for case in printed_cases(aggregate, quick=setting.quick):
        seed = int(case.id.removeprefix("q"))
        lines += rows(case, published, trials, seed)
        lines += rows(case, OURS[aggregate], 0, seed)
    for case, _ in generated_cases(aggregate, quick=setting.quick):
        lines += rows(case, every, 0, 0)
    return pd.DataFrame(lines)
