"""Whole runs with a privacy unit: what one person moves of all draws costs at most what is charged.

Every command runs twice on one tape of noise, with and without one person.  A person brings rows of
any number, cells that are missing, beyond all bounds or of another type, and cells that turn a
whole column into another type.
"""

from collections.abc import Callable, Collection
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pqd
from pqd.accounting.zcdp import rho_of
from pqd.deciders.distances.vector import GaussianVector
from pqd.engine import histograms as histograms_home
from pqd.engine import marginals as marginals_home
from pqd.planning.planned_verdict import DeciderMeasurement
from pqd.run import means as means_home
from pqd.run.gate import GateCondition
from tests.privacy.test_privacy_unit import every_value, whole_rows
from tests.support.tape import Draw, Tape, loss

MOMENT = pd.Timestamp("2020-02-02")
# Whole numbers that are no doubles, so that one missing cell rounds a whole column of pandas.
BIG = 1_750_000_000_000_000_001
NAMES = ("pid", "age", "pay", "job", "seen", "big")


def rows_of(number: int, seed: int, persons: int) -> pd.DataFrame:
    """Rows of persons who have from 1 to many rows, and alike ones."""
    rng = np.random.default_rng(seed)
    pid = np.minimum((rng.pareto(1, number) * 6).astype(int), persons - 1)
    age = (pid + rng.integers(0, 4, number)) % 8
    return pd.DataFrame(
        {
            "pid": [f"p{each}" for each in pid],
            "age": age,
            "pay": (age + rng.integers(0, 5, number)) / 2,
            "job": rng.choice(list("abc"), number, p=[0.6, 0.3, 0.1]),
            "seen": MOMENT + pd.to_timedelta(rng.integers(0, 90, number), "D"),
            "big": BIG + 60 * rng.integers(0, 30, number),
        }
    )


# Cells of the persons of whom one is left out.
PERSONS: dict[str, list[tuple[Any, ...]]] = {
    "missing": [(3, 2.0, "a", MOMENT, None)],
    "seventeen": [(n % 8, n % 9 / 2, "abc"[n % 3], MOMENT, BIG + 600 * n) for n in range(17)],
    "texts": [("many", "x", "q", "never", "x")] * 5,
    "beyond": [(999, -1e9, "spy", MOMENT, -5), (-999, 1e300, "", MOMENT, 2**62)] * 2,
    "many": [(n % 8, n % 9 / 2, "abc"[n % 3], MOMENT, BIG) for n in range(700)],
}
COPY, OTHER = rows_of(120, 5, 40), rows_of(110, 6, 40)
EVERYBODY = rows_of(110, 9, 40)


def private(persons: Collection[str], how: str, folder: Path) -> Any:
    """Private table of everybody and of ``persons``, as a frame or a file."""
    more = [
        (None if name == "texts" else name, *row)
        for name, rows in PERSONS.items()
        if name in persons
        for row in rows
    ]
    frame = pd.concat([EVERYBODY.astype(object), pd.DataFrame(more, columns=NAMES, dtype=object)])
    frame = frame.reset_index(drop=True)
    if how == "csv":
        path = folder / "private.csv"
        frame.to_csv(path, index=False)
        return path
    # Each column has the type that its cells have together.
    typed = pd.DataFrame({name: pd.Series([*frame[name]]) for name in NAMES})
    return typed.assign(job=typed.job.astype("category"), pid=typed.pid.astype("category"))


FACTS: dict[str, dict[str, Any]] = {
    "age": {"bounds": (0, 7)},
    "pay": {"bounds": (0, 6), "step": "0.5"},
}
COPIES = {"age": {"bounds": "copy"}, "pay": {"bounds": "copy"}}
TOTALS = [
    "SELECT COUNT(*) FROM D WHERE job <> 'a'",
    "SELECT SUM(pay) FROM D",
    "SELECT SUM(age) FROM D WHERE job = 'b'",
]
MEANS = ["SELECT AVG(pay) FROM D", "SELECT AVG(age) FROM D WHERE job = 'a'"]
ORDERED = ["SELECT MEDIAN(age) FROM D", "SELECT QUANTILE(pay, 0.25) FROM D WHERE age < 5"]
DISTINCT = ["SELECT COUNT(DISTINCT job) FROM D", "SELECT COUNT(DISTINCT big) FROM D WHERE age > 0"]
EVERY = [*TOTALS, *MEANS, *ORDERED, *DISTINCT]
GROUPS = ["SELECT job, COUNT(*) FROM D GROUP BY job", "SELECT job, AVG(pay) FROM D GROUP BY job"]
Command = Callable[[Any, dict[str, Any]], Any]


