"""Every command with a privacy unit: one person costs at most the epsilon that the report states.

The noise of a run on a table is replayed on the table without one person.  So the loss of the whole
run is that of its draws, each by its law: what is charged must be at least as much.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

from pqd.attacks import measurement as attacks_measurement
from pqd.commands.gate import gate_terms, run_query_gate
from pqd.commands.release import run_release
from pqd.deciders.risk.successes import release_successes
from pqd.engine.scan_plan import PrivacyUnit
from pqd.parameters import Parameters
from pqd.run import gate as gates
from pqd.run import measurement as measurements
from pqd.sql.workload_files import as_queries
from tests.support import swaps

Values = tuple[int, ...]


class Draw(NamedTuple):
    """One draw: its law, what it is about, and its scale."""

    law: str
    about: Values
    scale: Fraction


class Told:
    """Noise that gives what was recorded before, or else 0, and keeps what it was asked for."""

    simulated = False

    def __init__(self, outputs: Sequence[Values] = ()) -> None:
        self.draws: list[Draw] = []
        self._outputs = outputs

    def _draw(self, law: str, about: Sequence[int], scale: Fraction) -> Values:
        self.draws.append(Draw(law, tuple(about), scale))
        return self._outputs[len(self.draws) - 1] if self._outputs else tuple(about)

    def laplace(self, statistic: int, scale: Fraction) -> int:
        return self._draw("laplace", (statistic,), scale)[0]

    def cube(self, statistics: Sequence[int], scale: Fraction) -> Values:
        return self._draw("cube", statistics, scale)

    def gaussian(self, statistic: int, sigma: Fraction) -> int:
        raise AssertionError(statistic, sigma)

    def choose(self, logit: float) -> bool:
        raise AssertionError(logit)

    def least_place(self, scores: Sequence[int], scale: Fraction) -> int:
        self._draw("place", scores, scale)
        return 0


def loss(here: Sequence[Draw], there: Sequence[Draw]) -> Fraction:
    """Privacy loss of a run between two tables, given the outputs of the first."""
    lost = Fraction(0)
    for one, other in zip(here, there, strict=True):
        assert (one.law, one.scale) == (other.law, other.scale)
        moved = max(abs(a - b) for a, b in zip(one.about, other.about, strict=True))
        # Permute-and-flip draws at twice the scale of what its scores move by.
        lost += (2 if one.law == "place" else 1) * moved / one.scale
    return lost


# Tables -------------------------------------------------------------------------------------------


def persons(seed: int, number: int, most: int) -> pd.DataFrame:
    """Rows of ``number`` persons with 1 to ``most`` rows each."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(1, most + 1, number)
    size = int(rows.sum())
    return pd.DataFrame(
        {
            "pid": np.repeat([f"p{n}" for n in range(number)], rows),
            "age": rng.integers(0, 8, size).astype(float),
            "pay": rng.integers(0, 100, size).astype(float),
            "job": rng.choice(list("abc"), size),
            "sex": rng.choice(["f", "m"], size),
        }
    )


COPY, PRIVATE = persons(1, 90, 4), persons(2, 90, 4)
# What a person may bring: every age and job, values far outside, none at all, many rows, no name.
ODD: dict[str, pd.DataFrame] = {
    "every value": pd.DataFrame(
        [("odd", float(n % 8), float(7 * n % 100), "abc"[n % 3], "fm"[n % 2]) for n in range(24)],
        columns=COPY.columns,
    ),
    "nothing": pd.DataFrame({name: ["odd" if name == "pid" else None] for name in COPY.columns}),
    "values far outside": pd.DataFrame(
        {
            "pid": "odd",
            "age": [1e300, -np.inf, np.nan, 7.25, 3.0],
            "pay": [np.inf, -1e9, 12.5, np.nan, 99.0],
            "job": ["", "spy", None, "a", "a"],
            "sex": ["f", "x", "f", None, "m"],
        }
    ),
    "one row many times": pd.concat([COPY.iloc[:1].assign(pid="odd")] * 30),
    "the highest always": pd.DataFrame([("odd", 7.0, 100.0, "b", "f")] * 12, columns=COPY.columns),
    "no name": COPY.iloc[:7].assign(pid=None),
}


