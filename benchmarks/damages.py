"""Damaged copies, and which of them `pqd` fails: `profile`, `init` + `check`, the gate, `lint`.

    python -m benchmarks.damages run DATA --out results.jsonl [--tables adult bank] [--keep PAIRS]
    python -m benchmarks.damages show results.jsonl [--sdmetrics sdmetrics.json] [--csv FOLDER]

``DATA`` is a folder of real tables (`adult_private.parquet` and so on).  Each tool runs as a user
would run it, with epsilon 1 for each, on the good copy and on each damaged one.  A damage counts as
failed *by name* if the tool fails with a line that it does not have for the good copy, and that
names a damaged column.  A copy of a tenth of the rows is small, not wrong, and should pass.
`--keep` leaves the tables in a folder, for `benchmarks/damages_sdmetrics.py`.  Noise is drawn from
the operating system: two runs differ.
"""

import argparse
import contextlib
import json
import re
import sys
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from benchmarks.damaged_tables import (
    LARGEST_HALF,
    SEED,
    TABLES,
    Damage,
    damages,
    halves,
    roles_of,
    table_of,
)
from benchmarks.result_tables import ResultTable, add_csv_option
from benchmarks.subtle_damages import subtle_damages
from pqd.cli import main as main_of_pqd

GOOD = "none: the good copy"
UNDECIDED = " (undecided)"
# Per cent of the rows that must repeat for a finding: real tables have rows that repeat, too.
MOST_REPEAT = 50
GENERATED, SUBTLE = "generated", "subtle"
Failures = dict[str, list[str]]


def pqd(folder: Path, *arguments: str) -> tuple[int, str]:
    """Exit code and output of one command in a folder; it runs in this process, to save time."""
    text = StringIO()
    sys.argv = ["pqd", *arguments]
    with contextlib.chdir(folder), redirect_stdout(text), redirect_stderr(text):
        try:
            main_of_pqd()
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
            return code, text.getvalue()
    return 0, text.getvalue()


def report_of(folder: Path, *arguments: str) -> tuple[dict[str, Any] | None, str]:
    """JSON report of a command, or None where it was refused, and what it printed."""
    place = folder / "report.json"
    place.unlink(missing_ok=True)
    _, text = pqd(folder, *arguments, "--json", place.name)
    return (json.loads(place.read_text()) if place.exists() else None), text


