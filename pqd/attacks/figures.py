"""Figures of a risk report, from what was released of the private and of the held-out table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from operator import itemgetter

import numpy as np

from pqd.attacks.bound_risk import BoundRisk
from pqd.attacks.outcomes import MEMBERS, SHARES, Attacks
from pqd.attacks.parameters import RiskParameters
from pqd.deciders.distances.ratio_intervals import ShareEstimate
from pqd.deciders.exact import as_float
from pqd.deciders.risk.bounds import excess_bound
from pqd.deciders.risk.excess import Excess
from pqd.deciders.risk.forecast import ExcessForecast
from pqd.deciders.risk.successes import Successes
from pqd.reports.models.figure import Figure
from pqd.reports.models.risk import (
    AttackFacts,
    AttackId,
    AttackOutlook,
    CurvePoint,
    ExcessFacts,
    RocPoint,
)
from pqd.reports.models.standings import ATTACKS

# P-values below this are printed alike.
_LEAST = 0.001


def attack_facts(
    bound: BoundRisk,
    parameters: RiskParameters,
    private: Sequence[Successes],
    held_out: Sequence[Successes] | None,
    together: int | None = None,
) -> tuple[AttackFacts, ...]:
    """Facts of each attack, the worst first: post-processing of the released numbers.

    More kinds may have been tried than ``parameters`` name; those have no facts.  ``together`` is
    the number of attacks that are tested at once; if it is None, all attacks on this copy.
    """
    together = together or len(bound.attacks.attacks)
    facts = _rates(bound, parameters, private)
    if held_out:
        alpha = as_float(parameters.alpha)
        # The further released numbers are points of curves.
        tables = zip(facts, private, held_out, strict=False)
        tried = [(each, Excess(own, others, alpha)) for each, own, others in tables]
        # An attack that is not wanted can show that the held-out rows are no control, too.
        below = tuple(e.name for e, excess in tried if excess.p_less(0.0) <= alpha / together)
        facts = [
            _compared(each, excess, below, bound, parameters, together)
            for each, excess in tried
            if each.id in parameters.kinds
        ]
    return tuple(sorted(facts, key=_badness))


def planned_attacks(bound: BoundRisk, parameters: RiskParameters) -> tuple[AttackFacts, ...]:
    """Facts of each attack before a run, the least decidable first.

    The rows of both private tables are taken to be like the copy's own, and as many as is stated.
    """
    measurement = bound.measurement(parameters)
    rows, held_out_rows = planned_rows(bound, parameters)
    expected = [
        Successes(rows, rate * rows, measurement.law, measurement.rounding)
        for rate in bound.trial.rates
    ]
    planned = []
    for facts in _rates(bound, parameters, expected):
        forecast = ExcessForecast(
            rate=facts.copy_rate,
            rows=rows,
            held_out_rows=held_out_rows,
            numbers=len(bound.attacks.counted),
            alpha=parameters.alpha,
            rounding=measurement.rounding,
        )
        tau_decided, tau = forecast.tau_decided(parameters.total_epsilon), as_float(parameters.tau)
        if forecast.decides(tau, parameters.total_epsilon):
            # The threshold is rounded up.
            tau_decided = min(tau_decided, tau)
        outlook = _outlook(forecast, tau_decided, parameters, bound.attacks, facts.id)
        planned.append((-tau_decided, replace(facts, outlook=outlook)))
    return tuple(facts for _, facts in sorted(planned, key=itemgetter(0)))


def planned_rows(bound: BoundRisk, parameters: RiskParameters) -> tuple[int, int]:
    """Numbers of private and of held-out rows of a plan; those of the copy if none is stated."""
    rows = copy_size(bound)
    return parameters.private_rows or rows, parameters.held_out_rows or rows


def copy_size(bound: BoundRisk) -> int:
    """Number of rows of the copy; with a unit of its persons, if the copy has the unit's column."""
    copy, unit = bound.profile.copy, bound.profile.unit
    persons = None if unit is None else copy.persons(unit)
    return copy.rows() if persons is None else len(np.unique(persons))


