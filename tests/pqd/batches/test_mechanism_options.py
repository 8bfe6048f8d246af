"""Options of a named mechanism of a release: read, refused, charged, part of the key, shown."""

import json
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import pqd
from pqd.accounting.accountant import Accountant
from pqd.accounting.accounts import Budget
from pqd.batches.answers import ReleasePlan, select_batches
from pqd.batches.mechanisms import RANGE_SUMS, RELEASING, TOGETHER
from pqd.commands.release import run_release
from pqd.deciders import SimulatedNoise
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import open_table
from pqd.errors import BudgetError, ParameterError, UnknownAnswerError
from pqd.parameters import Parameters
from pqd.planning.binding import bind
from pqd.planning.bound_workload import QueryRequest
from pqd.reports.models.release import ReleaseReport
from pqd.reports.writers.terminal import terminal_text
from pqd.reports.writers.terminal.layout import Extent
from pqd.sql.workload_files import as_queries
from pqd.stated.mechanism_options import OPTIONS, read_mechanism_options

Command = Callable[..., tuple[int, str, str]]
COPY = pd.DataFrame(
    {"age": [20 + n % 60 for n in range(300)], "pay": [n % 97 / 2 for n in range(300)]}
)
PRIVATE = COPY.iloc[:-9].reset_index(drop=True)
COLUMNS: dict[str, Any] = {"pay": {"bounds": (0, 16), "step": 0.5}}
SUMS = [f"SELECT SUM(pay) FROM D WHERE age <= {age}" for age in (30, 50)]
COUNTS = [f"SELECT COUNT(*) FROM D WHERE age <= {age}" for age in (30, 50, 60)]
RANGES = [f"SELECT SUM(pay) FROM D WHERE pay <= {pay}" for pay in (3, 6, 12)]
QUICK: dict[str, Any] = {"rounds": 1, "replays": 0}


def planned(mechanism: str, queries: list[str], **options: Any) -> ReleasePlan:
    parameters = Parameters.parse(
        tau=1, epsilon=1, alpha=0.05, mechanism=mechanism, columns=COLUMNS
    )
    tables = SyntheticTables([open_table(COPY, "synthetic")])
    requests = [QueryRequest(query, parameters) for query in as_queries(queries)]
    bound = bind(tables, requests, parameters.columns, None)
    return select_batches(bound, parameters, read_mechanism_options(mechanism, options))


def queries_for(mechanism: str) -> list[str]:
    return RANGES if mechanism in RANGE_SUMS else SUMS


def released(queries: list[str], **how: Any) -> ReleaseReport:
    given: dict[str, Any] = {"total_epsilon": 1, "columns": COLUMNS, "row_is_person": True} | how
    return pqd.release(PRIVATE, COPY, queries, **given)


# Options that change the law one by one, and what they need beside them.
CHANGES: dict[str, Mapping[str, Any]] = {
    "numerical": {
        "rounds": 2, "replays": 1, "delta": "1e-6", "size_share": "0.2", "b": 2.5,
        "alpha_share": "0.3", "radius": "private",
    },
    "numerical_two": {"b": 1, "radius": "private", "alpha_share": 0.5},
    "normalization": {"rounds": 3, "size_share": 0.25, "delta": 1e-9},
    "global_truncation": {"b": 8, "radius_share": 0.3},
    "clipped_composition": {"b": 4, "delta": "1/1000"},
    "dyadic": {"b": 4, "delta": 1e-5},
    "ranges": {"strategy": "identity"},
    "sqm": {"r": 0.9, "s": 3.5},
    "timm": {"theta": 5, "mu": 0, "beta_rate": "1/3"},
    "tamm": {"s": 4.5, "c": 1.5, "rho": "0.25"},
}  # fmt: skip
# Other options of its truncation, so that few are tried.
SVT, RECURSIVE = {"s": 4, "c": 2, "r": "3/4"}, {"theta": 3}
BESIDE: dict[str, Mapping[str, Any]] = {
    **dict.fromkeys(("s", "c", "r", "rho"), SVT),
    **dict.fromkeys(("theta", "mu", "beta_rate"), RECURSIVE),
    "strategy": {"truncation": "none"},
}


