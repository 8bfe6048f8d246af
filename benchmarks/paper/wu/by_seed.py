"""Numbers of one seed, which is one run of the paper's experiment, for its claims."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from benchmarks.paper.wu.algorithm_9 import Runs
from benchmarks.paper.wu.mechanisms import SQM, SQM_PRINTED, TAMM, TAMM_OURS, TIMM, TIMM_OURS

Row = dict[str, Any]
# Pairs of TIMM and TAMM: with the published GreedyH, and with pqd's.
PAIRS = ((TIMM, TAMM), (TIMM_OURS, TAMM_OURS))
# Ends of the groups of queries of Q1 whose errors are compared.
SMALL, LARGE, LAST = 50, 750, 990


def statistics(workload: str, truncation: str, raw: Mapping[str, Runs]) -> Iterator[Row]:
    """Numbers of all mechanisms on one workload with one truncation, for one seed.

    ``isotonic`` is 0 for answers as they are, and 1 for answers after isotonic regression.
    """
    smooth = {name: runs.smooth for name, runs in raw.items()}
    for isotonic, side in enumerate((raw, smooth)):
        where = {"workload": workload, "truncation": truncation, "isotonic": isotonic}
        for name, runs in side.items():
            here = {**where, "mechanism": name}
            yield {**here, "statistic": "relative", "value": runs.relative.mean()}
            yield {**here, "statistic": "root mean square", "value": runs.root_mean_square}
        if workload == "Q1":
            for row in _answers(truncation, side):
                yield {**where, **row}
        if workload == "Q1" and truncation == "svt" and isotonic:
            for row in _errors(side):
                yield {**where, **row}
    if workload == "Q2" and truncation == "svt":
        for row in _isotonic(raw, smooth):
            yield {"workload": workload, "truncation": truncation, "isotonic": 1, **row}


def _answers(truncation: str, runs: Mapping[str, Runs]) -> Iterator[Row]:
    """Numbers of Figure 2: variance of the answers, and how far their means are off.

    ``deviation`` is off the truth.  ``gap`` is off IDENTITY's mean, as a part of the mean truth.
    """
    identity = runs["identity"]
    base, truth = identity.answers.mean(axis=0), float(identity.truth.mean())
    yield {"mechanism": "identity", "statistic": "deviation", "value": identity.deviation}
    names = ("identity", *PAIRS[0], *PAIRS[1]) if truncation == "svt" else ("identity",)
    for name in names:
        yield {"mechanism": name, "statistic": "variance", "value": runs[name].variance}
        gap = float(np.abs(runs[name].answers.mean(axis=0) - base).mean()) / truth
        yield {"mechanism": name, "statistic": "gap", "value": gap}


def _errors(runs: Mapping[str, Runs]) -> Iterator[Row]:
    """Numbers of Figure 3: the queries on which each mechanism errs least, and ratios of errors.

    Wins and ratios of a pair belong to its TIMM and TAMM; IDENTITY's wins have the pair's name.
    """
    means = {name: each.relative.mean(axis=0) for name, each in runs.items()}
    for timm, tamm in PAIRS:
        best = np.argmin([means[name] for name in ("identity", timm, tamm)], axis=0)
        identity, *wins = np.bincount(best, minlength=3).tolist()
        for name, number in zip((timm, tamm), wins, strict=True):
            yield {"mechanism": name, "statistic": "wins", "value": number}
        yield {"mechanism": timm, "statistic": "wins of identity", "value": identity}
        ratio = means[timm] / means[tamm]
        values = {
            "to tamm, small": np.median(ratio[:SMALL]),
            "to identity, small": np.median((means[timm] / means["identity"])[:SMALL]),
            "to tamm, middle": ratio[SMALL:LARGE].mean(),
            "to tamm, large": ratio[LARGE:].mean(),
            "to tamm, last": ratio[LAST:].mean(),
        }
        for query in (1, 10, 50, 100):
            values[f"to tamm, query {query}"] = ratio[query - 1]
        for statistic, value in values.items():
            yield {"mechanism": timm, "statistic": statistic, "value": value}


def _isotonic(raw: Mapping[str, Runs], smooth: Mapping[str, Runs]) -> Iterator[Row]:
    """Numbers of Figure 4: what isotonic regression does to the errors of the 100 queries."""
    for name in ("workload", SQM, SQM_PRINTED):
        before, after = raw[name].relative, smooth[name].relative
        lows = [np.percentile(side, 5, axis=0) for side in (before, after)]
        values = {
            "mean left": after.mean() / before.mean(),
            "variance rises": (after.var(axis=0) > before.var(axis=0)).sum(),
            "5 percentile rises": (lows[1] > lows[0]).sum(),
            "5 percentile left": lows[1].mean() / lows[0].mean(),
        }
        for statistic, value in values.items():
            yield {"mechanism": name, "statistic": statistic, "value": value}
