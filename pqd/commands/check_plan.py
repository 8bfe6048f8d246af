"""Plan of a check: the verdicts on queries and on distances, with all their measurements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from pqd.batches.shared_budget import SharedBudget, share_with
from pqd.engine.scan_plan import rows_per_person
from pqd.errors import PqdError
from pqd.parameters import Parameters
from pqd.reports.text.notes import kinds_note

if TYPE_CHECKING:
    from pqd.commands.spec_checks import BoundChecks
    from pqd.distances.bound_profile import BoundProfile
    from pqd.distances.decisions import BoundDistance, PlannedDistance
    from pqd.measurement import MeasurementSet
    from pqd.planning.bound_workload import BoundWorkload
    from pqd.planning.decisions import VerdictPlan
    from pqd.results import Planned


@dataclass(frozen=True, slots=True)
class CheckPlan:
    """Verdicts that are planned, by the name of the synthetic table."""

    queries: Mapping[str, VerdictPlan]
    distances: Mapping[str, Sequence[PlannedDistance]]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the synthetic tables that there are verdicts on."""
        return tuple(dict.fromkeys((*self.queries, *self.distances)))

    def verdicts(self, name: str) -> tuple[Planned, ...]:
        """Verdicts on one synthetic table."""
        queries = self.queries[name].verdicts if name in self.queries else ()
        return (*queries, *self.distances.get(name, ()))

    @property
    def sets(self) -> list[MeasurementSet]:
        """Measurements, in a set for each reading of a synthetic table."""
        sets = [plan.measurements for plan in self.queries.values()]
        for distances in self.distances.values():
            for profile in dict.fromkeys(each.bound.profile for each in distances):
                own = [each.measurement for each in distances if each.bound.profile is profile]
                sets.append(profile.measurement_set(own))
        return sets

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks to show; one on the kinds of each synthetic table, however often it was read."""
        profiles = [each.bound.profile for planned in self.distances.values() for each in planned]
        bound: list[BoundWorkload | BoundProfile]
        bound = [*(plan.bound for plan in self.queries.values()), *dict.fromkeys(profiles)]
        own = {note for each in bound for note in each.tables.kind_notes}
        notes = [note for each in bound for note in each.notes if note not in own]
        kinds: dict[tuple[str, object], dict[str, str]] = {}
        for each in bound:
            table = each.tables.tables[0]
            kinds.setdefault((table.label, table.source.places), {}).update(each.tables.taken_kinds)
        taken = [kinds_note(label, of_table) for (label, _), of_table in kinds.items() if of_table]
        return tuple(dict.fromkeys([*taken, *notes]))


def plan_checks(bound: BoundChecks, budget: SharedBudget | None) -> CheckPlan:
    """Plan of all checks; a check of which something is refused is broken.

    Distances without a budget share that of all: each takes the part of one query.
    """
    sharing = [
        each
        for distances in bound.distances.values()
        for each in distances
        if not isinstance(each.request.criteria, Parameters)
    ]
    plans, share = share_with(list(bound.workloads.values()), budget, _number(sharing))
    bound.note_refusals(plans)
    distances = {
        name: [verdict for each in found if (verdict := _planned(each, share, bound.broken))]
        for name, found in bound.distances.items()
    }
    return CheckPlan(
        dict(zip(bound.workloads, plans, strict=True)),
        {name: planned for name, planned in distances.items() if planned},
    )


def _number(distances: Sequence[BoundDistance]) -> int:
    """Number of different measurements of distances, at whatever budget."""
    return len({each.at(Fraction(1)).measurement.cache_key for each in distances})


def _planned(
    distance: BoundDistance, share: Fraction | None, broken: dict[str, PqdError]
) -> PlannedDistance | None:
    """Verdict at its own budget or at its share; None if it is refused, and its check broken."""
    criteria, unit = distance.request.criteria, distance.profile.unit
    epsilon = criteria.epsilon if isinstance(criteria, Parameters) else None
    if epsilon is None and share is not None:
        # What a person costs is so many times the epsilon of a row.
        epsilon = share / rows_per_person(unit)
    try:
        if epsilon is None:
            epsilon = criteria.at(None).epsilon
        return distance.at(epsilon)
    except PqdError as error:
        broken[distance.request.id] = error
        return None