def _rates(
    bound: BoundRisk, parameters: RiskParameters, private: Sequence[Successes]
) -> list[AttackFacts]:
    """Facts of each attack on the private rows alone."""
    attacks, trial = bound.attacks.attacks, bound.trial
    first = len(attacks) - len(trial.majority)
    return [
        AttackFacts(
            id=attack.id,
            column=attack.column,
            rate=_figure(private[place].interval(as_float(parameters.alpha))),
            copy_rate=trial.rates[place],
            majority=trial.majority[place - first] if place >= first else None,
        )
        for place, attack in enumerate(attacks)
    ]


def _compared(
    facts: AttackFacts,
    excess: Excess,
    below_zero: tuple[str, ...],
    bound: BoundRisk,
    parameters: RiskParameters,
    together: int,
) -> AttackFacts:
    """The same facts, compared with held-out rows; if undecided, with what decides them.

    Held-out rows on which an attack succeeds more often than on private rows are no control, so
    nothing decides for a yes (docs/theory.md, Theorem R5).
    """
    compared = _excess_facts(excess, below_zero, parameters, together)
    outlook = None
    if not compared.conclusive and not below_zero:
        outlook = _outlook_of(excess, parameters, bound.attacks, facts.id)
    return replace(facts, held_out=compared, outlook=outlook)


def _badness(facts: AttackFacts) -> tuple[int, float, float]:
    """Order of attacks: by standing, then by how sure a leak is, then by what is gained at least.

    Reports print p-values below 0.001 alike, so these count as equally sure.
    """
    place = ATTACKS.index(facts.standing)
    if facts.held_out is None:
        return place, 0.0, facts.copy_rate - facts.rate.value
    return place, max(facts.held_out.leak_p_value, _LEAST), -facts.held_out.excess.low


def _outlook_of(
    excess: Excess, parameters: RiskParameters, attacks: Attacks, kind: AttackId
) -> AttackOutlook:
    """What decides an attack on the same rows, if its excess is as it is estimated."""
    private, held_out = excess.private, excess.held_out
    forecast = ExcessForecast(
        rate=held_out.rate,
        rows=max(private.rows, 1),
        held_out_rows=max(held_out.rows, 1),
        numbers=len(attacks.counted),
        alpha=parameters.alpha,
        excess=excess.value,
        same_rows=True,
        rounding=private.rounding,
    )
    return _outlook(forecast, excess.most(excess.alpha), parameters, attacks, kind)


def _outlook(
    forecast: ExcessForecast,
    tau_decided: float,
    parameters: RiskParameters,
    attacks: Attacks,
    kind: AttackId,
) -> AttackOutlook:
    tau, epsilon = as_float(parameters.tau), parameters.total_epsilon
    alone = replace(forecast, numbers=len(replace(attacks, kinds=(kind,)).counted))
    # Other held-out rows are drawn anew.
    others = replace(forecast, same_rows=False)
    return AttackOutlook(
        tau=tau,
        tau_decided=tau_decided,
        needed_epsilon=forecast.needed_epsilon(tau, epsilon),
        needed_held_out_rows=others.needed_held_out_rows(tau, epsilon),
        alone=alone.decides(tau, epsilon),
    )


def _excess_facts(
    excess: Excess, below_zero: tuple[str, ...], parameters: RiskParameters, together: int
) -> ExcessFacts:
    alpha = as_float(parameters.alpha)
    estimate, verdict = excess.estimate, excess.verdict(as_float(parameters.tau))
    leak = excess.p_more(0.0)
    rows = max(excess.private.rows, 0)
    bound, breaks = None, False
    if parameters.copy_epsilon is not None:
        bound = excess_bound(parameters.copy_epsilon, *excess.held_out_range)
        breaks = excess.p_more(bound) <= alpha / together
    return ExcessFacts(
        rate=_figure(excess.held_out.interval(alpha)),
        excess=_figure(estimate),
        persons=Figure(*(rows * each for each in estimate)),
        tau=as_float(parameters.tau),
        outcome=verdict.outcome,
        p_value=verdict.p_value,
        conclusive=verdict.p_value <= alpha and (verdict.outcome == "no" or not below_zero),
        leak_p_value=leak,
        leaks=leak <= alpha,
        at_once=leak <= alpha / together,
        bound=bound,
        breaks_bound=breaks,
        below_zero=below_zero,
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
