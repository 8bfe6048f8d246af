"""Tables of reports as CSV and LaTeX: whole, inert, with the figures of the report."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from typing import Any

import pytest

from pqd.reports.writers.latex import tex
from tests.reports.test_notebook import ALL
from tests.support import (
    audit_reports,
    check_reports,
    compare_reports,
    ledger_reports,
    lint_reports,
    profile_reports,
    ranking_reports,
    release_reports,
)

QUOTING: tuple[Callable[[str], Any], ...] = (
    audit_reports.quoting_audit, audit_reports.quoting_plan, check_reports.quoting,
    compare_reports.quoting, release_reports.quoting, profile_reports.quoting,
    ranking_reports.quoting,
)  # fmt: skip
SIMULATED = (
    audit_reports.SIMULATED, check_reports.SIMULATED, compare_reports.SIMULATED,
    release_reports.SIMULATED, profile_reports.SIMULATED, ranking_reports.SIMULATED,
)  # fmt: skip


def rows(report: Any) -> list[dict[str, str]]:
    """Rows of the CSV of a report."""
    return list(csv.DictReader(io.StringIO(report.to_csv()), strict=True))


def lines(report: Any) -> list[list[str]]:
    """Cells of the lines of all LaTeX tables of a report, heads included."""
    text = report.to_latex()
    bodies = re.findall(r"\\toprule\n(.*?)\\bottomrule", text, re.DOTALL)
    every = [line for body in bodies for line in body.splitlines() if line.endswith(r"\\")]
    return [re.split(r"(?<!\\)&", line.removesuffix(r"\\").strip()) for line in every]


@pytest.mark.parametrize("number", range(len(ALL)))
def test_every_report_has_whole_tables(number: int) -> None:
    report = ALL[number]
    found = rows(report)
    assert all(None not in row and None not in row.values() for row in found)
    assert len(lines(report)) == len(found) + report.to_latex().count(r"\midrule")
    text = report.to_latex()
    assert text.startswith(r"% Tables of pqd ")
    bare = re.sub(r"\\[{}]", "", text)
    assert bare.count("{") == bare.count("}")
    for table in text.split(r"\begin{table}")[1:]:
        (sides,) = re.findall(r"\\begin\{tabular\}\{([lr]+)\}", table)
        body = table.partition(r"\toprule")[2].partition(r"\bottomrule")[0]
        for line in re.findall(r"    (.*) \\\\\n", body):
            assert len(re.findall(r"(?<!\\)&", line)) == len(sides) - 1


def test_figures_are_those_of_the_report() -> None:
    report = audit_reports.AUDIT
    found = rows(report)
    assert {row["query"] for row in found} == {verdict.id for verdict in report.verdicts}
    assert {"3871", "1000", "1,000,000,000 M"} <= {row["copy"] for row in found}
    by_id = {row["query"]: row for row in found}
    for verdict in report.verdicts:
        assert by_id[verdict.id]["verdict"] == verdict.standing.badge.text


@pytest.mark.parametrize("quoting", QUOTING)
@pytest.mark.parametrize(
    "text", ["=1+cmd|' /C calc'!A0", "+cmd", "-cmd", "@SUM(1)", "\t=1", '=HYPERLINK("x")', "-1-=x"]
)
def test_no_name_is_a_formula(quoting: Callable[[str], Any], text: str) -> None:
    report = quoting(text)
    cells = [cell for row in rows(report) for cell in row.values()]
    cells += [name for row in rows(report)[:1] for name in row]
    for cell in cells:
        assert not cell.startswith(("=", "@", "\t", "\r"))
        assert not (cell[:1] in {"+", "-"} and re.search(r"[^-+\d\s.,%±\u2013()]", cell))


@pytest.mark.parametrize("quoting", QUOTING)
def test_names_of_any_text_change_no_table(quoting: Callable[[str], Any]) -> None:
    for text in (r"\input{/etc/passwd}", "a & b", "%", r"x \\ y", "{", '"a",\n"b"', "$_^~#"):
        hostile, plain = quoting(text), quoting("x")
        assert len(rows(hostile)) == len(rows(plain))
        assert [len(line) for line in lines(hostile)] == [len(line) for line in lines(plain)]
        assert r"\input" not in hostile.to_latex()


@pytest.mark.parametrize("report", SIMULATED)
def test_a_simulation_is_marked_in_every_row_and_caption(report: Any) -> None:
    assert rows(report)
    assert {row["seeded noise"] for row in rows(report)} == {"SIMULATED"}
    text = report.to_latex()
    assert text.count("SIMULATED: the noise of this report has a seed") == text.count(r"\caption")
    assert "seeded noise" not in audit_reports.AUDIT.to_csv()


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("50 % of a_b & c$ {", r"50 \% of a\_b \& c\$ \{"),
        (r"\d} #1 ~ ^", r"\textbackslash{}d\} \#1 \textasciitilde{} \textasciicircum{}"),
        ("a--b ,, '' ", "a-{}-b ,{}, '{}' "),
        ("-35 ±5, 1\u20132", r"$-$35 $\pm$5, 1\textendash{}2"),
        ("*x", "{*}x"),
        ("[x]", "{[}x]"),
        ("<a|b>", r"\textless{}a\textbar{}b\textgreater{}"),
        ("a\nb\u202e", r"a\textbackslash{}nb\textbackslash{}u202e"),
    ],
)  # fmt: skip
def test_text_is_printed_as_it_is(text: str, written: str) -> None:
    assert tex(text) == written


def test_a_candidate_called_like_a_column_keeps_its_own() -> None:
    report = compare_reports.quoting("query")
    titles = next(csv.reader(io.StringIO(report.to_csv())))
    assert len(set(titles)) == len(titles)


@pytest.mark.parametrize(
    "report", [lint_reports.LINT, ledger_reports.LEDGER, ledger_reports.STATEMENT]
)
def test_lints_and_statements_have_tables_too(report: Any) -> None:
    assert report.to_csv().startswith("table")
    assert report.to_latex().startswith("% Tables of pqd ")