def audits(queries: list[str], **terms: Any) -> Command:
    own: dict[str, Any] = {"tau": "15%", "columns": FACTS} | terms
    if "total_epsilon" not in own:
        own["epsilon"] = 0.7
    return lambda table, unit: pqd.audit(table, COPY, queries, **own, **unit)


def profiles(**terms: Any) -> Command:
    own: dict[str, Any] = {
        "total_epsilon": 2,
        "anyway": True,
        "columns": ["age", "job", "big"],
    } | terms
    return lambda table, unit: pqd.profile(table, COPY, **own, **unit)


def gates(queries: list[str] | None, **terms: Any) -> Command:
    own: dict[str, Any] = {"epsilon": 1, "names": 1} | terms
    return lambda table, unit: pqd.gate(table, COPY, queries, **own, **unit)


def compares(queries: list[str] | None, **terms: Any) -> Command:
    copies = {"a": COPY, "b": OTHER}
    return lambda table, unit: pqd.compare(table, copies, queries, **terms, **unit)


def releases(table: Any, unit: dict[str, Any]) -> Any:
    return pqd.release(table, COPY, TOTALS, total_epsilon=1, columns=FACTS, **unit)


SPEC = """
[private]
path = "{private}"
[synthetic.copy]
path = "{copy}"
[privacy]
unit = "pid"
max_rows = {max_rows}
[defaults]
epsilon = 0.5
tau = "20%"
[columns.age]
bounds = [0, 7]
[[check]]
id = "pair"
marginal = ["age", "job"]
[[check]]
id = "score"
score = "overall"
at_least = "80%"
[[check]]
id = "relations"
score = "relations"
at_least = "50%"
[[check]]
id = "near"
alarm = "overall"
[[check]]
id = "mean"
sql = "SELECT AVG(age) FROM D"
[[check]]
id = "number"
sql = "SELECT COUNT(*) FROM D WHERE job = 'b'"
"""


def checks(gate: float | None) -> Command:
    def command(table: Any, unit: dict[str, Any]) -> Any:
        ledger = Path(unit["ledger"])
        paths = {name: ledger.with_name(f"{name}.parquet") for name in ("private", "copy")}
        COPY.to_parquet(paths["copy"])
        if isinstance(table, Path):
            paths["private"] = table
        else:
            texts = table.assign(**{n: table[n].map(str) for n in ("age", "pay", "seen", "big")})
            texts.to_parquet(paths["private"])
        spec = ledger.with_name("audit.toml")
        text = SPEC.format(max_rows=unit["max_rows"], **paths)
        spec.write_text(text, encoding="utf-8")
        return pqd.check(spec, ledger=ledger, gate=gate, names=gate)

    return command


COMMANDS: dict[str, Command] = {
    "audit": audits(EVERY),
    "audit: a shared budget": audits([*GROUPS, *ORDERED], total_epsilon=3),
    "audit: rows beyond": audits([*MEANS, *TOTALS], columns=None, outside=True),
    "audit: rows beyond lm_mean": audits(MEANS, columns=None, outside=True, decider="lm_mean"),
    "audit: per row": audits([*TOTALS, *MEANS], scale="rows"),
    "audit: per row by lm_mean": audits([*TOTALS, *MEANS], scale="rows", decider="lm_mean"),
    "audit: em_median": audits(ORDERED[:1], decider="em_median"),
    "audit: hist_median": audits(ORDERED[:1], decider="hist_median"),
    "audit: em_quantile": audits(ORDERED[1:], decider="em_quantile"),
    "audit: svt_sum": audits(TOTALS[1:], decider="svt_sum"),
    "audit: noisy_distinct": audits(DISTINCT, decider="noisy_distinct"),
    "profile": profiles(zoom=2, target="job"),
    "profile: gaussian": profiles(delta=1e-6, zoom=1),
    "gate": gates(EVERY, tau="15%", columns=FACTS),
    "gate: copy's bounds": gates(MEANS, tau="15%", columns=COPIES),
    "gate: per row": gates(TOTALS[:1], tau="15%", columns=FACTS, scale="rows"),
    "gate: a table": gates(None, epsilon=2, private_rows=1_000),
    "compare": compares(EVERY, tau="15%", epsilon=0.7, columns=FACTS),
    "compare: split": compares(EVERY, tau="15%", epsilon=0.7, columns=FACTS, estimator="split"),
    "compare: exponential": compares(
        ORDERED, tau="15%", epsilon=0.7, columns=FACTS, estimator="exponential"
    ),
    "compare: tables": compares(None, total_epsilon=1, marginals=True),
    "release": releases,
    "check": checks(None),
    "check: gate": checks(1),
}


