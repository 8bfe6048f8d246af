"""Choice of a decider for a query, from public data only.

``auto`` takes the decider that is wrong least often on stand-ins for the private table, at the
tolerance of the query.  A verdict without a p-value is never decided, so it counts as wrong.  Some
deciders also release the noisy answer, which tells how far off the copy is, and in which
direction.  ``auto`` prefers a decider of this kind if it is nearly as sharp
(``_noisy_answer_if_sharp``).  ``paper`` takes the decider that errs least of those that Patwa 2023
offers for the aggregate, and tells where Table 4 advises another.

``auto`` takes a decider that cannot prove both verdicts only where no other is reliable, and only
if its error is at most alpha on all public stand-ins (``likely_choice``).  A decider of this kind
is evaluated if the caller names it, if a report shows every candidate (``Detail.CURVES``), and for
``paper``.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol, cast

from pqd.deciders import (
    DECIDERS,
    Decider,
    DeciderError,
    ErrorRates,
    Histogram,
    Interval,
    Threshold,
    UnanswerableError,
    decision_chance,
    error_rates,
    needed_epsilon,
    operating_characteristic,
    published_tau,
)
from pqd.deciders.decided import DECIDED
from pqd.deciders.evaluation.sharpness import nearly_as_sharp
from pqd.deciders.evaluation.tails import largest_error
from pqd.deciders.exact import exceeds
from pqd.deciders.names import nearest_names
from pqd.deciders.note import Note, note
from pqd.deciders.single.base import BOTH
from pqd.deciders.single.inverse_sensitivity import InverseSensitivity
from pqd.deciders.single.noisy_answer import NoisyAnswer
from pqd.parameters import Criteria, Detail, Parameters
from pqd.stated.budgets import AUTO

PAPER = "paper"
# Deciders that the paper offers for each aggregate (sections 4 to 6; for QUANTILE and AVG the end
# of section 6.2).
_OFFERED = {
    "COUNT": ("lm_count", "em_count"),
    "SUM": ("lm_sum", "r2t_sum", "svt_sum"),
    "MEDIAN": ("em_median", "hist_median"),
    "QUANTILE": ("em_quantile", "hist_quantile"),
    "AVG": ("lm_mean",),
}
# Deciders that Table 4 advises for every table; it has no row for QUANTILE and AVG.
_FIXED = {"COUNT": "lm_count", "MEDIAN": "hist_median"}
# Of the deciders that prove both verdicts, ``inv_count`` errs least on every table.  It also has
# the least threshold and, but for a few per cent, the least needed epsilon.  Reason: noise on an
# answer can cross either end of the interval, but noise on a margin only the nearer end
# (docs/theory.md, Theorem 4).  For AVG and QUANTILE the margin decider was sharper than the paper's
# on every query that was measured, by each figure on stand-ins (benchmarks/sharpest.py).
_SHARPEST = {"COUNT": "inv_count", "AVG": "inv_mean", "QUANTILE": "inv_quantile"}
# Deciders with p-values that ``auto`` leaves out, because it would never take them.
_UNWEIGHED = frozenset({"lm_mean", "hist_quantile"})
# Up to this alpha no decider of a MEDIAN has a lower threshold than ``inv_median`` (Theorem 6).
_LEAST_MEDIAN = Fraction(1, 16)
# True gaps, in multiples of tau, at which operating characteristics are given.
GAPS = tuple(Fraction(step, 8) for step in range(21))


class VerdictMechanism(Protocol):
    """Mechanism of a verdict: a decider, or a batch that answers several queries."""

    @property
    def id(self) -> str:
        """Name in reports."""
        ...

    @property
    def proves(self) -> frozenset[bool]:
        """Outcomes that can have a p-value."""
        ...


@dataclass(frozen=True, slots=True)
class Candidate:
    """Decider that fits the query, evaluated on public data, in lattice units.

    Without a budget only the needed epsilon (``needed``) is known.  ``needed`` and ``curve`` are
    None if the level of detail is too low for them.  A decider that is not evaluated has only
    ``published``.  The decider that ``auto`` takes has the ``needed`` of the sharpest decider,
    because ``auto`` would take the sharpest decider at that budget.
    """

    mechanism: VerdictMechanism
    threshold: Threshold | None = None
    published: float | None = None
    rates: ErrorRates | None = None
    chance: float | None = None
    needed: float | None = None
    curve: tuple[float, ...] | None = None

    @property
    def worst(self) -> float:
        """Larger error probability; 1 if it is unknown, or if a verdict may lack a p-value."""
        if self.mechanism.proves != BOTH or self.rates is None:
            return 1.0
        return self.rates.worst


@dataclass(frozen=True, slots=True)
class Choice:
    """Decider that is taken, the reason, and every candidate; a function of public data alone."""

    taken: Candidate
    reason: Note
    candidates: tuple[Candidate, ...]

    def is_reliable(self, alpha: Fraction) -> bool:
        """Whether a decider with p-values errs with at most alpha, as far as that is known."""
        return any(not _errs(c, alpha) for c in self.candidates if _is_weighed(c.mechanism))

    @property
    def decides(self) -> bool:
        """Whether the decider decides the query, as far as that was asked (decided.py)."""
        return self.taken.chance is None or self.taken.chance >= DECIDED

    @property
    def decider(self) -> Decider:
        """Decider that is taken, if no batch decides the query."""
        return cast("Decider", self.taken.mechanism)


def choose_decider(
    criteria: Criteria,
    aggregate: str,
    applicable: Sequence[Decider],
    synthetic: Histogram,
    interval: Interval,
    *,
    conditional: bool = False,
) -> Choice:
    """Choice of the decider for one query among the ``applicable`` ones.

    ``synthetic`` is the histogram of the synthetic table.  The private table is not used.

    Raises
    ------
    DeciderError
        If the mechanism is unknown or decides another aggregate.
    UnanswerableError
        If the mechanism needs values >= 0, and the column has others.
    """
    _check_name(criteria.mechanism, aggregate, applicable)
    candidates = tuple(
        _evaluation(decider, synthetic, interval, criteria)
        if _evaluates(criteria, decider)
        else _published_only(decider, synthetic, criteria)
        for decider in applicable
        if _evaluates(criteria, decider) or decider.id not in _UNWEIGHED
    )
    able = [c for c in candidates if not conditional or isinstance(c.mechanism, InverseSensitivity)]
    sharpest, name, reason = _sharpest_and_taken(
        criteria, aggregate, able if criteria.mechanism == AUTO else candidates, synthetic, interval
    )
    decider = next(decider for decider in applicable if decider.id == name)
    taken = next(c for c in candidates if c.mechanism.id == name)
    if not _evaluates(criteria, decider):
        taken = _evaluation(decider, synthetic, interval, criteria)
    always, decided = sharpest != name and criteria.detail >= Detail.BUDGETS, True
    if isinstance(criteria, Parameters) and criteria.detail > Detail.ERRORS:
        chance = _decision_chance(taken, synthetic, interval, criteria)
        taken, decided = replace(taken, chance=chance), chance >= DECIDED
    if always or not decided:
        # At the needed epsilon ``auto`` takes the sharpest decider unless another one decides too.
        best = (
            taken if sharpest == name else next(c for c in candidates if c.mechanism.id == sharpest)
        )
        taken = replace(taken, needed=_needed_epsilon(best, synthetic, interval, criteria.alpha))
    every = tuple(taken if c.mechanism is decider else c for c in candidates)
    return Choice(taken, reason, every)


def _sharpest_and_taken(
    criteria: Criteria,
    aggregate: str,
    candidates: Sequence[Candidate],
    synthetic: Histogram,
    interval: Interval,
) -> tuple[str, str, Note]:
    """Name of the sharpest candidate, name of the candidate that is taken, and the reason."""
    name, reason = criteria.mechanism, note("named")
    if name == PAPER:
        name, reason = _least_of_paper(aggregate, candidates)
    if name != AUTO:
        return name, name, reason
    sharpest = _SHARPEST.get(aggregate)
    if not isinstance(criteria, Parameters):
        sharpest = sharpest or _least_budget(candidates)
        return sharpest, sharpest, note("least-budget")
    sharpest = sharpest or _least_error(candidates, interval, criteria.alpha)
    return sharpest, *_noisy_answer_if_sharp(sharpest, criteria, candidates, synthetic, interval)


def _decision_chance(
    candidate: Candidate, synthetic: Histogram, interval: Interval, parameters: Parameters
) -> float:
    """Decision chance of a candidate: the known value, or else computed here."""
    if candidate.chance is not None:
        return candidate.chance
    decider = cast("Decider", candidate.mechanism)
    return decision_chance(decider, synthetic, interval, parameters.epsilon, parameters.alpha)


def _needed_epsilon(
    candidate: Candidate, synthetic: Histogram, interval: Interval, alpha: Fraction
) -> float:
    """Needed epsilon of a candidate: the known value, or else computed here."""
    known, decider = candidate.needed, cast("Decider", candidate.mechanism)
    return needed_epsilon(decider, synthetic, interval, alpha) if known is None else known


def _evaluates(criteria: Criteria, decider: Decider) -> bool:
    """Whether a decider is evaluated before the choice; this depends on the criteria alone."""
    shown = criteria.detail is Detail.CURVES or decider.id == criteria.mechanism
    of_paper = criteria.mechanism == PAPER and decider.id in _OFFERED.get(decider.aggregate, ())
    return shown or of_paper or _is_weighed(decider)


def _is_weighed(mechanism: VerdictMechanism) -> bool:
    """Whether ``auto`` weighs a decider."""
    return mechanism.proves == BOTH and mechanism.id not in _UNWEIGHED


def _published_only(decider: Decider, synthetic: Histogram, criteria: Criteria) -> Candidate:
    """Candidate with the threshold that the paper prints, and no other figure."""
    if not isinstance(criteria, Parameters):
        return Candidate(decider)
    published = published_tau(decider, synthetic, criteria.epsilon, criteria.alpha)
    return Candidate(decider, published=published)


def _check_name(name: str, aggregate: str, applicable: Sequence[Decider]) -> None:
    names = [decider.id for decider in applicable]
    if name in {AUTO, PAPER, *names}:
        return
    allowed = f"use {AUTO}, {PAPER} or {', '.join(names)}"
    if name not in DECIDERS:
        near = nearest_names(name, [*names, PAPER], 0.6) or nearest_names(name, DECIDERS, 0.6)
        meant = f"did you mean {near[0]}? Or " if near else ""
        raise DeciderError(f"there is no decider {name!r}; {meant}{allowed}")
    if DECIDERS[name].aggregate != aggregate:
        raise DeciderError(f"{name} decides {DECIDERS[name].aggregate}, not {aggregate}; {allowed}")
    raise UnanswerableError(
        f"{name} needs values >= 0, but the lower bound of the column is negative; {allowed}"
    )


def _evaluation(
    decider: Decider, synthetic: Histogram, interval: Interval, criteria: Criteria
) -> Candidate:
    """Candidate with all figures of the detail in ``criteria``."""
    alpha, detail = criteria.alpha, criteria.detail
    if not isinstance(criteria, Parameters):
        return Candidate(decider, needed=needed_epsilon(decider, synthetic, interval, alpha))
    epsilon, terms = criteria.epsilon, (decider, synthetic, interval)
    return Candidate(
        decider,
        published=published_tau(decider, synthetic, epsilon, alpha),
        rates=error_rates(*terms, epsilon),
        threshold=(
            decider.tau_min(synthetic, epsilon, alpha) if detail >= Detail.THRESHOLDS else None
        ),
        chance=decision_chance(*terms, epsilon, alpha) if detail >= Detail.BUDGETS else None,
        needed=needed_epsilon(*terms, alpha) if detail >= Detail.BUDGETS else None,
        curve=(
            operating_characteristic(*terms, epsilon, GAPS) if detail >= Detail.CURVES else None
        ),
    )


def _least_error(candidates: Sequence[Candidate], interval: Interval, alpha: Fraction) -> str:
    """Name of the candidate with the least worst-case error on the stand-ins.

    Ties go to the lower threshold in whole steps, then to the order of the registry.  The registry
    begins with the deciders that release a margin, which can decide every aggregate.  Two theorems
    make the comparison unnecessary.  For a SUM whose interval does not contain 0, ``inv_sum`` errs
    least (docs/theory.md, Theorem 5).  For a MEDIAN, no decider has a lower threshold than
    ``inv_median`` (Theorem 6).
    """

    def steps(candidate: Candidate) -> float:
        tau = candidate.threshold.tau if candidate.threshold else 0.0
        return tau if math.isinf(tau) else math.ceil(tau)

    first = candidates[0].mechanism.id
    if first == "inv_sum" and not interval.contains(0):
        return first
    errors = [round(candidate.worst, 12) for candidate in candidates]
    least = min(errors)
    tied = [c for c, error in zip(candidates, errors, strict=True) if error == least]
    best = tied[0].mechanism.id
    known = best == "inv_median" and least < 1 and alpha <= _LEAST_MEDIAN
    return best if known else min(tied, key=steps).mechanism.id


def _errs(candidate: Candidate, alpha: Fraction) -> bool:
    """Whether an error of a candidate exceeds alpha."""
    return candidate.rates is not None and exceeds(candidate.rates.worst, alpha)


def _noisy_answer_if_sharp(
    name: str,
    criteria: Parameters,
    candidates: Sequence[Candidate],
    synthetic: Histogram,
    interval: Interval,
) -> tuple[str, Note]:
    """Decider that releases the noisy answer, if it is nearly as sharp as ``name``; else ``name``.

    Nearly as sharp means two things: the decider errs at most twice as often or almost never, and
    it proves a yes nearly as often (deciders/evaluation/sharpness.py).  If ``name`` is reliable at
    alpha, the decider must be reliable too.  The choice depends only on the copy, the query,
    epsilon, tau and alpha.
    """
    best = next(c for c in candidates if c.mechanism.id == name)
    if isinstance(best.mechanism, InverseSensitivity):
        terms = synthetic, interval, criteria
        decided = _decision_chance(best, *terms) >= DECIDED
        for candidate in candidates:
            if not isinstance(candidate.mechanism, NoisyAnswer):
                continue
            # A decider that does not decide is not taken in place of one that does.
            if decided and _decision_chance(candidate, *terms) < DECIDED:
                continue
            pair = cast("Decider", candidate.mechanism), cast("Decider", best.mechanism)
            if nearly_as_sharp(*pair, synthetic, interval, criteria.epsilon, criteria.alpha):
                return candidate.mechanism.id, note("shows-answer", sharpest=name)
    return name, note("most-right")


def _least_budget(candidates: Sequence[Candidate]) -> str:
    """Name of the candidate with the least needed epsilon among those that prove both verdicts."""

    def needed(candidate: Candidate) -> float:
        return math.inf if candidate.needed is None else candidate.needed

    return min((c for c in candidates if c.mechanism.proves == BOTH), key=needed).mechanism.id


def likely_choice(
    choice: Choice, criteria: Parameters, synthetic: Histogram, interval: Interval
) -> Choice | None:
    """Choice of a decider without p-values that is likely right; None if there is none.

    Of the candidates whose error on the stand-ins is at most alpha, the first in the order of their
    errors whose error is at most alpha on tables with a tail, and on all shapes, too.
    """
    alpha, epsilon = criteria.alpha, criteria.epsilon
    bits = [
        _evaluation(cast("Decider", c.mechanism), synthetic, interval, criteria)
        for c in choice.candidates
        if c.mechanism.proves != BOTH
    ]
    for bit in sorted(bits, key=lambda each: each.rates.worst if each.rates else 1.0):
        if _errs(bit, alpha):
            return None
        error = largest_error(cast("Decider", bit.mechanism), synthetic, interval, epsilon)
        if not exceeds(error, alpha):
            every = tuple(bit if c.mechanism is bit.mechanism else c for c in choice.candidates)
            return Choice(bit, note("likely-right"), every)
    return None


def _least_of_paper(aggregate: str, candidates: Sequence[Candidate]) -> tuple[str, Note]:
    """Decider of the paper that errs least on the stand-ins, and the reason.

    Ties go to the order in which the paper offers the deciders.
    """
    if aggregate not in _OFFERED:
        raise DeciderError(f"the paper has no decider of {aggregate}; use {AUTO}")
    by_name = {c.mechanism.id: c for c in candidates}
    offered = [by_name[name] for name in _OFFERED[aggregate] if name in by_name]
    if any(candidate.rates is None for candidate in offered):
        # Without a budget each needs another one.
        name = min(offered, key=lambda c: math.inf if c.needed is None else c.needed).mechanism.id
    else:
        name = min(offered, key=lambda c: round(c.rates.worst, 12) if c.rates else 1.0).mechanism.id
    if len(offered) == 1:
        return name, note("only-of-paper", aggregate=aggregate)
    advised = _table_four(aggregate, candidates)
    if advised is None:
        others = tuple(c.mechanism.id for c in offered if c.mechanism.id != name)
        return name, note("least-of-paper", aggregate=aggregate, others=others)
    if advised == name:
        return name, note("table-four", decider=name)
    return name, note("against-table-four", decider=name, advised=advised)


def _table_four(aggregate: str, candidates: Sequence[Candidate]) -> str | None:
    """Decider that Patwa 2023 advises in Table 4; None for an aggregate without a row.

    For a SUM the table takes R2T if "DS is much smaller than GS".  Here this means that R2T's
    printed bound is below LM's.  DS is taken as the largest value in the synthetic table, since the
    private table must not be used.
    """
    if aggregate != "SUM":
        return _FIXED.get(aggregate)
    printed = {c.mechanism.id: c.published for c in candidates}
    race, laplace = printed.get("r2t_sum"), printed.get("lm_sum")
    if race is not None and laplace is not None and race < laplace:
        return "r2t_sum"
    return "lm_sum"