def refusal(text: str) -> str:
    """The beginning of the last line that a refused command printed."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return f"refused: {lines[-1][:60] if lines else ''}"


def profile_failures(folder: Path, private: str, copy: str, rows: int) -> list[str]:
    """Lines of `pqd profile` that say no, or that a column is not judged."""
    options = ("--private-rows", str(rows), "--ledger", "profile.sqlite")
    report, text = report_of(folder, "profile", private, copy, *options)
    if report is None:
        return [refusal(text)]
    apart = [each for each in report["left_out"] if each["standing"] != "set aside"]
    found = [f"{' with '.join(each['columns'])}: {each['standing']}" for each in apart]
    relations = report["relations"] or {}
    if relations.get("standing") == "beyond":
        found.append("relations")
    wrong = [each for each in report["values"] if each["standing"] == "beyond"]
    found += [f"values of {each['column']}" for each in wrong]
    ranked = sorted(report["marginals"], key=lambda each: -each["estimate"]["value"])
    return found + [" with ".join(each["columns"]) for each in ranked if each["outcome"] == "no"]


def check_failures(folder: Path, private: str, copy: str, rows: int) -> list[str]:
    """Names of the checks that fail in the spec that `pqd init` writes of this copy."""
    options = ("--private-rows", str(rows), "--file", "audit.toml")
    code, text = pqd(folder, "init", private, copy, *options)
    if code:
        return [refusal(text)]
    report, text = report_of(folder, "check", "audit.toml", "--ledger", "check.sqlite")
    if report is None:
        return [refusal(text)]
    return gate_failures(report)


def gate_failures(report: Mapping[str, Any]) -> list[str]:
    """What a gate names where it does not pass, or what fails in public without a test."""
    gate = report["gate"]
    if gate and gate["outcome"] == "holds":
        return []
    worst = gate["worst"] if gate else None
    if worst is None:
        failed = [each for each in report["checks"] if each["gate"] in {"fail", "error"}]
        return [f"{each['id']}: {each['message'].partition(':')[0]}" for each in failed]
    sure = not worst["holds"] and worst["p_value"] <= gate["alpha"]
    return [worst["name"] + ("" if sure else UNDECIDED)]


def whole_gate_failures(folder: Path, private: str, copy: str, rows: int) -> list[str]:
    """What `pqd profile --gate 0.5 --names 0.5` names."""
    options = ("--gate", "0.5", "--names", "0.5", "--private-rows", str(rows))
    ledger = ("--ledger", "gate.sqlite")
    report, text = report_of(folder, "profile", private, copy, *options, *ledger)
    return [refusal(text)] if report is None else gate_failures(report)


def lint_failures(folder: Path, private: str, copy: str, rows: int) -> list[str]:  # noqa: ARG001
    """Findings of `pqd lint`, which reads the copy alone; repeated rows if they are the most."""
    report, text = report_of(folder, "lint", copy)
    if report is None:
        return [refusal(text)]
    found = []
    for each in report["findings"]:
        share = re.search(r"\(([\d.]+) %\)", each["note"])
        if each["code"] != "rows-repeat" or (share and float(share[1]) >= MOST_REPEAT):
            columns = f": {', '.join(each['columns'])}" if each["columns"] else ""
            found.append(each["code"] + columns)
    return found


TOOLS = {
    "profile": profile_failures,
    "profile --gate": whole_gate_failures,
    "init + check": check_failures,
    "lint": lint_failures,
}


def failures(
    folder: Path, private: str, copy: str, rows: int, tools: Collection[str] = tuple(TOOLS)
) -> Failures:
    """Failures of one copy, by the tool; ``rows`` is the stated number of private rows."""
    found = {}
    for tool in tools:
        for left in (*folder.glob("*.sqlite*"), *folder.glob("*.toml")):
            left.unlink()
        found[tool] = TOOLS[tool](folder, private, copy, rows)
    return found


def write(table: pd.DataFrame, place: Path) -> str:
    """Name of the written file."""
    if place.suffix == ".csv":
        table.to_csv(place, index=False)
    else:
        table.to_parquet(place, index=False)
    return place.name


def planted(name: str, data: Path) -> tuple[pd.DataFrame, Sequence[Damage]]:
    """Private half of a table, and the good copy followed by the damaged ones.

    The table "subtle" is the generated one with the damages that the twelve do not name.
    """
    table = table_of(GENERATED if name == SUBTLE else name, data)
    rows = min(LARGEST_HALF, len(table) // 2)
    private, copy = halves(table, rows, rows, np.random.default_rng(SEED))
    damaged = subtle_damages(copy, private) if name == SUBTLE else damages(copy, roles_of(name))
    return private, [Damage(GOOD, frozenset(), copy), *damaged]


def results(name: str, options: argparse.Namespace) -> Iterator[Any]:
    """One result per copy of a table: its failures by tool."""
    keep, only = options.keep, options.damages
    suffix = ".csv" if name in {GENERATED, SUBTLE} else ".parquet"
    private, copies = planted(name, options.data)
    with tempfile.TemporaryDirectory() as temporary:
        folder = keep / name if keep else Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        write(private, folder / f"private{suffix}")
        for place, damage in enumerate(copies):
            if only and damage.name not in only:
                continue
            copy = write(damage.copy, folder / f"copy{place:02d}{suffix}")
            yield {
                "table": name,
                "damage": damage.name,
                "names": sorted(damage.names),
                "copy": copy,
                "failures": failures(folder, f"private{suffix}", copy, len(private), options.tools),
            }


def run(options: argparse.Namespace) -> None:
    """Append one line of JSON per copy to a file."""
    for name in options.tables:
        for result in results(name, options):
            with options.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(result) + "\n")
            print(
                name,
                result["damage"],
                {tool: found[:3] for tool, found in result["failures"].items()},
                flush=True,
            )


def named(failure: str, names: Collection[str]) -> bool:
    """Whether a failure has one of these names: a column, or a property of the whole table.

    Checks write small letters, and a hyphen where a column has an underscore.
    """
    text = failure.replace("_", "-").lower()
    words = (re.escape(name.replace("_", "-").lower()) for name in names)
    return any(re.search(rf"(?<!\w){word}(?!\w)", text) for word in words)


class Result(NamedTuple):
    """What one tool says of one damage.

    ``outcome`` is "by name" where ``line`` names what is damaged, and ``more`` counts such lines
    after the first.  It is "unnamed" where the tool fails with another line, or undecided, and
    "missed" where it does not fail.  A copy that is not damaged "passes", or it "fails".
    """

    outcome: str
    line: str = ""
    more: int = 0


def result(found: Sequence[str], good: Sequence[str], names: Sequence[str]) -> Result:
    """Result of a tool on a copy whose damage has these names; none for an honest copy."""
    spoiled = {each for each in good if " with " not in each and UNDECIDED not in each}
    fresh = [each for each in found if each not in good and not named(each, spoiled)]
    by_name = [each for each in fresh if named(each, names) and UNDECIDED not in each]
    if by_name:
        return Result("by name", by_name[0], len(by_name) - 1)
    if fresh:
        return Result("unnamed" if names else "fails", fresh[0], len(fresh) - 1)
    return Result("missed" if names else "passes")


def show(options: argparse.Namespace) -> None:
    """Print a row for each table, damage and tool."""
    lines = [json.loads(line) for line in options.results.read_text().splitlines()]
    others = json.loads(options.sdmetrics.read_text()) if options.sdmetrics else {}
    with ResultTable("damages", options.csv, keys=["table"]) as results:
        for name in dict.fromkeys(line["table"] for line in lines):
            add_table(results, [line for line in lines if line["table"] == name], others)


def add_table(
    results: ResultTable,
    lines: Sequence[dict[str, Any]],
    others: Mapping[str, Mapping[str, Sequence[str]]],
) -> None:
    """Add the rows of one table; ``others`` has what SDMetrics flags, by table and copy."""
    chosen: dict[str, dict[str, Any]] = {}
    for line in lines:
        # Tools may have run one after another; the last result of each counts.
        known = chosen.setdefault(line["damage"], {**line, "failures": {}})
        known["failures"] |= line["failures"]
    for line in chosen.values():
        flags = others.get(line["table"], {}).get(line["copy"])
        if flags is not None:
            line["failures"]["SDMetrics"] = [each.rpartition(": ")[2] for each in flags]
    good = chosen[GOOD]["failures"]
    for damage, line in sorted(chosen.items(), key=lambda each: each[1]["copy"]):
        for tool in (*TOOLS, "SDMetrics"):
            if tool in line["failures"]:
                known = [] if damage == GOOD else good.get(tool, [])
                found = result(line["failures"][tool], known, line["names"])
                results.add(table=line["table"], damage=damage, tool=tool, **found._asdict())


def main() -> None:
    """Run the tools, or print what they say."""
    parser = argparse.ArgumentParser(description=__doc__)
    actions = parser.add_subparsers(required=True)
    running = actions.add_parser("run")
    running.add_argument("data", type=Path)
    running.add_argument("--out", type=Path, required=True)
    running.add_argument("--tables", nargs="+", choices=(*TABLES, SUBTLE), default=TABLES)
    running.add_argument("--damages", nargs="+", default=())
    running.add_argument("--tools", nargs="+", choices=tuple(TOOLS), default=tuple(TOOLS))
    running.add_argument("--keep", type=Path)
    running.set_defaults(action=run)
    showing = actions.add_parser("show")
    showing.add_argument("results", type=Path)
    showing.add_argument("--sdmetrics", type=Path)
    add_csv_option(showing)
    showing.set_defaults(action=show)
    options = parser.parse_args()
    options.action(options)


if __name__ == "__main__":
    main()
