"""Sentences on relations kept, which profiles and comparisons share."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from pqd.deciders.note import sentence
from pqd.deciders.options import option
from pqd.reports.models.relations import WIDEST
from pqd.reports.models.standings import Standing
from pqd.reports.text.distances import (
    INDEPENDENT,
    digits_of,
    estimate_text,
    fewer_cells,
    figure_text,
    names_text,
)
from pqd.reports.text.numbers import interval_text, number_text, p_value_text, percent_text

if TYPE_CHECKING:
    from pqd.reports.models.profile import ProfiledColumn
    from pqd.reports.models.relations import Independence, RelationsFacts

RELATIONS_KEPT = (
    "How much the copy has kept of what pairs of columns tell beyond the columns side by side: "
    "100 % is exact, 0 % is what columns keep that were shuffled one by one. Wrong columns are "
    "taken out. 0 % is also what a copy keeps whose pairs are farther off than shuffled columns."
)
# Step of the bars that are proposed, as a share.
_STEP = 0.05
BETWEEN = "bars run from what shuffled columns would score to what an independent real sample would"


def relations_sentence(facts: RelationsFacts, *, ranked_for: float | None = None) -> str:
    """Sentence on what is kept, with its interval and verdict, or on why there is no figure.

    A profile pays only what a larger epsilon adds.  A ranking, which was made at a total epsilon of
    ``ranked_for``, is drawn anew, and paid in full.
    """
    if facts.is_unjudged:
        told = ""
        if facts.estimate is not None and facts.estimate.high > 0:
            ends = f"{interval_text(facts.estimate.low, facts.estimate.high, 0)} %"
            told = f": {figure_text(facts.estimate, _digits(facts)) if facts.is_known else ends}"
        return f"Whether relations are kept cannot be judged{told}; {_beside(facts)}."
    if facts.estimate is None or facts.p_value is None:
        return "".join(_without_figure(facts))
    bar = bar_text(facts.bar)
    odds = p_value_text(facts.p_value, facts.alpha)
    figure = figure_text(facts.estimate, _digits(facts))
    if facts.is_lost:
        return f"Relations are NOT kept: {figure}, no more than {bar} ({odds}); {_beside(facts)}."
    verdict = f"more than {bar}" if facts.is_kept else f"undecided whether more than {bar}"
    if facts.is_known:
        return f"Relations kept {figure}, {verdict} ({odds}); {_beside(facts)}."
    _, low, high = facts.estimate
    ends = interval_text(low, high, 0)
    if facts.is_kept:
        return f"Relations kept: {verdict} ({odds}; {ends} %); {_beside(facts)}."
    times = math.ceil(10 * (high - low) / WIDEST) / 10
    price = ""
    if ranked_for is not None:
        total = number_text(times * ranked_for, 3)
        price = (
            f" ({option(f'--total-epsilon {total}')} costs {total} more: a ranking is drawn anew)"
        )
    return (
        f"Relations kept: not known at this budget ({ends} %); about {number_text(times, 2)} "
        f"times the epsilon would tell{price}; {_beside(facts)}."
    )


def kept_text(facts: RelationsFacts) -> str:
    """Words for a cell, such as ``56 %`` or ``NOT kept, 3 %``, or why there is no figure."""
    if facts.estimate is None:
        unknown = Standing.NOT_JUDGED if facts.is_unjudged else "not known"
        return {"none": "none to keep", "in the copy alone": "invented"}.get(
            facts.presence or "", unknown
        )
    value = estimate_text(facts.estimate, _digits(facts))
    if facts.is_lost:
        return f"NOT kept, {value}"
    if facts.is_unjudged:
        return f"{Standing.NOT_JUDGED}, {value}" if facts.is_known else Standing.NOT_JUDGED
    if not facts.is_known:
        return f"more than {bar_text(facts.bar)}" if facts.is_kept else "not known"
    return value if facts.is_kept else f"undecided, {value}"


def _digits(facts: RelationsFacts) -> int:
    return min(1, digits_of(facts.estimate))


def _beside(facts: RelationsFacts) -> str:
    """Words on what an independent real sample and shuffled columns would keep."""
    if facts.reference is None:
        return "shuffled columns would keep 0 %"
    sampled = percent_text(facts.reference, _digits(facts))
    return f"{INDEPENDENT} would keep {sampled}, shuffled columns 0 %"


def _without_figure(facts: RelationsFacts) -> Iterator[str]:
    """Sentence if nothing is measured, or nothing may be there to keep."""
    if facts.relations is None:
        return
    there, mark = figure_text(facts.relations), percent_text(facts.mark, 1)
    chance = f"{there} of the rows, chance alone up to {mark}"
    if facts.presence == "none":
        yield f"There are no relations to keep: pairs tell no more than columns ({chance})."
    elif facts.presence == "in the copy alone":
        yield (
            "The copy has relations that the private table lacks: private pairs tell no more than "
            f"columns ({chance})."
        )
    else:
        yield (
            f"Whether there are relations to keep is undecided at this budget ({chance}); more "
            f"{option('--total-epsilon')} tells."
        )


def relations_remark(facts: RelationsFacts, columns: Sequence[ProfiledColumn]) -> str:
    """Remark that an independent real sample might not reach the bar itself; empty if it would."""
    if facts.reference is None or not (facts.is_out_of_reach or facts.is_unjudged):
        return ""
    seldom = facts.reference if facts.least is None else facts.least
    keeps = f"would itself keep only {percent_text(facts.reference, 0)} of the relations"
    if facts.reference > facts.bar:
        keeps = f"might itself keep only {percent_text(seldom, 0)} of the relations"
    reach = math.floor((seldom - facts.half_width) / _STEP + 1e-9) * _STEP
    lower = f"a lower one ({option(f'--relations {100 * reach:.0f}%')}), " if reach > 0 else ""
    return (
        f"{INDEPENDENT.capitalize()} {keeps}, so a bar of {bar_text(facts.bar)} is out of reach "
        f"here: take {lower}{fewer_cells(columns)}, or a larger copy. A dry run shows at no cost "
        "what that changes."
    )


def relations_plan(facts: RelationsFacts) -> str:
    """Sentence of a plan on how well relations would be known."""
    if facts.reference is None:
        return (
            "How well relations kept would be known cannot be foretold from a copy that has none."
        )
    width, sampled = number_text(100 * facts.half_width, 2), percent_text(facts.reference, 0)
    worth = "enough" if facts.decidable else "not enough"
    return (
        f"Relations kept would be known to about {width} percentage points, and {INDEPENDENT} "
        f"would keep {sampled}: {worth} to tell it from a copy that keeps {bar_text(facts.bar)}."
    )


def independence_sentence(independence: Independence, name: str = "the copy") -> str:
    """Public warning on a copy whose columns are nearly independent; empty if they are not."""
    if not independence.is_near:
        return ""
    facts = asdict(independence)
    facts.pop("is_near")
    return nearly_independent(name, **facts)


@sentence
def nearly_independent(
    copy: str,
    mean: float,
    chance: float,
    strongest: float,
    strongest_chance: float,
    columns: Sequence[str],
) -> str:
    """Warning that the columns of a copy are nearly independent."""
    mean_text, chance_text = percent_text(mean, 1), percent_text(chance, 1)
    strongest_text, by_chance = percent_text(strongest, 1), percent_text(strongest_chance, 1)
    return (
        f"The columns of {copy} are nearly independent: its pairs are {mean_text} off its columns "
        f"side by side in the mean (shuffled columns {chance_text}), the pair that stands "
        f"out most, {names_text(columns)}, {strongest_text} (shuffled {by_chance}). If the private "
        "table has relations, the copy has lost them."
    )


def bar_text(bar: float) -> str:
    """Bar in per cent."""
    return f"{number_text(round(100 * bar, 9), 4)} %"