def run(command: Command, table: Any, most: int, folder: Path, heard: Any = None) -> Any:
    """Report of a command with a new ledger, and the draws of its tape."""
    tape = Tape(heard)
    unit = {"unit": "pid", "max_rows": most, "ledger": folder / f"{next(NUMBERS)}.sqlite"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(means_home, "SecureNoise", lambda: tape)
        return command(table, unit), tape.drawn


NUMBERS = count()
# The odd persons who are in a table beside the person who comes or goes.
MANY: dict[str, set[str]] = {"frame": set(), "csv": {*PERSONS}}


def check_person(
    name: str, person: str, most: int, how: str, folder: Path, heard: Any = None
) -> list[Draw]:
    """With ``person`` or without all draws together cost at most what was charged.

    Into a frame the person brings what nobody else has; a file has all odd persons but this one.
    """
    command = COMMANDS[name]
    if heard is None:
        heard = run(command, private(MANY[how], how, folder), most, folder)
    whole: list[Draw] = heard[1]
    report = heard[0]
    other, rest = run(command, private(MANY[how] ^ {person}, how, folder), most, folder, whole)
    assert other.cost.epsilon == report.cost.epsilon > 0
    found = loss(whole, rest)
    left = Fraction(report.cost.epsilon) - found.epsilon
    # Choices are doubles.
    assert left > -Fraction(1, 10**6), (name, person, float(found.epsilon))
    if found.rho:
        assert found.rho <= rho_of(left, report.cost.delta), (name, person)
    return whole


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize(("most", "how"), [(1, "frame"), (3, "csv")])
def test_a_person_costs_what_is_charged(name: str, most: int, how: str, tmp_path: Path) -> None:
    heard = run(COMMANDS[name], private(MANY[how], how, tmp_path), most, tmp_path)
    for person in PERSONS:
        check_person(name, person, most, how, tmp_path, heard)


# Broken twins


def beyond_in_parts(self: DeciderMeasurement, counts: Any, noise: Any) -> Any:
    """Rows beyond the bounds are counted in parts of a row, with the noise of rows."""
    return RUN(self, counts.in_parts(1), noise)


def of_one_row(self: GaussianVector, rho: Any) -> Any:
    """Noise for a person of one row."""
    return SIGMAS(GaussianVector(self.numbers), rho)


def margin_of_rows(self: GateCondition, counts: Any, rows: int) -> int:
    """A margin in rows, which a person of several rows moves by several."""
    return self.measurement.margin(counts, rows, expected=self.expected)


RUN, SIGMAS = DeciderMeasurement.run, GaussianVector.sigmas
TWINS: dict[str, tuple[Any, str, Callable[..., Any], str, str]] = {
    "rows beyond in parts of a row": (
        *(DeciderMeasurement, "run", beyond_in_parts),
        *("audit: rows beyond lm_mean", "beyond"),
    ),
    "Gaussian noise of one row": (
        *(GaussianVector, "sigmas", of_one_row),
        *("profile: gaussian", "many"),
    ),
    "gate margins in rows": (GateCondition, "margin", margin_of_rows, "gate: per row", "texts"),
    "all rows of a person": (
        *(marginals_home, "row_weights", whole_rows),
        *("compare: tables", "many"),
    ),
    "all means of a person": (histograms_home, "row_weights", whole_rows, "compare", "many"),
    "all distinct values of a person": (
        *(histograms_home, "_few_values", every_value),
        *("audit: noisy_distinct", "seventeen"),
    ),
}


@pytest.mark.parametrize("name", TWINS)
def test_a_broken_twin_is_caught(
    name: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> None:
    *twin, command, person = TWINS[name]
    monkeypatch.setattr(*twin)
    with pytest.raises(AssertionError):
        check_person(command, person, 3, "frame", tmp_path)
    record_property("mutant", name)
    record_property("caught_by", f"{command}: without a person all draws cost more than is charged")
