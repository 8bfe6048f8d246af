"""Figures of a risk report, from what was released of the private and of the held-out table."""

from __future__ import annotations

from collections.abc import Sequence

from pqd.attacks.bound_risk import BoundRisk
from pqd.attacks.outcomes import MEMBERS, SHARES
from pqd.attacks.parameters import RiskParameters
from pqd.deciders.distances.ratio_intervals import ShareEstimate
from pqd.deciders.exact import as_float
from pqd.deciders.risk.bounds import excess_bound
from pqd.deciders.risk.excess import Excess
from pqd.deciders.risk.successes import Successes
from pqd.reports.models.figure import Figure
from pqd.reports.models.risk import AttackFacts, CurvePoint, ExcessFacts, RocPoint
from pqd.reports.models.standings import ATTACKS


def attack_facts(
    bound: BoundRisk,
    parameters: RiskParameters,
    private: Sequence[Successes],
    held_out: Sequence[Successes] | None,
) -> tuple[AttackFacts, ...]:
    """Facts of each attack, the worst first: post-processing of the released numbers."""
    attacks, trial = bound.attacks.attacks, bound.trial
    first = len(attacks) - len(trial.majority)
    facts = [
        AttackFacts(
            id=attack.id,
            column=attack.column,
            rate=_figure(private[place].interval(as_float(parameters.alpha))),
            copy_rate=trial.rates[place],
            majority=trial.majority[place - first] if place >= first else None,
            held_out=_excess(
                private[place], held_out[place], parameters, len(attacks)
            ) if held_out else None,
        )
        for place, attack in enumerate(attacks)
    ]  # fmt: skip
    return tuple(sorted(facts, key=_badness))


def _badness(facts: AttackFacts) -> tuple[int, float]:
    """Order of attacks: by standing, then by the p-value of a leak or the gain on private rows."""
    if facts.held_out is None:
        return ATTACKS.index(facts.standing), -(facts.rate.value - facts.copy_rate)
    return ATTACKS.index(facts.standing), facts.held_out.leak_p_value


def _excess(
    private: Successes, held_out: Successes, parameters: RiskParameters, attacks: int
) -> ExcessFacts:
    alpha = as_float(parameters.alpha)
    excess = Excess(private, held_out, alpha)
    estimate, verdict = excess.estimate, excess.verdict(as_float(parameters.tau))
    leak = excess.p_more(0.0)
    rows = max(private.rows, 0)
    bound, breaks = None, False
    if parameters.copy_epsilon is not None:
        bound = excess_bound(parameters.copy_epsilon, *excess.held_out_range)
        breaks = excess.p_more(bound) <= alpha / attacks
    return ExcessFacts(
        rate=_figure(held_out.interval(alpha)),
        excess=_figure(estimate),
        persons=Figure(*(rows * each for each in estimate)),
        tau=as_float(parameters.tau),
        outcome=verdict.outcome,
        p_value=verdict.p_value,
        conclusive=verdict.p_value <= alpha,
        leak_p_value=leak,
        leaks=leak <= alpha,
        at_once=leak <= alpha / attacks,
        bound=bound,
        breaks_bound=breaks,
    )


def curve_points(
    bound: BoundRisk,
    parameters: RiskParameters,
    private: Sequence[Successes],
    held_out: Sequence[Successes] | None,
) -> tuple[CurvePoint, ...]:
    """Shares of rows up to each distance that was counted; all intervals hold at once."""
    attacks = bound.attacks
    alpha = as_float(parameters.alpha) / len(SHARES)
    return tuple(
        CurvePoint(
            distance=steps / attacks.nearest.whole,
            copy=share,
            private=_figure(private[place].interval(alpha)),
            held_out=_figure(held_out[place].interval(alpha)) if held_out else None,
        )
        for place, steps, share in zip(
            attacks.points("near"), attacks.thresholds, SHARES, strict=False
        )
    )


def roc_points(
    bound: BoundRisk,
    parameters: RiskParameters,
    private: Sequence[Successes],
    held_out: Sequence[Successes] | None,
) -> tuple[RocPoint, ...]:
    """Shares of rows that are taken for members at each threshold; all intervals hold at once."""
    alpha = as_float(parameters.alpha) / len(MEMBERS)
    return tuple(
        RocPoint(
            copy=share,
            private=_figure(private[place].interval(alpha)),
            held_out=_figure(held_out[place].interval(alpha)) if held_out else None,
            advantage=_figure(Excess(private[place], held_out[place], alpha).estimate)
            if held_out
            else None,
        )
        for place, share in zip(bound.attacks.points("membership"), MEMBERS, strict=False)
    )


def rows_figure(released: Sequence[Successes], parameters: RiskParameters) -> Figure:
    """Number of rows with its interval."""
    return _figure(released[0].rows_interval(as_float(parameters.alpha)))


def _figure(estimate: ShareEstimate) -> Figure:
    return Figure(*estimate)
