"""Which decider answers a query: chosen from public data only.

For now by the paper's own advice (Patwa 2023, Table 4), made precise.
"""

from dataclasses import dataclass
from fractions import Fraction

from deciders import Decider, Histogram, Lattice, Threshold, applicable, for_lattice

AUTO = "auto"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A decider that fits the query, with its effectiveness threshold (lattice units)."""

    decider: Decider
    threshold: Threshold | None


@dataclass(frozen=True, slots=True)
class Choice:
    """The decider taken, why, and every candidate; a function of public data alone."""

    decider: Decider
    reason: str
    candidates: tuple[Candidate, ...]

    @property
    def threshold(self) -> Threshold | None:
        """The effectiveness threshold of the decider taken."""
        return next(c.threshold for c in self.candidates if c.decider.id == self.decider.id)


def choose(
    wanted: str,
    aggregate: str,
    lattice: Lattice,
    synthetic: Histogram,
    epsilon: Fraction,
    alpha: Fraction,
) -> Choice:
    """Return the decider for one query; ``synthetic`` is the histogram of the synthetic table.

    Raises
    ------
    DeciderError
        If ``wanted`` is unknown, decides another aggregate, or needs values >= 0.
    """
    fitting = applicable(aggregate, lattice)
    candidates = tuple(Candidate(d, d.tau_min(synthetic, epsilon, alpha)) for d in fitting)
    if wanted == AUTO:
        name, reason = _table_four(aggregate, candidates)
    else:
        name, reason = wanted, "named by the caller"
    return Choice(for_lattice(name, aggregate, lattice), reason, candidates)


def _table_four(aggregate: str, candidates: tuple[Candidate, ...]) -> tuple[str, str]:
    """Patwa 2023, Table 4; "DS much smaller than GS" is taken as: R2T's bound beats LM's."""
    if aggregate == "COUNT":
        return "lm_count", "the paper's choice for COUNT unless q(D) = q(Ds) is expected"
    if aggregate == "MEDIAN":
        return "hist_median", "the paper's choice for MEDIAN"
    thresholds = {c.decider.id: c.threshold for c in candidates}
    laplace, race = thresholds["lm_sum"], thresholds.get("r2t_sum")
    if laplace and race and race.tau < laplace.tau:
        return "r2t_sum", "the largest synthetic value is far below the column's bound"
    return "lm_sum", "the largest synthetic value is not far below the column's bound"