# Commands -----------------------------------------------------------------------------------------


FACTS = {"age": {"bounds": (0, 7)}, "pay": {"bounds": (0, 100)}}
COUNTS = [
    f"SELECT COUNT(*) FROM D WHERE {where}" for where in ("job = 'a'", "job = 'b'", "age > 3")
]
SUMS = [f"SELECT SUM(pay) FROM D WHERE {where}" for where in ("job = 'a'", "sex = 'f'")]
ROWS = [
    "SELECT AVG(age) FROM D WHERE job <> 'a'",
    "SELECT MEDIAN(pay) FROM D",
    "SELECT QUANTILE(pay, 0.25) FROM D WHERE sex = 'f'",
]
GROUPED = ["SELECT AVG(age) FROM D GROUP BY job", "SELECT COUNT(*) FROM D GROUP BY job"]
SPEC = """
[private]
path = "private.parquet"
[synthetic.copy]
path = "copy.parquet"
[budget]
epsilon = 50
gate = 2
names = 3
[privacy]
unit = "pid"
max_rows = {most}
[columns.pay]
bounds = [0, 100]
[defaults]
tau = "1%"
[[check]]
id = "jobs"
sql = "SELECT COUNT(*) FROM D WHERE job = 'a'"
[[check]]
id = "pay"
sql = "SELECT SUM(pay) FROM D"
[[check]]
id = "mean"
sql = "SELECT AVG(pay) FROM D WHERE job = 'b'"
[[check]]
id = "middle"
sql = "SELECT MEDIAN(pay) FROM D"
[[check]]
id = "cells"
marginal = ["job", "sex"]
tau = "2%"
[[check]]
id = "values"
column = "age"
[[rule]]
id = "young"
must = "age < 7"
"""


def gate_of_queries(
    private: object, noise: Any, progress: Any, *, unit: PrivacyUnit, asked: Sequence[str]
) -> Any:
    criteria = Parameters.parse(tau="1%", epsilon=2, alpha=0.05, columns=FACTS)
    terms, queries = gate_terms(2, 3, 0.05, None), as_queries(asked)
    return run_query_gate(private, COPY, queries, criteria, terms, noise, progress, unit=unit)


def release(private: object, noise: Any, progress: Any, *, unit: PrivacyUnit) -> Any:
    stated = Parameters.parse(tau=1, epsilon=2, alpha=0.05, columns=FACTS)
    queries = as_queries([*COUNTS, *SUMS])
    return run_release(private, COPY, queries, stated, noise, progress, unit=unit)


def commands(unit: PrivacyUnit) -> dict[str, swaps.Run]:
    options, candidates = {"unit": unit}, {"one": COPY, "other": persons(3, 80, 4)}
    every, shared = [*COUNTS, *SUMS, *ROWS], {"unit": unit, "sharing": "auto"}
    facts: dict[str, Any] = {"columns": FACTS, "tau": "20%"}
    return {
        "audit": swaps.audit(COPY, [*every, *GROUPED], options=options, **facts),
        "audit of one budget": swaps.audit(COPY, every, options=shared, **facts | {"epsilon": 4}),
        "compare": swaps.compare(candidates, every, options=options, **facts),
        "ranking": swaps.rank(candidates, options=options),
        "profile": swaps.profile(COPY, total_epsilon=2, options=options),
        "release": partial(release, unit=unit),
        **(of_attacks(options) if unit.max_rows == 1 else {}),
        "gate of queries": partial(gate_of_queries, unit=unit, asked=every),
        "gate of rows": partial(gate_of_queries, unit=unit, asked=ROWS),
        "gate of a table": swaps.gate(COPY, options=options),
        "gate of a spec": swaps.check(COPY, SPEC.format(most=unit.max_rows)),
    }