@pytest.mark.parametrize("mechanism", CHANGES)
def test_each_option_reaches_the_mechanism_the_key_and_the_report(mechanism: str) -> None:
    quick = QUICK if "rounds" in OPTIONS[mechanism] else {}
    base = {"truncation": "none"} if mechanism in RANGE_SUMS else quick
    (plain,) = planned(mechanism, queries_for(mechanism), **base).batches
    keys = {plain.batch.cache_key}
    for name, value in CHANGES[mechanism].items():
        options = {**quick, **BESIDE.get(name, {}), name: value}
        (one,) = planned(mechanism, queries_for(mechanism), **options).batches
        facts = one.facts(replayed=False)
        keys.add(one.batch.cache_key)
        assert one.batch.plan.id == facts.mechanism == mechanism
        if name == "delta":
            assert facts.delta == one.batch.composition_cost.delta == Fraction(str(value))
            continue
        shown = {option.name: option.value for option in facts.options}
        expected = (
            value if name in {"truncation", "strategy", "radius"} else float(Fraction(str(value)))
        )
        assert shown[name] == expected
    assert len(keys) == 1 + len(CHANGES[mechanism])


def test_what_is_stated_takes_the_place_of_public_data_and_no_more() -> None:
    """Truncations without a stated option are no longer candidates."""
    (one,) = planned("ranges", RANGES, rho="0.3", c=2).batches
    options = dict(one.batch.plan.options)
    assert options["truncation"] != "none"
    assert options["rho"] == Fraction(3, 10)
    (best,) = planned("ranges", RANGES).batches
    strategy = str(dict(best.batch.plan.options)["strategy"])
    alone = (strategy, {}) if strategy in RANGE_SUMS else ("ranges", {"strategy": strategy})
    (named,) = planned(alone[0], RANGES, **alone[1]).batches
    assert named.batch.cache_key == best.batch.cache_key


@pytest.mark.parametrize(
    ("mechanism", "options", "words"),
    [
        ("auto", {"rounds": 5}, "but the mechanism is 'auto'.* that has options: numerical, "),
        ("workload", {"b": 5}, "the mechanism is 'workload', which has none"),
        ("dyadic", {"rounds": 5}, "dyadic has no option 'rounds'; use b, delta"),
        ("numerical", {"truncation": "svt"}, "has no option 'truncation'; use rounds, replays"),
        ("tamm", {"strategy": "identity"}, "the mechanism is the strategy"),
        ("ranges", {"strategy": "tamm"}, "strategy of ranges is 'tamm'; use identity or workload"),
        ("normalization", {"radius": "private"}, "is global_truncation"),
        ("numerical", {"rounds": 0}, "whole number from 1 to 1,000"),
        ("numerical", {"rounds": 2.5}, "whole number from 1 to 1,000"),
        ("numerical", {"delta": 0}, "strictly between 0 and 1"),
        ("numerical", {"delta": 1}, "strictly between 0 and 1"),
        ("numerical", {"delta": "1e-301"}, "1e-300"),
        ("numerical", {"size_share": "0." + "9" * 40}, "as a double"),
        ("numerical", {"b": "wide"}, "b of numerical is 'wide'; a finite number is needed"),
        ("numerical", {"radius": "secret"}, "use public or private"),
        ("numerical", {"radius_share": 0.2}, "the radius is public; state radius=private too"),
        ("tamm", {"c": 1}, "c of tamm is 1; it must be greater than 1"),
        ("tamm", {"mu": -1}, "must lie between 0 and 100"),
        ("tamm", {"beta_rate": 0}, "must lie between 1/1000 and 100"),
        ("numerical", {"rounds": 1000}, "11,000,000 updates of the weights; at most 2,000,000"),
        ("tamm", {"truncation": "none", "rho": 0.5}, "rho, truncation of tamm do not go together"),
        ("tamm", {"truncation": "svt", "theta": 5}, "recursive has theta, mu, beta_rate, rho"),
        ("tamm", {"s": 5, "theta": 5}, "do not go together"),
    ],
)  # fmt: skip
def test_what_does_not_apply_is_refused(
    mechanism: str, options: Mapping[str, Any], words: str, tmp_path: Path
) -> None:
    ledger = tmp_path / "l.sqlite"
    with pytest.raises(ParameterError, match=words):
        released(SUMS, mechanism=mechanism, mechanism_options=options, ledger=ledger)
    assert not ledger.exists()


