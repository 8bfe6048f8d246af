"""Releases of attacks are private on neighbouring tables, exactly and without sampling.

A recording noise keeps the numbers and the scale that a release asks for, so the loss between two
tables is a fraction: the largest shift over the scale.  Broken twins must be caught by the same
check.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pqd.attacks import planned_risk
from pqd.attacks.measurement import AttacksMeasurement
from pqd.attacks.outcomes import Attacks, are_rare, as_bytes, attacks_on
from pqd.attacks.parameters import RiskParameters
from pqd.attacks.trees import LearnerId, Trees
from pqd.commands.check import run_check
from pqd.commands.rank import run_ranking
from pqd.commands.risk import run_risk
from pqd.comparison.ranking import RankingParameters
from pqd.engine.marginals import MarginalCounts
from pqd.engine.partitions import Categories, Ordered, Partition
from pqd.engine.scan_plan import PrivacyUnit
from pqd.errors import ParameterError
from pqd.reports.models.risk import AttackId
from pqd.spec import read_spec
from pqd.sql.schema import Kind

EPSILON = Fraction(7, 10)
AGE = Ordered("age", Kind.NUMBER, (20.0, 30.0, 40.0))
JOB = Categories("job", Kind.TEXT, ("cook", "smith"))
SEX = Categories("sex", Kind.TEXT, ("f", "m"))
PARTITIONS: tuple[Partition, ...] = (AGE, JOB, SEX)
# The copy has none of the cells that a copy never has.
COPY = np.array([[2, 1, 1], [2, 1, 1], [4, 1, 2], [6, 2, 1], [4, 2, 2], [6, 2, 2], [2, 2, 0]])
Row = tuple[int, ...]
ROWS: list[Row] = list(itertools.product(range(AGE.size), range(JOB.size), range(SEX.size)))
Numbers = tuple[tuple[int, ...], Fraction]
Release = Callable[[Sequence[Row]], Numbers]


class Recorder:
    """Keeps the numbers that it is asked for, and gives them back."""

    simulated = True

    def __init__(self) -> None:
        self.calls: list[Numbers] = []

    def cube(self, statistics: Sequence[int], scale: Fraction) -> tuple[int, ...]:
        self.calls.append((tuple(statistics), scale))
        return tuple(statistics)


def attacks_of(copy: Any, learner: LearnerId = "nearest") -> Attacks:
    secrets = ((JOB, copy[:, 1]), (SEX, copy[:, 2]))
    return attacks_on(PARTITIONS, copy, secrets, learner=learner)[0]


ATTACKS = attacks_of(COPY)
# Trees need some rows to learn from.
LEARNT = attacks_of(np.repeat(COPY, 9, axis=0), "trees")


def counts(attacks: Attacks, rows: Sequence[Row]) -> Any:
    table = np.array(rows, np.int64).reshape(-1, 3)
    # The partitions are those of three columns, then of both secrets.
    columns = [*table.T, table[:, 1], table[:, 2]]
    codes = dict(zip(attacks.partitions, columns[:3], strict=False))
    cells = attacks.cells({**codes, JOB: table[:, 1], SEX: table[:, 2]})
    return np.bincount(cells, minlength=attacks.size)


def measurement(attacks: Attacks) -> AttacksMeasurement:
    return AttacksMeasurement(name="risk", kinds=(), unit=None, epsilon=EPSILON, attacks=attacks)


def release(rows: Sequence[Row], attacks: Attacks = ATTACKS) -> Numbers:
    recorder: Any = Recorder()
    measurement(attacks).run(MarginalCounts({attacks: counts(attacks, rows)}), recorder)
    released: Numbers = recorder.calls[0]
    return released


def loss(one: Numbers, other: Numbers) -> Fraction:
    """Privacy loss between two releases with cube noise of one scale."""
    assert one[1] == other[1]
    return max(abs(a - b) for a, b in zip(one[0], other[0], strict=True)) / one[1]


def neighbours(rows: Sequence[Row]) -> Iterator[list[Row]]:
    yield from ([*rows, row] for row in ROWS[::5])
    for place in range(len(rows)):
        yield [*rows[:place], *rows[place + 1 :]]


TABLES: list[list[Row]] = [
    [],
    *([row] for row in ROWS[::7]),
    [ROWS[place] for place in (0, 3, 9, 30, 41, 55, 70)],
    [tuple(map(int, row)) for row in COPY],
    ROWS[::4],
]


def worst(made: Release, tables: Sequence[list[Row]] = TABLES) -> Fraction:
    return max(loss(made(rows), made(other)) for rows in tables for other in neighbours(rows))


def test_every_release_costs_epsilon() -> None:
    assert worst(release) == EPSILON


def test_guesses_of_trees_cost_epsilon_too() -> None:
    assert worst(lambda rows: release(rows, LEARNT)) == EPSILON


def test_each_number_is_that_of_an_attack() -> None:
    numbers, _ = release(TABLES[-2])
    assert numbers[0] == len(COPY)
    names = [each.id for each in ATTACKS.attacks]
    # Successes less failures, of rows that all stand in the copy: three of the seven are rare.
    assert numbers[1 + names.index("copied")] == 3 - 4
    assert numbers[1 + names.index("near")] == len(COPY)
    # The curves have two more distances, and three more closenesses.
    assert len(numbers) == 1 + len(names) + 2 + 3


def from_private(rows: Sequence[Row]) -> Numbers:
    """Wrong: the distances that are counted come from the private rows."""
    found = ATTACKS.nearest.search(np.array(rows, np.int64).reshape(-1, 3)).distance
    middle = int(np.sort(found)[len(found) // 2]) if len(found) else 0
    return release(rows, replace(ATTACKS, thresholds=(middle, middle + 1, middle + 2)))


def trained_on_private(rows: Sequence[Row]) -> Numbers:
    """Wrong: the attacker sees the private rows in place of the copy."""
    if len(rows) < 2:
        return release(rows)
    table = np.array(rows, np.int64).reshape(-1, 3)
    # Cells that a copy never has are left out, as a copy of these rows would.
    known = table[(table[:, 0] % 2 == 0) & (table[:, 1] < 3) & (table[:, 2] < 3)]
    return release(rows, attacks_of(known)) if len(known) > 1 else release(rows)


def trees_of_private(rows: Sequence[Row]) -> Numbers:
    """Wrong: the trees learn from the private rows; all else is of the copy."""
    if len(rows) < 2:
        return release(rows, LEARNT)
    table = np.array(rows, np.int64).reshape(-1, 3)
    learnt = Trees.grown(table, table[:, 1:], (1, 2), None)
    return release(rows, replace(LEARNT, trees=learnt))


def rare_among_private(rows: Sequence[Row]) -> Numbers:
    """Wrong: a row of the copy is rare by the private rows that nearly equal it."""
    table = np.array([*map(tuple, COPY), *rows], np.int64)
    return release(rows, replace(ATTACKS, rare=frozenset(as_bytes(table[are_rare(table)]))))


def overlapping(rows: Sequence[Row]) -> Numbers:
    """Wrong: one number adds up the successes of all attacks."""
    numbers, scale = release(rows)
    return (*numbers, sum(numbers[1:])), scale


def by_rank(rows: Sequence[Row]) -> Numbers:
    """Wrong: a row succeeds if it is nearer than most private rows."""
    numbers, scale = release(rows)
    found = ATTACKS.nearest.search(np.array(rows, np.int64).reshape(-1, 3)).distance
    nearer = int((found < found.mean()).sum()) if len(found) else 0
    return (*numbers, nearer), scale


def against_private(rows: Sequence[Row]) -> Numbers:
    """Wrong: a row is a member if it is closer than at the private rows' median closeness."""
    found = ATTACKS.nearest.search(np.array(rows, np.int64).reshape(-1, 3)).closeness
    middle = int(np.sort(found)[len(found) // 2]) if len(found) else 0
    return release(rows, replace(ATTACKS, closenesses=(middle, middle, middle, middle)))


@pytest.mark.parametrize(
    "twin",
    [
        against_private,
        from_private,
        trained_on_private,
        trees_of_private,
        rare_among_private,
        overlapping,
        by_rank,
    ],
)
def test_broken_twins_are_caught(twin: Release) -> None:
    assert worst(twin) > EPSILON


@pytest.mark.parametrize(
    "kinds", [("copied",), ("singling-out", "copied"), ("membership",), ("near", "inference")]
)
def test_fewer_attacks_cost_epsilon_too(kinds: tuple[AttackId, ...]) -> None:
    few = replace(ATTACKS, kinds=kinds)
    every, _ = release(TABLES[-1])
    numbers, _ = release(TABLES[-1], few)
    names = [each.id for each in ATTACKS.attacks]
    chosen = [number for name, number in zip(names, every[1:], strict=False) if name in kinds]
    # Attacks that ask for no nearest row are counted without a search, and alike.
    assert list(numbers[1 : 1 + len(chosen)]) == chosen
    assert worst(lambda rows: release(rows, few)) == EPSILON
    assert measurement(few).cache_key != measurement(ATTACKS).cache_key


def test_the_outcome_of_a_row_is_its_own() -> None:
    """It depends on no other row, and on no order of the copy's rows."""
    together = counts(ATTACKS, ROWS)
    alone = sum(counts(ATTACKS, [row]) for row in ROWS)
    assert np.array_equal(together, alone)
    again = attacks_of(COPY[::-1])
    assert np.array_equal(counts(again, ROWS), together)
    assert again.facts() == ATTACKS.facts()


def test_another_copy_is_another_question() -> None:
    other = attacks_of(np.vstack([COPY, COPY[:1]]))
    assert measurement(other).cache_key != measurement(ATTACKS).cache_key
    assert measurement(attacks_of(COPY[::-1])).cache_key == measurement(ATTACKS).cache_key


# Whole runs, with held-out rows -------------------------------------------------------------------

SYNTHETIC = pd.DataFrame(
    {"age": [20, 30, 40, 50, 60, 35, 45], "job": list("aabbcab"), "town": list("xyxyxyz")}
)
PRIVATE = SYNTHETIC.iloc[::-1].assign(age=SYNTHETIC["age"] + 5).reset_index(drop=True)
HELD_OUT = SYNTHETIC.iloc[1:5].assign(age=31).reset_index(drop=True)
NEW = pd.DataFrame({"age": [20, 99], "job": ["a", "spy"], "town": ["x", "elsewhere"]})


SPEC = """[private]
path = "private.parquet"
[held_out]
path = "held.parquet"
[synthetic.copy]
path = "copy.parquet"
[risk]
total_epsilon = 1
[[check]]
id = "copied"
risk = "copied"
[[check]]
id = "guessed"
risk = "all"
tau = "5%"
"""


def calls(private: pd.DataFrame, held_out: pd.DataFrame, unit: str | None = None) -> list[Numbers]:
    recorder: Any = Recorder()
    people = PrivacyUnit(unit) if unit else None
    run_risk(private, SYNTHETIC, RiskParameters.parse(), recorder, held_out=held_out, unit=people)
    released: list[Numbers] = recorder.calls
    return released


def changed(table: pd.DataFrame) -> Iterator[pd.DataFrame]:
    for place in range(len(NEW)):
        yield pd.concat([table, NEW.iloc[place : place + 1]], ignore_index=True)
    yield table.iloc[1:]


def calls_of_check(private: pd.DataFrame, held_out: pd.DataFrame) -> list[Numbers]:
    """Numbers that a spec with checks of risk releases, on the private and the held-out table."""
    recorder: Any = Recorder()
    with TemporaryDirectory() as name:
        folder = Path(name)
        tables = {"private": private, "held": held_out, "copy": SYNTHETIC}
        for each, table in tables.items():
            table.to_parquet(folder / f"{each}.parquet", index=False)
        (folder / "audit.toml").write_text(SPEC, encoding="utf-8")
        spec = read_spec(folder / "audit.toml", {})
        run_check(spec, recorder, ledger=folder / "ledger.sqlite")
    released: list[Numbers] = recorder.calls
    return released


Calls = Callable[[pd.DataFrame, pd.DataFrame], list[Numbers]]


def check_each_table_pays(made: Calls) -> None:
    """Each row moves the numbers of its own table by one, and no number of the other table."""
    own, other = made(PRIVATE, HELD_OUT)
    for private in changed(PRIVATE):
        first, second = made(private, HELD_OUT)
        assert loss(own, first) == 1
        assert second == other
    for held_out in changed(HELD_OUT):
        first, second = made(PRIVATE, held_out)
        assert first == own
        assert loss(other, second) == 1


@pytest.mark.parametrize("made", [calls, calls_of_check])
def test_a_row_of_one_table_costs_epsilon_there_alone(made: Calls) -> None:
    check_each_table_pays(made)


@pytest.mark.parametrize("made", [calls, calls_of_check])
def test_a_held_out_measurement_of_the_private_rows_is_caught(
    made: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broken twin: what the held-out account pays for is measured on the private table.

    Where there is a ledger, it recognises the rows, and the run is refused.
    """
    monkeypatch.setattr(planned_risk, "_held_out_set", lambda _bound, own, *_: own)
    with pytest.raises((AssertionError, ParameterError)):
        check_each_table_pays(made)


def test_a_person_of_many_rows_costs_epsilon() -> None:
    """All rows of a person together weigh one row, whatever they hold."""
    people = PRIVATE.assign(who=[*map(str, range(len(PRIVATE)))])
    others = HELD_OUT.assign(who=[*map(str, range(len(HELD_OUT)))])
    own, _ = calls(people, others, "who")
    for rows in (1, 3, 8):
        more = pd.concat([SYNTHETIC, NEW]).iloc[:rows].assign(who="new")
        table = pd.concat([people, more], ignore_index=True)
        first, _ = calls(table, others, "who")
        assert loss(own, first) == 1


# Rankings -----------------------------------------------------------------------------------------

# The copies share the epsilon of attacks; what the ranking itself costs comes beside it.
COPIES = {"one": SYNTHETIC, "other": SYNTHETIC.assign(age=SYNTHETIC["age"] + 2)}
RANKED, SHARED = Fraction(1), Fraction(3)


class Ranked(Recorder):
    """Keeps the number of rows, too."""

    def laplace(self, statistic: int, scale: Fraction) -> int:
        return self.cube((statistic,), scale)[0]


def draws_of_ranking(private: pd.DataFrame, held_out: pd.DataFrame) -> tuple[list[Numbers], ...]:
    """Draws of a ranking with attacks: its own, and the attacks on each of the two tables."""
    recorder: Any = Ranked()
    risk = planned_risk.RiskRequest(total_epsilon=SHARED, held_out=held_out)
    stated = RankingParameters.parse(total_epsilon=RANKED)
    report = run_ranking(private, COPIES, stated, recorder, risk=risk)
    draws, copies = recorder.calls, len(COPIES)
    assert report.held_out_cost is not None
    assert (report.cost.epsilon, report.held_out_cost.epsilon) == (RANKED + SHARED, SHARED)
    return draws[: -2 * copies], draws[-2 * copies : -copies], draws[-copies:]


def lost(here: list[Numbers], there: list[Numbers]) -> Fraction:
    return sum(map(loss, here, there), Fraction(0))


def check_copies_share() -> None:
    """A private row costs the ranking and all attacks at most, a held-out row the attacks alone."""
    ranking, own, other = draws_of_ranking(PRIVATE, HELD_OUT)
    for private in changed(PRIVATE):
        first, second, third = draws_of_ranking(private, HELD_OUT)
        assert lost(ranking, first) <= RANKED
        assert lost(own, second) == SHARED
        assert third == other
    for held_out in changed(HELD_OUT):
        first, second, third = draws_of_ranking(PRIVATE, held_out)
        assert (first, second) == (ranking, own)
        assert lost(other, third) == SHARED


def test_all_copies_of_a_ranking_together_cost_epsilon() -> None:
    check_copies_share()


def test_a_ranking_that_attacks_each_copy_at_the_whole_epsilon_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A broken twin: the share that each copy is charged is not the one that is drawn."""
    released = AttacksMeasurement.run

    def whole(self: AttacksMeasurement, counts: MarginalCounts, noise: Any) -> Any:
        return released(replace(self, epsilon=SHARED), counts, noise)

    monkeypatch.setattr(AttacksMeasurement, "run", whole)
    with pytest.raises(AssertionError):
        check_copies_share()
