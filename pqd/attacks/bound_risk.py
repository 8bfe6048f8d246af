"""Bound risk report: the columns, the attacks and their rates on the copy itself; all public."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from pqd.attacks.measurement import AttacksMeasurement
from pqd.attacks.outcomes import MOST_COPY, Attacks, Trial, attacks_on, gains
from pqd.deciders.note import note
from pqd.deciders.options import option
from pqd.engine.partitions import MOST_CATEGORIES, Categories, Lacking, Ordered, Partition
from pqd.errors import NothingSelectedError, ParameterError
from pqd.marginals.bound_profile import ORDERED, BoundProfile, bind_profile
from pqd.sql.schema import fold_case
from pqd.stated.column_facts import unknown_column

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pqd.attacks.parameters import RiskParameters
    from pqd.engine.scan_plan import PrivacyUnit
    from pqd.engine.synthetic_tables import SyntheticTables

# Without stated secrets so many columns are guessed, out of so many that are tried on the copy.
USUAL_SECRETS, _TRIED = 3, 24


@dataclass(frozen=True, eq=False)
class BoundRisk:
    """Attacks on a copy, bound to its tables.

    Attributes
    ----------
    profile
        The judged columns, with their kinds and their cells, and the notes to show.
    attacks
        The map of each row to the joint outcome of all attacks.
    trial
        The rates of the attacks on the copy itself.
    """

    profile: BoundProfile
    attacks: Attacks
    trial: Trial

    def measurement(self, parameters: RiskParameters) -> AttacksMeasurement:
        """Measurement of all attacks on one table."""
        return AttacksMeasurement(
            name="risk",
            kinds=self.profile.kinds,
            unit=self.profile.unit,
            epsilon=parameters.total_epsilon,
            attacks=self.attacks,
        )


def bind_risk(
    tables: SyntheticTables, parameters: RiskParameters, unit: PrivacyUnit | None = None
) -> BoundRisk:
    """Attacks on the copy of ``tables``.

    Raises
    ------
    PqdError
        The errors of ``bind_profile``; ParameterError for a secret, or a known column, that is not
        among the judged columns; NothingSelectedError with fewer than two columns.
    """
    if unit is not None and unit.max_rows > 1:
        raise ParameterError(
            f"{option('--max-rows')} is {unit.max_rows}; a risk report counts each person as one "
            "row, so leave it out"
        )
    bound = bind_profile(tables, parameters.request, unit)
    partitions = _finest(bound)
    if len(partitions) < 2:
        names = ", ".join(each.column for each in partitions) or "none"
        raise NothingSelectedError(
            f"an attack needs at least two columns that the private table and {bound.label} have; "
            f"there is {names}"
        )
    columns = [each.column for each in partitions]
    codes = bound.codes(partitions)
    known = _places(parameters.known, columns, "known")
    stated = _places(parameters.secrets, columns, "secret")
    if "inference" not in parameters.kinds:
        stated = ()
    elif stated is None:
        stated = _usual_secrets(partitions, codes, known)
    secrets = _secrets(bound, columns, stated)
    attacks, trial = attacks_on(
        partitions, codes, secrets, known, parameters.kinds, parameters.learner
    )
    if not attacks.attacks:
        raise NothingSelectedError(
            "there is no secret to guess: no judged column has texts; name some "
            f"({option('--secret')})"
        )
    notes = [*parameters.warnings(), *bound.notes]
    if len(codes) > MOST_COPY:
        notes.append(note("risk-of-part", rows=MOST_COPY, copy=len(codes)))
    return BoundRisk(replace(bound, notes=tuple(notes)), attacks, trial)


def _finest(bound: BoundProfile) -> tuple[Partition, ...]:
    """Finest cells of each judged column that the copy has: a cell for each of its values."""
    engine, schema = bound.copy, bound.schema
    finest: list[Partition] = []
    for each in bound.partitions:
        if isinstance(each, Lacking):
            continue
        counts = engine.value_counts(schema, each.column)
        if each.kind in ORDERED:
            finest.append(Ordered(each.column, each.kind, tuple(map(float, counts.values))))
        else:
            often = np.argsort(-counts.counts, kind="stable")
            texts = [str(counts.values[place]) for place in often]
            own, merged = tuple(texts[:MOST_CATEGORIES]), tuple(texts[MOST_CATEGORIES:])
            finest.append(Categories(each.column, each.kind, own, merged))
    return tuple(finest)


def _usual_secrets(
    partitions: tuple[Partition, ...], codes: NDArray[np.int64], known: tuple[int, ...] | None
) -> tuple[int, ...]:
    """Columns of texts or truths that the copy's own rows give away most."""
    places = tuple(
        place
        for place, each in enumerate(partitions)
        if isinstance(each, Categories) and len(each.values) > 1 and place not in (known or ())
    )[:_TRIED]
    if len(places) <= USUAL_SECRETS:
        return places
    gained = gains(partitions, codes, places, known)
    first = sorted(zip(gained, places, strict=True), key=lambda each: (-each[0], each[1]))
    return tuple(sorted(place for _, place in first[:USUAL_SECRETS]))


def _secrets(
    bound: BoundProfile, columns: Sequence[str], places: Sequence[int]
) -> tuple[tuple[Partition, NDArray[np.int64]], ...]:
    """Cells of each secret, which are those of a profile, and the cell of each row of the copy."""
    cells = {each.column: each for each in bound.partitions}
    own = tuple(cells[columns[place]] for place in places)
    if not own:
        return ()
    codes = bound.codes(own)
    return tuple(zip(own, codes.T, strict=True))


def _places(
    names: tuple[str, ...] | None, columns: Sequence[str], what: str
) -> tuple[int, ...] | None:
    """Places of stated columns; ParameterError for a name that no judged column has."""
    if names is None:
        return None
    folded = [fold_case(name) for name in columns]
    for name in names:
        if fold_case(name) not in folded:
            raise unknown_column(name, columns, what)
    return tuple(folded.index(fold_case(name)) for name in names)
