"""Gate: one test of whether many conditions hold together, by the least of their margins.

Each condition has a margin, a whole number that one row moves by at most 1, and which is at least 1
exactly if the condition holds.  So the least margin is such a number for "all conditions hold",
however many there are and whatever rows they share (docs/theory.md, Theorem G1).  The gate draws
once, and costs one epsilon.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, cast

from pqd.accounting.cache_keys import digest
from pqd.accounting.disjoint_groups import MeasurementCost
from pqd.deciders.distances.noise_laws import LaplaceLaw
from pqd.deciders.estimators import EstimatorOutput
from pqd.deciders.noise import check_scale
from pqd.deciders.single.base import Decision
from pqd.deciders.single.inverse_sensitivity import verdict_of
from pqd.run.measurement import Measurement, MeasurementSet, Output, weakest_bounds

if TYPE_CHECKING:
    from pqd.deciders import Noise

# Share of a gate's epsilon that pays for the number of private rows, where a condition needs it.
ROWS_SHARE = Fraction(1, 20)


class MarginMeasurement(Protocol):
    """Measurement whose exact margin is known.  Conformers: DeciderMeasurement, ClaimMeasurement.

    ``rows`` is the number of counted rows that one person may change.
    """

    @property
    def cache_key(self) -> str:
        """Ledger cache key."""
        ...

    @property
    def question(self) -> str:
        """Hash of what is asked, whatever the epsilon."""
        ...

    @property
    def rows(self) -> int:
        """Number of counted rows that one person may change."""
        ...

    @property
    def needs_rows(self) -> bool:
        """Whether the margin depends on the number of private rows, stated or released."""
        ...

    def private_rows(self, counts: Any) -> int:  # noqa: ANN401 - counts of this measurement
        """Exact number of private rows, of a measurement that needs it; private."""
        ...

    def margin(self, counts: Any, rows: int, *, expected: bool) -> int:  # noqa: ANN401 - as above
        """Exact margin of the answer ``expected``; private."""
        ...


@dataclass(frozen=True, slots=True)
class GateCondition:
    """Condition of a gate: a measurement, and the answer to it that is expected."""

    name: str
    measurement: MarginMeasurement
    expected: bool = True

    def margin(self, counts: Any, rows: int) -> int:  # noqa: ANN401 - counts of the measurement
        """Margin in persons; private.

        A person who changes up to k rows moves the margin s in rows by at most k.  So
        ``ceil(s / k)`` moves by at most 1, and it is at least 1 exactly if s is.
        """
        of_rows = self.measurement.margin(counts, rows, expected=self.expected)
        return -(-of_rows // self.measurement.rows)


@dataclass(frozen=True, slots=True)
class Requirement:
    """Requirement of a gate: of the conditions at ``places``, at most ``misses`` do not hold.

    Its margin is the least but ``misses`` of their margins.  One row moves it by at most 1, since
    it moves each of the sorted margins by at most 1.
    """

    places: tuple[int, ...]
    misses: int = 0

    def margin(self, margins: Sequence[int]) -> int:
        """Margin, given those of all conditions; private."""
        return sorted(margins[place] for place in self.places)[self.misses]

    def scores(self, margins: Sequence[int]) -> dict[int, int]:
        """Score by place, which is at most 0 only where the requirement fails; private.

        The larger of a condition's margin and the requirement's: one row moves it by at most 1.
        """
        least = self.margin(margins)
        return {place: max(margins[place], least) for place in self.places}


def with_margin(measurement: Measurement[Any]) -> MarginMeasurement:
    """Measurement, whose exact margin is known; TypeError of any other one."""
    if not hasattr(measurement, "margin"):
        raise TypeError(measurement.id)
    return cast("MarginMeasurement", measurement)


# Without slots, so that the cache key is computed once.
@dataclass(frozen=True, eq=False, kw_only=True)
class ConditionsMeasurement(Measurement[Output]):
    """Measurement of the margins of many conditions, whose statistics lie in several ``readings``.

    Attributes
    ----------
    name
        The name in reports and in the ledger.
    readings
        The sets whose measurements the conditions are about, one for each reading of a copy.
    conditions
        The conditions.
    requirements
        The requirements; each condition is in one of them.
    known_rows
        The number of private rows, if it is stated or was released before.
    """

    name: str
    readings: tuple[MeasurementSet, ...]
    conditions: tuple[GateCondition, ...]
    requirements: tuple[Requirement, ...]
    known_rows: int | None = None

    @property
    def id(self) -> str:
        """Name in reports and in the ledger."""
        return self.name

    @property
    def sets(self) -> tuple[MeasurementSet, ...]:
        """Sets whose measurements the conditions are about."""
        return self.readings

    @property
    def rows(self) -> int:
        """1: the margins are in persons."""
        return 1

    @property
    def needs_rows(self) -> bool:
        """Whether a condition depends on the number of private rows."""
        return any(each.measurement.needs_rows for each in self.conditions)

    def margins(self, counts: Mapping[str, Any], rows: int) -> list[int]:
        """Exact margins in persons, given the counts of each measurement by cache key; private."""
        return [each.margin(counts[each.measurement.cache_key], rows) for each in self.conditions]

    def ledger_facts(self) -> dict[str, Any]:
        """Public facts that the ledger keeps of the charge: all SQL and columns of conditions."""
        every = [m.ledger_facts() for each in self.sets for m in each.measurements]
        texts = dict.fromkeys(facts["sql"] for facts in every if facts["sql"])
        columns = dict.fromkeys(name for facts in every for name in facts["columns"])
        sources = {facts.get("bounds") for facts in every}
        return {
            **super().ledger_facts(),
            "sql": "; ".join(texts),
            "columns": [*columns],
            "bounds": weakest_bounds(sources),
        }

    @property
    def composition_cost(self) -> MeasurementCost:
        """Cost to be composed; the conditions may read any row."""
        return MeasurementCost(self.id, self.cost, None)

    @cached_property
    def cache_key(self) -> str:
        """Ledger cache key: a hash of the conditions and of the mechanism."""
        return digest(
            {
                "conditions": [[e.measurement.cache_key, e.expected] for e in self.conditions],
                "requirements": [[list(each.places), each.misses] for each in self.requirements],
                "epsilon": self.epsilon,
                "mechanism": self.parameters(),
            }
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class GateMeasurement(ConditionsMeasurement[Decision]):
    """Measurement of whether all ``requirements`` hold: their least margin, with noise.

    Guarantee: ``epsilon``-DP for one person (Theorem G1).  If a condition needs the number of
    private rows and nobody stated it, ``ROWS_SHARE`` of epsilon pays for that number first.
    """

    def __post_init__(self) -> None:
        """Raise UnanswerableError if the sampler cannot draw the noise."""
        super().__post_init__()
        share = self.rows_epsilon
        check_scale(self._releasing.rows / share if share else 1 / self.epsilon)

    @property
    def rows_epsilon(self) -> Fraction:
        """Part of epsilon that pays for the number of private rows; 0 if it is not released."""
        released = self.needs_rows and self.known_rows is None
        return self.epsilon * ROWS_SHARE if released else Fraction(0)

    @property
    def rows_law(self) -> LaplaceLaw | None:
        """Law of the noise of the number of rows, if it is released."""
        share = self.rows_epsilon
        return LaplaceLaw(self._releasing.rows / share) if share else None

    @property
    def margin_epsilon(self) -> Fraction:
        """Part of epsilon that pays for the least margin."""
        return self.epsilon - self.rows_epsilon

    def parameters(self) -> Mapping[str, Any]:
        """Parameters of the mechanism."""
        return {
            "kind": "gate",
            "id": "inv_gate",
            "rows": self.known_rows if self.needs_rows else None,
        }

    @cached_property
    def question(self) -> str:
        """Hash of the conditions, whatever their epsilon."""
        asked = [[each.measurement.question, each.expected] for each in self.conditions]
        formula = [[list(each.places), each.misses] for each in self.requirements]
        return digest({"gate": asked, "requirements": formula, "mechanism": self.parameters()})

    def ledger_facts(self) -> dict[str, Any]:
        """Public facts that the ledger keeps of the charge."""
        return {**super().ledger_facts(), "question": self.question}

    def run(self, counts: Mapping[str, Any], noise: Noise) -> Decision:
        """Verdict whether all requirements hold; with the number of rows if it is released."""
        rows, share = self.known_rows or 0, self.rows_epsilon
        if share:
            released = self._releasing
            exact = released.private_rows(counts[released.cache_key])
            rows = max(1, noise.laplace(exact, released.rows / share))
        least = min(each.margin(self.margins(counts, rows)) for each in self.requirements)
        budget = self.margin_epsilon
        decision = verdict_of(noise.laplace(least, 1 / budget), budget)
        return replace(decision, released=(rows,)) if share else decision

    @property
    def _releasing(self) -> MarginMeasurement:
        """Measurement whose rows are counted; a person changes up to ``rows`` of them."""
        return next(e.measurement for e in self.conditions if e.measurement.needs_rows)

    def worst(self, epsilon: Fraction, rows: int | None) -> WorstMeasurement:
        """Measurement that names the worst condition, after a gate that released ``rows``."""
        return WorstMeasurement(
            kinds=self.kinds,
            unit=self.unit,
            epsilon=epsilon,
            name=f"{self.name}: the worst",
            readings=self.readings,
            conditions=self.conditions,
            requirements=self.requirements,
            known_rows=self.known_rows if rows is None else rows,
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class WorstMeasurement(ConditionsMeasurement[EstimatorOutput]):
    """Measurement of the place of the worst condition, and of its margin.

    The scores are those of the requirements: a condition that need not hold, since its requirement
    holds without it, is not the worst.

    Guarantee: ``epsilon``-DP for one person, by basic composition of two halves.  Permute-and-flip
    selects the place: one person moves each score by at most 1, in any direction, so at the scale
    ``2 / (epsilon / 2)`` the place costs half of epsilon (McKenna and Sheldon 2020, Theorem 1).
    The margin of that condition has fresh noise at the other half.  So its p-value holds although
    the condition was chosen.
    """

    def parameters(self) -> Mapping[str, Any]:
        """Parameters of the mechanism."""
        rows = self.known_rows if self.needs_rows else None
        return {"kind": "gate", "id": "permute_and_flip", "rows": rows}

    @property
    def half(self) -> Fraction:
        """Epsilon of the place, and epsilon of the margin."""
        return self.epsilon / 2

    def run(self, counts: Mapping[str, Any], noise: Noise) -> EstimatorOutput:
        """Place of the worst condition, and its noisy margin."""
        margins = self.margins(counts, self.known_rows or 0)
        scores = {k: v for each in self.requirements for k, v in each.scores(margins).items()}
        place = noise.least_place([scores[each] for each in range(len(margins))], 2 / self.half)
        return EstimatorOutput((place, noise.laplace(margins[place], 1 / self.half)))
