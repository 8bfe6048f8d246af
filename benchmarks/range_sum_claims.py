"""Claims of Wu et al. 2019 about their mechanisms, judged on seeded runs."""

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from benchmarks.range_sum_runs import IDS, KEPT, STEPS, Key, Runs, Seed, Seeds
from benchmarks.standard_errors import Estimate
from pqd.deciders.distributions import Floats

Row = tuple[str, str, str]
Numbers = Callable[[Seed], Sequence[float]]


def claim(text: str, seeds: Seeds, numbers: Numbers, margin: Callable[..., float]) -> Row:
    """Row of the table of claims; the claim is true if ``margin`` of the numbers is positive."""
    rows = [numbers(seed) for seed in seeds]
    shown = ", ".join(str(Estimate.of(column)) for column in zip(*rows, strict=True))
    verdict = Estimate.of(margin(*values) for values in rows).positive
    return text, shown, verdict


def spread(runs: Runs) -> float:
    """Mean over the queries of the width between the 5 and 95 percentiles of the answers."""
    low, high = np.percentile(runs.answers, [5, 95], axis=0)
    return float((high - low).mean())


def relative(name: str, kinds: Iterable[str], truncations: Iterable[str], side: int = 1) -> Numbers:
    """Function that gives the mean relative errors of these configurations for a seed.

    ``side`` is 0 without and 1 with isotonic regression.
    """
    keys = [(name, kind, t) for kind in kinds for t in truncations]
    return lambda seed: [float(seed[side][key].mean.mean()) for key in keys]


def truncation_claims(seeds: Seeds, roots: dict[Key, float]) -> Iterator[Row]:
    """Judge the paper's claims about truncation."""
    for name in STEPS:
        for kind in IDS:
            whole, *cut = (roots[name, kind, t] for t in KEPT)
            lower = ["yes" if root < whole else "**no**" for root in cut]
            yield (
                f"truncation lowers the expected error of {kind}, {name}: SVT, recursive",
                f"root mean square {whole:.3g}, {cut[0]:.3g}, {cut[1]:.3g}",
                lower[0] if lower[0] == lower[1] else ", ".join(lower),
            )
            for t in KEPT[1:]:
                text = f"{t} lowers the relative error of {kind}, {name}"
                pair = relative(name, (kind,), ("none", t))
                yield claim(text, seeds, pair, lambda none, ours: none - ours)

    def widths(seed: Seed) -> list[float]:
        return [spread(seed.smooth["Q1", "identity", t]) for t in KEPT]

    def off(seed: Seed) -> list[float]:
        runs = [seed.smooth["Q1", "identity", t] for t in KEPT]
        return [float(np.abs(r.answers.mean(axis=0) - r.truth).mean()) for r in runs]

    def beyond_both(none: float, *cut: float) -> float:
        return none - max(cut)

    text = "identity on Q1: truncation narrows the answers (5 to 95 %)"
    yield claim(text, seeds, widths, beyond_both)
    text = "identity on Q1: mean answers without truncation deviate most from the truth"
    yield claim(text, seeds, off, beyond_both)
    yield claim(
        "identity on Q1: SVT has a smaller error than the recursive mechanism",
        seeds,
        relative("Q1", ("identity",), KEPT[1:]),
        lambda svt, recursive: recursive - svt,
    )


def matrix_claims(seeds: Seeds, star: str) -> Iterator[Row]:
    """Judge the paper's claims about the matrix mechanisms, on Q1 with SVT."""
    timm, tamm = f"timm{star}", f"tamm{star}"

    def wins(seed: Seed) -> list[float]:
        means = [seed.smooth["Q1", kind, "svt"].mean for kind in ("identity", timm, tamm)]
        return [float(v) for v in np.bincount(np.argmin(means, axis=0), minlength=3)]

    def ratio(seed: Seed) -> Floats:
        found: Floats = seed.smooth["Q1", timm, "svt"].mean / seed.smooth["Q1", tamm, "svt"].mean
        return found

    def spreads(kind: str) -> Numbers:
        return lambda seed: [spread(seed.smooth["Q1", k, "svt"]) for k in (kind, "identity")]

    for kind in (tamm, timm):
        text = f"{kind} varies less than identity"
        yield claim(text, seeds, spreads(kind), lambda ours, identity: identity - ours)
    yield claim(
        f"{tamm} is the best on most of the 1,000 queries (wins of identity, {timm}, {tamm})",
        seeds,
        wins,
        lambda *found: found[2] - 500,
    )
    yield claim(
        f"{timm} errs about ten times as much as {tamm} on very small queries "
        "(median of 50; queries 1, 10, 50, 100)",
        seeds,
        lambda s: [float(np.median(ratio(s)[:50])), *ratio(s)[[0, 9, 49, 99]].tolist()],
        lambda median, *_: min(median - 3, 30 - median),
    )
    yield claim(
        f"{timm} becomes competitive as queries grow (the last 250, within a quarter)",
        seeds,
        lambda s: [float(ratio(s)[750:].mean())],
        lambda found: 1.25 - found,
    )
    yield claim(
        f"{timm} errs less than {tamm} on very large queries (the last 10)",
        seeds,
        lambda s: [float(ratio(s)[-10:].mean())],
        lambda found: 1 - found,
    )


def baseline_claims(seeds: Seeds, star: str) -> Iterator[Row]:
    """Judge the paper's claims about the baselines, on Q1 with SVT."""
    kinds = "identity", "workload", f"sqm{star}"
    yield claim(
        f"identity has a smaller error than {kinds[1]} and {kinds[2]}",
        seeds,
        relative("Q1", kinds, ("svt",)),
        lambda identity, *others: min(others) - identity,
    )


def isotonic_claims(seeds: Seeds, star: str) -> Iterator[Row]:
    """Judge the paper's claims about isotonic regression, on Q2 with SVT."""
    sqm = f"sqm{star}"

    def gains(seed: Seed) -> list[float]:
        before, after = (relative("Q2", ("workload", sqm), ("svt",), side)(seed) for side in (0, 1))
        return [one / other for one, other in zip(before, after, strict=True)]

    def both(seed: Seed) -> list[Floats]:
        return [runs["Q2", sqm, "svt"].relative for runs in seed]

    def worse(seed: Seed) -> list[float]:
        before, after = both(seed)
        return [float((after.var(axis=0) > before.var(axis=0)).sum())]

    def low(seed: Seed) -> list[float]:
        before, after = (np.percentile(found, 5, axis=0) for found in both(seed))
        return [float((after > before).sum()), float(before.mean()), float(after.mean())]

    yield claim(
        f"isotonic regression lowers the mean error of workload more than that of {sqm} (factors)",
        seeds,
        gains,
        lambda workload, other: workload - other,
    )
    yield claim(
        f"it lowers the mean error of {sqm} only slightly (by less than a fifth)",
        seeds,
        lambda s: [1 / gains(s)[1]],
        lambda left: min(left - 0.8, 1 - left),
    )
    yield claim(
        f"it raises the variance of the errors of {sqm} for most of the 100 queries",
        seeds,
        worse,
        lambda found: found - 50,
    )
    yield claim(
        f"it raises the 5 percentile of the errors of {sqm} for most queries, and twofold in the "
        "mean",
        seeds,
        low,
        lambda most, before, after: min(most / 50 - 1, after / before / 2 - 1),
    )