@pytest.mark.parametrize(
    ("mechanism", "queries", "options", "words"),
    [
        ("numerical", SUMS, {"b": 0.25}, "b is 0.25, but .* multiples of 0.5 up to 16"),
        ("numerical", SUMS, {"b": 17}, "up to 16"),
        ("numerical", [*SUMS, *COUNTS], {"b": 2}, "COUNT: b is 2, but .* multiples of 1 up to 1;"),
        ("numerical", SUMS, {"size_share": 0.6, "alpha_share": 0.4}, "add up to less than 1"),
        ("numerical", SUMS, {"size_share": "1e-10"}, "too coarse"),
        ("tamm", RANGES, {"s": 16}, "s is 16, and no value exceeds 16, so nothing would be"),
        ("tamm", RANGES, {"theta": 20}, "truncation=none, which spends nothing"),
        ("tamm", RANGES, {"theta": 0.25}, "theta is 0.25, but values here are multiples of 0.5"),
        ("tamm", RANGES, {"s": 1, "c": 1.0001}, "rungs .*; at most 1,000 are tried"),
        ("sqm", SUMS, {}, "the mechanism ranges is for SUM .* and so are sqm, timm and tamm"),
    ],
)  # fmt: skip
def test_what_does_not_fit_the_values_is_refused(
    mechanism: str, queries: list[str], options: Mapping[str, Any], words: str, tmp_path: Path
) -> None:
    ledger = tmp_path / "l.sqlite"
    with pytest.raises(ParameterError, match=words):
        released(queries, mechanism=mechanism, mechanism_options=options, ledger=ledger)
    assert not ledger.exists()


def test_named_range_sums_are_of_releases_alone() -> None:
    assert (*TOGETHER, "sqm", "timm", "tamm") == RELEASING
    assert set(OPTIONS) < set(RELEASING)
    with pytest.raises(ParameterError, match="sharing is 'tamm'"):
        pqd.audit(PRIVATE, COPY, COUNTS, tau="5%", total_epsilon=1, sharing="tamm")


def test_another_option_is_another_measurement(tmp_path: Path) -> None:
    """The same is replayed, and what was not drawn is not."""
    ledger = tmp_path / "l.sqlite"

    def replayed(queries: list[str] = SUMS, mechanism: str = "numerical", **options: Any) -> bool:
        stated = (QUICK if mechanism == "numerical" else {}) | options
        how: dict[str, Any] = {"mechanism": mechanism, "mechanism_options": stated}
        report = released(queries, ledger=ledger, **how)
        assert (report.cost.epsilon == 0) == report.batches[0].replayed
        return report.batches[0].replayed

    asked: list[dict[str, Any]] = [
        {},
        {},
        {"rounds": 2},
        {"rounds": 2},
        {"radius": "private"},
        {"delta": "1e-6"},
    ]
    assert [replayed(**options) for options in asked] == [False, True, False, True, False, False]
    assert replayed(delta="1/1000000")
    assert not replayed(delta="2e-6")
    assert not replayed(RANGES, "tamm", s=4)
    assert not replayed(RANGES, "tamm", s=5)
    assert replayed(RANGES, "tamm", s="4.0")


def test_a_delta_is_charged_shared_and_told(tmp_path: Path) -> None:
    ledger = tmp_path / "l.sqlite"
    options = {**QUICK, "delta": "3e-6"}
    how: dict[str, Any] = {"mechanism": "numerical", "mechanism_options": options, "ledger": ledger}
    report = released([*SUMS, *COUNTS], **how)
    assert [batch.delta for batch in report.batches] == [Fraction("1.2e-6"), Fraction("1.8e-6")]
    assert sum(batch.epsilon for batch in report.batches) == 1
    assert [report.cost.epsilon, report.cost.delta] == [1, Fraction("3e-6")]
    assert (report.total_delta, report.cost.total_delta) == (Fraction("3e-6"), Fraction("3e-6"))
    content = json.loads(report.to_json())
    assert (content["total_delta"], content["batches"][0]["delta"]) == (3e-6, 1.2e-6)
    text = " ".join(terminal_text(report).split())
    assert "epsilon 1 and delta 3e-06 spent" in text
    assert "2 queries at epsilon 0.4 and delta 1.2e-06 (numerical)" in text
    assert "but for a chance of 3e-06" in report.to_html()
    text = " ".join(terminal_text(report, extent=Extent.VERBOSE).split())
    assert "answered by numerical (rounds 1, replays 0, b 0.5, size_share 0.05" in text
    again = released([*SUMS, *COUNTS], **how)
    assert [again.cost.epsilon, again.cost.delta] == [0, 0]
    assert again.total_delta == Fraction("3e-6")
    with pytest.raises(BudgetError, match=r"needs delta 3e-06; of 5e-06 .* 3e-06 are spent"):
        limited(ledger, Fraction(5, 10**6), rounds=2)


