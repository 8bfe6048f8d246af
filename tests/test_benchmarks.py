"""What benchmarks are made of: queries, runs in turn, tables of ratios; nothing is timed here."""

import json
import re
import shutil
import sys
import time
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmarks import audit_time, mutants, processes, risk_splits, source_time, sourced_audit
from benchmarks.audit_time import (
    AGAIN,
    BOUND,
    CATEGORIES,
    FIRST,
    FORMATS,
    PLAIN,
    QUALITY,
    STAMPED,
    Setting,
)
from benchmarks.mixed_queries import prefixes, queries, ranges, values_of, workload
from benchmarks.processes import Program, Usage, imports, in_turn, measured, table_text
from pqd.attacks.parameters import RiskParameters
from pqd.commands.risk import run_risk
from pqd.deciders import SimulatedNoise
from pqd.sql.schema import Kind
from pqd.sql.workload_files import read_queries

COPY = Path(__file__).parents[1] / "samples" / "census_synthetic.parquet"
KNOWN = {"sex": ["Male", "Female"], "citizen": ["Born abroad, ''naturalized''"]}


def test_mixed_queries_are_the_same_in_every_run_and_few_are_the_first_of_many() -> None:
    many = list(islice(queries(KNOWN), 300))
    assert len(set(many)) == 300
    assert list(islice(queries(KNOWN), 30)) == many[:30]
    for operand in ("COUNT(*)", "SUM(inctot)", "AVG(", "MEDIAN(", "QUANTILE(inctot, 0.9)"):
        assert any(operand in sql for sql in many)


def test_mixed_queries_are_answered(tmp_path: Path) -> None:
    path = tmp_path / "mixed.sql"
    path.write_text(workload(values_of(str(COPY)), 100), encoding="utf-8")
    known = pd.read_parquet(COPY)
    schema = {
        name: Kind.NUMBER if known[name].dtype.kind == "i" else Kind.TEXT for name in known.columns
    }
    read = read_queries(path)
    assert [query.id for query in read] == [f"q{number}" for number in range(1, 101)]
    assert all(query.resolve(schema) for query in read)
    for text in (ranges(30), prefixes(30)):
        path.write_text(text, encoding="utf-8")
        assert len({query.resolve(schema).predicate for query in read_queries(path)}) == 30


def test_a_process_is_measured_and_a_failure_is_shown() -> None:
    usage = measured((sys.executable, "-c", "b = bytearray(80_000_000)"))
    assert min(usage) > 0
    assert usage.peak_mb > 80
    with pytest.raises(SystemExit, match="this went wrong"):
        measured((sys.executable, "-c", "raise ValueError('this went wrong')"))
    assert imports(sys.executable, "json", "sys")
    assert not imports(sys.executable, "json", "no_such_module")


def test_programs_take_turns_and_the_fastest_run_counts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    seconds = iter([5.0, 9.0, 7.0, 4.0, 8.0, 6.0, 3.0])
    ran, fresh = [], tmp_path / "ledger"

    def stub(command: tuple[str, ...]) -> Usage:
        ran.append((*command, list(fresh.iterdir())))
        (fresh / "ledger.sqlite").touch()
        return Usage(next(seconds), 1, 1)

    monkeypatch.setattr(processes, "measured", stub)
    several = [Program("a", ("a",), fresh), Program("b", ("b",)), Program("c", ("c",), once=True)]
    best = in_turn(several, 3)
    held = [fresh / "ledger.sqlite"]
    assert ran == [("a", []), ("b", held), ("c", held), *[("a", []), ("b", held)] * 2]
    assert {name: usage.seconds for name, usage in best.items()} == {"a": 4, "b": 3, "c": 7}


def test_ratios_are_to_what_was_measured() -> None:
    best = {"bound": Usage(2, 3, 100), "pqd": Usage(5, 6, 250)}
    assert table_text("csv", best, ["bound", "absent"], ["bound"]).splitlines() == [
        "| csv | seconds | / bound | CPU s | peak MB | MB / bound |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
        "| bound | 2.00 | 1.00 | 3.00 | 100 | 1.00 |",
        "| pqd | 5.00 | 2.50 | 6.00 | 250 | 2.50 |",
    ]


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """Commands of a benchmark, which are noted in place of being run; an audit answers 7."""
    noted: list[tuple[str, ...]] = []

    def stub(command: tuple[str, ...]) -> Usage:
        noted.append(command)
        if "--json" in command:
            report = {"verdicts": [{"id": "q1", "q_synthetic": 7}]}
            Path(command[command.index("--json") + 1]).write_text(json.dumps(report), "utf-8")
        if STAMPED in command:
            Path(command[command.index(STAMPED) + 1]).write_text(str(time.monotonic()), "utf-8")
        return Usage(1, 1, 1)

    for module in (processes, audit_time):
        monkeypatch.setattr(module, "measured", stub)
    return noted


