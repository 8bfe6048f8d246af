"""Model of relations kept: how much of what pairs tell beyond their columns a copy has kept."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from pqd.reports.models.figure import Estimated, Figure
from pqd.reports.models.standings import DISTANCES, Outcome, Standing, chance_of, standing_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Independence:
    """Distance of a copy's pairs from the product of its own columns; all of it public.

    ``mean`` is the mean total variation over the pairs, and ``chance`` what shuffled columns would
    show.  ``strongest`` is that of the pair ``columns``, which exceeds its chance most.
    ``is_near``: the columns are nearly independent.
    """

    mean: float
    chance: float
    strongest: float
    strongest_chance: float
    columns: tuple[str, ...]
    is_near: bool


# Widest interval with which a share that is kept is shown as a figure.
WIDEST = 0.4


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationsFacts(Estimated):
    """Relations kept by one copy, as a share: 1 is exact, 0 is what shuffled columns keep.

    The share is ``1 - (T - M)/(T0 - M)``, cut to at least 0.  T is the mean distance of the
    pairs, T0 that from the product of the copy's columns, M the mean of the larger distance of a
    pair's columns.

    ``relations`` is ``T0 - M`` as a share of the private rows: what there is to keep.  Up to
    ``mark`` it is at chance, up to ``negligible`` it is too little to judge.  ``reference`` is the
    share that an independent real sample of the copy's size would keep, None if it is not known.
    An independent sample keeps more than ``least`` with probability 1 - alpha/2.
    ``half_width`` is about half the width of the interval at the ``bar``.  ``estimate``,
    ``relations``, ``least``, ``outcome``, ``p_value`` and ``conclusive`` depend on the private
    table; in a plan they are None or False.  There is an ``estimate`` only if there are relations.
    """

    pairs: int
    bar: float
    alpha: Fraction
    reference: float | None
    mark: float
    negligible: float
    half_width: float
    independence: Independence
    relations: Figure | None = None
    estimate: Figure | None = None
    least: float | None = None
    outcome: Outcome | None = None
    p_value: float | None = None
    conclusive: bool = False

    @property
    def decidable(self) -> bool:
        """Whether a copy as good as an independent real sample is told from one at the bar."""
        return self.reference is not None and self.reference - self.bar >= self.half_width

    @property
    def standing(self) -> Standing | None:
        """Standing beside the bar: more is kept, less, or undecided; None without a figure."""
        if self.estimate is None:
            return None
        return standing_of(self.outcome, DISTANCES, conclusive=self.conclusive)

    @property
    def is_known(self) -> bool:
        """Whether the interval of the estimate is narrow enough to mean something."""
        estimate = self.estimate
        return estimate is not None and estimate.high - estimate.low <= WIDEST

    @property
    def chance(self) -> Standing | None:
        """Standing beside an independent real sample: at chance or beyond it; None if unknown."""
        if self.estimate is None or self.least is None:
            return None
        return chance_of(1 - self.estimate.high, 1 - self.estimate.low, 1 - self.least)

    @property
    def is_out_of_reach(self) -> bool:
        """True if an independent real sample would keep no more than the bar itself.

        A copy with nearly independent columns tells nothing of such a sample.
        """
        short = self.reference is not None and self.reference <= self.bar
        return short and not self.independence.is_near

    @property
    def is_lost(self) -> bool:
        """True if the copy is established to keep no more than the bar, and not by chance."""
        if self.standing is not Standing.BEYOND:
            return False
        seldom_less = self.least is not None and self.least <= self.bar
        by_chance = seldom_less and not self.independence.is_near
        return not by_chance or self.chance is Standing.BEYOND_CHANCE

    @property
    def is_unjudged(self) -> bool:
        """True if chance leaves open whether relations are kept, whatever the epsilon."""
        beyond = self.standing is Standing.BEYOND and not self.is_lost
        return beyond or (self.is_out_of_reach and self.is_undecided)

    @property
    def may_be_lost(self) -> bool:
        """Whether relations are lost, or undecided in a copy with nearly independent columns."""
        return self.is_lost or (self.independence.is_near and self.is_undecided)

    @property
    def is_kept(self) -> bool:
        """Whether it is established that more than the bar is kept."""
        return self.standing is Standing.WITHIN

    @property
    def is_undecided(self) -> bool:
        """Whether neither is established, or not even that there are relations to keep."""
        if self.estimate is None:
            return self.presence == "unknown"
        return not self.is_kept and not self.is_lost

    @property
    def presence(self) -> Literal["some", "none", "in the copy alone", "unknown"] | None:
        """Relations of the private table: some, none, or undecided; None in a plan."""
        if self.relations is None:
            return None
        if self.relations.low > self.mark:
            return "some"
        if self.relations.high > self.negligible:
            return "unknown"
        return "none" if self.independence.is_near else "in the copy alone"

    def computed(self) -> dict[str, Any]:
        """Values that JSON holds in addition to the fields."""
        standing = None if self.standing is None else self.standing.value
        chance = None if self.chance is None else self.chance.value
        return {"standing": standing, "presence": self.presence, "chance": chance}