def limited(path: Path, delta: Fraction, **options: Any) -> ReleaseReport:
    parameters = Parameters.parse(
        tau=1, epsilon=1, alpha=0.05, mechanism="numerical", columns=COLUMNS
    )
    accountant = Accountant(path, Budget(None, delta), row_is_person=True)
    stated = read_mechanism_options("numerical", {**QUICK, "delta": "3e-6"} | options)
    queries = as_queries([*SUMS, *COUNTS])
    noise = SimulatedNoise(1)
    return run_release(
        PRIVATE, COPY, queries, parameters, noise, accountant=accountant, options=stated
    )


def test_a_large_delta_is_warned_of_before_anything_is_spent(tmp_path: Path) -> None:
    options = {**QUICK, "delta": 0.01}
    how: dict[str, Any] = {"mechanism": "normalization", "mechanism_options": options}
    report = released(COUNTS, ledger=tmp_path / "l.sqlite", **how)
    assert any("probability that privacy fails altogether" in str(note) for note in report.notes)


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    for name, table in (("private", PRIVATE), ("copy", COPY)):
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    (tmp_path / "q.sql").write_text(";\n".join(SUMS))
    path = tmp_path / "audit.toml"
    path.write_text(
        """
[private]
path = "private.csv"
[synthetic.tree]
path = "copy.csv"
[privacy]
row_is_person = true
[columns.pay]
bounds = [0, 16]
step = 0.5
[release]
total_epsilon = 1
queries = "q.sql"
mechanism = "numerical"
isotonic = true
mechanism_options = { rounds = 1, replays = 0, delta = 1e-6, radius = "private" }
"""
    )
    return path


@pytest.mark.thorough
def test_a_spec_and_the_command_state_them(
    spec: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PQD_LEDGER", raising=False)
    code, out, err = command("release", str(spec))
    assert (code, out) == (4, "")
    assert "needs delta 1e-06; of 0 for this data set" in err
    spec.write_text(spec.read_text() + "[budget]\ndelta = 1e-6\n")
    code, out, err = command("release", str(spec))
    assert (code, err) == (0, "")
    assert "epsilon 1 and delta 1e-06 spent" in " ".join(out.split())
    folder = spec.parent
    stated = ("rounds=1", "replays=0", "delta=1e-6", "radius=private")
    tables = (str(folder / "private.csv"), str(folder / "copy.csv"))
    terms = ("--bounds", "pay=0:16:0.5", "--mechanism", "numerical", "--total-epsilon", "1")
    asked = ["release", *tables, "--queries", str(folder / "q.sql"), *terms, "--isotonic"]
    asked += ["--row-is-person"]
    options = [part for each in stated for part in ("--mechanism-option", each)]
    code, out, err = command(*asked, *options)
    assert (code, err) == (0, "")
    assert "nothing spent: all replayed" in " ".join(out.split())
    # What was not asked with these options is not explained either.
    code, out, err = command(*asked, *options, "--explain", "q1")
    assert code == 0
    assert "with the answers to nested queries" in " ".join(out.split())
    code, out, err = command(*asked, *options[2:], "--explain", "q1")
    assert (code, out) == (3, "") or "has no such verdict" in err
    code, out, err = command(*asked, "--mechanism-option", "rounds")
    assert code == 2
    assert "write it as rounds=20" in err
    spec.write_text(spec.read_text().replace('"numerical"', '"numeric"'))
    code, out, err = command("release", str(spec))
    assert code == 2
    assert "did you mean" in err
    assert "options" not in err
    spec.write_text(spec.read_text().replace('"numeric"', '"numerical"'))
    spec.write_text(spec.read_text().replace("rounds = 1", "rounds = 0"))
    code, out, err = command("release", str(spec))
    assert code == 2
    assert "line 16: [release]: rounds of numerical is 0" in " ".join(err.split())


def test_replaying_another_option_finds_nothing(tmp_path: Path) -> None:
    ledger = tmp_path / "l.sqlite"
    released(SUMS, mechanism="numerical", mechanism_options=QUICK, ledger=ledger)
    parameters = Parameters.parse(
        tau=1, epsilon=1, alpha=0.05, mechanism="numerical", columns=COLUMNS
    )
    stated = read_mechanism_options("numerical", {"rounds": 2, "replays": 0})
    accountant = Accountant(ledger, replaying=True, row_is_person=True)
    with pytest.raises(UnknownAnswerError, match="Nothing was spent"):
        run_release(
            PRIVATE,
            COPY,
            as_queries(SUMS),
            parameters,
            SimulatedNoise(1),
            accountant=accountant,
            options=stated,
        )