def test_one_run_gives_every_table(
    commands: list[tuple[str, ...]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(audit_time, "imports", lambda *_: True)
    audit_time.main(["--rows", "50", "--repeat", "1", "--queries", "30", "--scales", "1", "3"])
    shown = capsys.readouterr().out
    for name in (BOUND, FIRST, AGAIN, PLAIN, CATEGORIES, QUALITY):
        assert shown.count(f"\n| {name} |") == len(FORMATS)
    shared = ("300 counts on two columns, one budget", "1,000 prefix sums, one budget")
    others = ("30 queries", "pqd plan, 3,000 queries", "make demo", "pqd --help", "rows x 3")
    for name in (*shared, *others):
        assert shown.count(f"\n| {name} |") == 1
    assert "agree on the 1 synthetic answers" in shown
    # The repeated run has the ledger of the first, and each first run one of its own.
    ledgers = [c[c.index("--ledger") + 1] for c in commands if "--ledger" in c]
    assert [ledgers.count(each) for each in dict.fromkeys(ledgers)] == [2, 2, 1, 1, 1, 1, 1, 1, 1]
    assert re.search(r"\n30 queries: [0-9.]+ s once both tables are read\n", shown)


def test_time_after_reading_is_a_part_of_the_whole(tmp_path: Path) -> None:
    for kind in ("private", "synthetic"):
        name = f"census_{kind}.parquet"
        shutil.copy(COPY.with_name(name), tmp_path / name)
    begin = time.monotonic()
    part = audit_time.after_reading(Setting(tmp_path, sys.executable), "parquet", 30, 1)
    assert 0 < part < time.monotonic() - begin
    ledger = tmp_path / "ledger of 30 queries, after reading" / "ledger.sqlite"
    assert ledger.exists()


def test_programs_that_are_missing_are_left_out_with_a_line(
    commands: list[tuple[str, ...]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(audit_time, "imports", lambda *_: False)
    audit_time.main(["--rows", "50", "--repeat", "1", "--queries", "--scales"])
    shown = capsys.readouterr().out
    assert f"Left out: {BOUND} (polars is not installed" in shown
    assert f"Left out: {QUALITY} (sdmetrics is not installed" in shown
    assert f"| {BOUND} |" not in shown
    assert not [command for command in commands if "sdmetrics_report.py" in " ".join(command)]


def test_another_answer_is_an_error(tmp_path: Path) -> None:
    setting = Setting(tmp_path, sys.executable)
    answers: dict[str, Any] = {"verdicts": [{"id": "q1", "q_synthetic": 7}]}
    for extension in FORMATS:
        for name in (FIRST, AGAIN, PLAIN, CATEGORIES):
            setting.answers(name, extension).write_text(json.dumps(answers), encoding="utf-8")
    assert audit_time.agreed(setting) == 1
    answers["verdicts"][0]["q_synthetic"] = 8
    setting.answers(PLAIN, "parquet").write_text(json.dumps(answers), encoding="utf-8")
    with pytest.raises(SystemExit, match=r"pandas script \(parquet\) differs on q1"):
        audit_time.agreed(setting)


@pytest.mark.parametrize("stated", [["--rows", "0"], ["--queries", "-1"], ["--scales", "0"]])
def test_numbers_are_positive(stated: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        audit_time.arguments(stated)
    assert "must be positive" in capsys.readouterr().err


def test_histograms_are_the_same_wherever_the_table_lies(tmp_path: Path) -> None:
    private = COPY.with_name("census_private.parquet")
    sourced_audit.store(str(tmp_path), str(private), "")
    asked = (source_time.CENSUS, str(COPY))
    one = sourced_audit.digest(asked[0], str(private), asked[1])
    assert sourced_audit.digest(asked[0], str(COPY), str(private)) != one
    for name in ("CSV, 8 parts", "DuckDB file", "polars LazyFrame"):
        place = f"{tmp_path}/{source_time.PLACES[name]}"
        assert sourced_audit.digest(asked[0], place, asked[1]) == one


def test_sources_are_timed_where_they_count_the_same(
    commands: list[tuple[str, ...]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The odd one is the last."""
    odd: list[str] = []
    monkeypatch.setattr(source_time, "measured", commands.append)
    monkeypatch.setattr("benchmarks.source_time.subprocess.check_output", lambda c: c[-2] in odd)
    monkeypatch.chdir(source_time.ROOT)
    monkeypatch.setenv("PQD_LEDGER", "put back")
    stated = ["--repeat", "1", "--postgres", "postgresql://h/d", "--spark", "1", "2"]
    source_time.main(stated)
    shown = capsys.readouterr().out
    for name in (*source_time.PLACES, "PostgreSQL", "Spark, local[1]", "Spark, local[2]"):
        assert shown.count(f"\n| {name} |") == 1
    assert "The histograms of 14 sources are the same." in shown
    assert commands[0][-1] == "postgresql://h/d"
    local = [part for command in commands for part in command if "--master" in part]
    assert [part.partition(" --driver")[0][-8:] for part in local] == ["local[1]", "local[2]"]
    odd.append("postgresql://h/d?table=public.pqd_benchmark")
    with pytest.raises(SystemExit, match="differ from those of Parquet: PostgreSQL"):
        source_time.main(stated)


# Changes of meaning -------------------------------------------------------------------------------

MODULE = """\
@cache(64)
def least(rows: Sized[3], low):
    return min(low + 1, *(row for row in rows if row)) if low < 5 and rows else 0
"""


def test_each_change_of_meaning_is_made_alone(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(MODULE, encoding="utf-8")
    made = list(mutants.mutants(path))
    assert sorted(each.change for each in made) == sorted(
        [
            *("Lt -> LtE", "And -> Or", "condition 1 dropped", "condition 2 dropped"),
            *("min -> max", "Add -> Sub", "filter dropped", "1 -> 2", "5 -> 6", "0 -> 1"),
        ]
    )
    texts = {each.text for each in made}
    assert len(texts) == len(made)
    assert "return min(low - 1, *(row for row in rows if row)) if low < 5 and rows else 0" in next(
        each.text for each in made if each.change == "Add -> Sub"
    )
    assert {each.line for each in made} == {3}


def test_a_change_is_tried_on_the_tests_of_its_module() -> None:
    assert mutants.tests_of(Path("pqd/accounting/ledger.py")) == [
        "tests/pqd/accounting/test_ledger.py"
    ]
    assert mutants.tests_of(Path("deciders/single/sum.py")) == ["tests/deciders/single"]


def test_splits_of_copied_rows_alone_count_with_those_of_all_attacks() -> None:
    key = {"kind": "planted", "table": "t", "columns": "all", "changes": 0, "share": 0.1}
    every = {"names": ["copied", "near"], "private": [900, 90, 9, 9], "held_out": [900, 0, 9, 9]}
    alone = {"names": ["copied"], "private": [900, 90], "held_out": [900, 0]}
    lines = [{**key, "seed": 0, **every}, {**key, "seed": 1, **alone}]
    low, high = risk_splits.planted_rows(lines)
    assert (high["epsilon"], high["splits"], high["splits_alone"]) == (1, 1, 2)
    assert high["found"] == high["alone"] == 1
    assert high["alone_error"] == 0
    assert (low["found"], low["alone"]) == (0.6, 1)
    assert str(high["found_error"]) == "nan"


def test_numbers_of_a_split_give_the_verdicts_of_its_report() -> None:
    """So what is said of many releases is said of reports."""
    rng = np.random.default_rng(3)
    data = pd.DataFrame({"age": rng.integers(20, 60, 240), "job": rng.choice([*"abc"], 240)})
    private, held_out, copy = risk_splits.split(data, (90, 80, 70), rng)
    mixed = risk_splits.planted(private, copy, 0.5, 0, rng)
    assert mixed.iloc[:45].equals(private.iloc[:45])
    counts, _ = risk_splits.counted(private, held_out, mixed)
    excesses = counts.released(2, SimulatedNoise(5))
    parameters = RiskParameters.parse(total_epsilon=2)
    report = run_risk(private, mixed, parameters, SimulatedNoise(5), held_out=held_out)
    found = {f"{each.id} {each.column}".strip(): each.held_out for each in report.attacks}
    assert len(found) == len(counts.names) == len(excesses)
    for name, excess in zip(counts.names, excesses, strict=True):
        own = found[name]
        assert own is not None
        assert own.excess.value == excess.value
        assert own.leak_p_value == excess.p_more(0.0)