def of_attacks(options: Any) -> dict[str, swaps.Run]:
    """Commands that try attacks too, where the private or the held-out rows are swapped."""
    others = persons(4, 70, 4)

    def profiled(held_out: object) -> swaps.Run:
        more = options | {"risk": swaps.attacks(held_out)}
        return swaps.profile(COPY, total_epsilon=2, zoom=1, options=more)

    def ranked(held_out: object) -> swaps.Run:
        more = options | {"risk": swaps.attacks(held_out)}
        return swaps.rank({"one": COPY, "other": persons(3, 80, 4)}, options=more)

    return {
        "ranking with attacks": ranked(others),
        "ranking, held-out rows": swaps.of_held_out(others, ranked),
        "profile with attacks": profiled(others),
        "profile, held-out rows": swaps.of_held_out(others, profiled),
    }


@cache
def ran(name: str, most: int) -> tuple[Fraction, Sequence[Draw]]:
    """Epsilon that the report of a run states for the swapped table, and its draws."""
    noise = Told()
    report = commands(PrivacyUnit("pid", most))[name](PRIVATE, noise, lambda *_: None)
    cost = report.held_out_cost if "held-out" in name else report.cost
    return cost.epsilon, noise.draws


def lost(name: str, most: int, private: pd.DataFrame) -> Fraction:
    """Privacy loss of a run between ``PRIVATE`` and its neighbour."""
    _, draws = ran(name, most)
    noise = Told([each.about for each in draws])
    commands(PrivacyUnit("pid", most))[name](private, noise, lambda *_: None)
    return loss(draws, noise.draws)


def neighbours() -> dict[str, pd.DataFrame]:
    rows = PRIVATE.groupby("pid").size()
    without = {
        who: PRIVATE[PRIVATE["pid"] != who] for who in map(str, (rows.idxmax(), rows.idxmin()))
    }
    joined = {name: pd.concat([PRIVATE, each], ignore_index=True) for name, each in ODD.items()}
    return without | joined


CASES = [(name, most) for most in (1, 3) for name in sorted(commands(PrivacyUnit("pid", most)))]


@pytest.mark.parametrize(("name", "most"), CASES)
def test_one_person_costs_what_the_report_states_at_most(name: str, most: int) -> None:
    stated, draws = ran(name, most)
    assert draws
    found = {who: lost(name, most, private) for who, private in neighbours().items()}
    assert max(found.values()) <= stated, found
    # The check sees something: somebody moves a draw.
    assert max(found.values()) > 0


def of_rows(statistic: object, unit: object) -> int:
    """Broken twin: a person is charged for one row."""
    del statistic, unit
    return 1


def louder(rows: Any, successes: Any, epsilon: Fraction, noise: Any) -> Any:
    """Broken twin: attacks with a tenth of their noise."""
    return release_successes(rows, successes, 10 * epsilon, noise)


TWINS: dict[str, tuple[str, Any, str, Any]] = {
    "an audit that charges a person for one row": (
        "audit",
        measurements,
        "rows_changed",
        of_rows,
    ),
    "a gate whose margins are in rows": (
        "gate of rows",
        gates.GateCondition,
        "margin",
        lambda self, counts, rows: self.measurement.margin(counts, rows, expected=self.expected),
    ),
    "a profile whose attacks have too little noise": (
        "profile with attacks",
        attacks_measurement,
        "release_successes",
        louder,
    ),
    "a profile whose attacks on held-out rows have too little noise": (
        "profile, held-out rows",
        attacks_measurement,
        "release_successes",
        louder,
    ),
    "a ranking whose attacks on held-out rows have too little noise": (
        "ranking, held-out rows",
        attacks_measurement,
        "release_successes",
        louder,
    ),
}


@pytest.mark.parametrize("twin", TWINS)
def test_a_broken_twin_is_caught(
    twin: str, monkeypatch: pytest.MonkeyPatch, record_property: Callable[[str, object], None]
) -> None:
    name, *patch = TWINS[twin]
    monkeypatch.setattr(*patch)
    ran.cache_clear()
    most = 3 if (name, 3) in CASES else 1
    try:
        stated, _ = ran(name, most)
        assert max(lost(name, most, each) for each in neighbours().values()) > stated
    finally:
        ran.cache_clear()
    record_property("mutant", twin)
    record_property("caught_by", "the loss of all draws of a command, without or with one person")
