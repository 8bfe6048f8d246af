"""Golden renderings: a file per report and format, where the wording of reports is held.

``make golden`` writes them anew; what changed is read in the diff.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from pqd.deciders.options import for_shell
from pqd.reports.github import github_text
from pqd.reports.junit import junit_text
from pqd.reports.models.check import CheckReport
from pqd.reports.models.refusals import QueryRefusal
from pqd.reports.models.report import document_of
from pqd.reports.models.standings import VERDICTS
from pqd.reports.writers.terminal import TerminalReport, terminal_text
from pqd.reports.writers.terminal.layout import Extent
from tests.support import (
    audit_reports,
    check_reports,
    compare_reports,
    lint_reports,
    outcome_reports,
    profile_reports,
    ranking_reports,
    release_reports,
    risk_reports,
)
from tests.support.golden import matches_golden
from tests.support.ledger_reports import EMPTY, LEDGER, STATEMENT, STATEMENT_OF_NOTHING
from tests.support.pages import Page
from tests.support.words import words_text

if TYPE_CHECKING:
    from pqd.reports.models.report import Report

pytestmark = pytest.mark.golden
GOLDEN = Path(__file__).parent / "golden"
REFUSED = tuple(
    QueryRefusal(
        id=f"by-sex[sex = {name}]",
        sql="SELECT COUNT(*) FROM D GROUP BY sex",
        reason="the copy answers 0, and 5% of that is no tolerance; give tau as a number",
        block="by-sex",
        group=f"sex = {name}",
    )
    for name in "ABCD"
)
STYLE = re.compile(r"(?<=<style>).*?(?=</style>)", re.DOTALL)
# What is read aloud, or shown by a browser, though it is no text of the page.
SPOKEN = ("aria-label", "title", "placeholder", "alt")


class Lines(Page):
    """Texts of a page, a line each after the tag that they stand in, without style and script."""

    def __init__(self, text: str) -> None:
        self.lines: list[str] = []
        super().__init__(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        super().handle_starttag(tag, attrs)
        self.lines += [f"{tag}[{name}]: {value}" for name, value in attrs if name in SPOKEN]

    def handle_data(self, data: str) -> None:
        super().handle_data(data)
        text = " ".join(data.split())
        if text and not {"style", "script", "defs"}.intersection(self.open):
            self.lines.append(f"{self.open[-1]}: {text}")


def page(report: Report) -> str:
    # The version is no wording.
    text = "\n".join(Lines(report.to_html("pqd again")).lines) + "\n"
    return text.replace(f"pqd {metadata.version('pqd')}", "pqd VERSION")


def ascii_text(report: Report) -> str:
    """Terminal report as a pipe gets it that takes ASCII alone."""
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii", newline="")
    Console(file=stream, width=80, color_system=None).print(TerminalReport(report))
    stream.flush()
    return raw.getvalue().decode()


def junit(report: Report) -> str:
    assert isinstance(report, CheckReport)
    return junit_text(report)


def github(report: Report) -> str:
    assert isinstance(report, CheckReport)
    return github_text(report, "audit.toml")


TERMINAL: dict[str, Callable[[Report], str]] = {
    "60.txt": lambda report: terminal_text(report, 60),
    "80.txt": lambda report: terminal_text(report, 80),
    "80-ascii.txt": ascii_text,
    "120.txt": lambda report: terminal_text(report, 120),
}
ALL: dict[str, Callable[[Report], str]] = {
    **TERMINAL,
    "80-verbose.txt": lambda report: terminal_text(report, 80, Extent.VERBOSE),
    "json": lambda report: report.to_json(),
    "md": lambda report: report.to_markdown(),
    "notebook.html": lambda report: STYLE.sub("", report._repr_html_()),
    "page.txt": page,
}
MAIN = {name: ALL[name] for name in ("80.txt", "md", "page.txt")}
CHECKED = {"junit.xml": junit, "github.txt": github}
REPORTS: dict[str, tuple[Report, dict[str, Callable[[Report], str]]]] = {
    "audit": (replace(audit_reports.AUDIT, refused=REFUSED), ALL),
    "audit-large": (
        audit_reports.audit_of(*audit_reports.many_queries(400)),
        {name: ALL[name] for name in ("60.txt", "80.txt", "120.txt", "80-ascii.txt")},
    ),
    "audit-of-nothing": (audit_reports.audit_of(), MAIN),
    "audit-simulated": (audit_reports.SIMULATED, MAIN),
    "check": (check_reports.BASED, {**ALL, **CHECKED}),
    "check-dry": (check_reports.DRY, {**MAIN, **CHECKED}),
    "check-large": (check_reports.many_checks(120), {"80.txt": ALL["80.txt"]}),
    "compare-large": (compare_reports.LARGE, {"80.txt": ALL["80.txt"]}),
    "compare": (replace(compare_reports.SMALL, refused=REFUSED), ALL),
    "compare-grouped": (compare_reports.grouped(4), MAIN),
    "compare-at-limits": (
        compare_reports.report_of(tuple(map(compare_reports.query, (5, 10, 12)))),
        {**MAIN, "80-verbose.txt": ALL["80-verbose.txt"]},
    ),
    "compare-of-nothing": (compare_reports.EMPTY, MAIN),
    "ledger": (LEDGER, {**TERMINAL, "json": ALL["json"]}),
    "ledger-of-nothing": (EMPTY, TERMINAL),
    "statement": (STATEMENT, ALL),
    "statement-of-nothing": (STATEMENT_OF_NOTHING, MAIN),
    "lint": (lint_reports.LINT, ALL),
    "lint-of-nothing": (lint_reports.CLEAN, MAIN),
    "outcomes": (outcome_reports.AUDIT, ALL),
    "outcomes-check": (outcome_reports.CHECK, {**ALL, **CHECKED}),
    "plan": (replace(audit_reports.PLAN, refused=REFUSED), ALL),
    "plan-large": (
        audit_reports.plan_of(*audit_reports.many_queries(400)),
        {"80.txt": ALL["80.txt"]},
    ),
    "plan-without-budget": (audit_reports.PLANS[-1], MAIN),
    "profile": (profile_reports.ADULT_PROFILE, {**TERMINAL, "md": ALL["md"]}),
    "profile-plain": (profile_reports.PLAIN, {"80.txt": ALL["80.txt"]}),
    "profile-dry": (profile_reports.DRY, {"80.txt": ALL["80.txt"], "md": ALL["md"]}),
    "profile-dry-small": (profile_reports.DRY_SMALL, {"page.txt": ALL["page.txt"]}),
    "profile-plan": (profile_reports.PLAN, {"80.txt": ALL["80.txt"]}),
    "profile-three-ways": (profile_reports.THREE_WAYS, ALL),
    "profile-simulated": (profile_reports.SIMULATED, MAIN),
    "profile-too-near": (profile_reports.TOO_NEAR, MAIN),
    "profile-shuffled": (profile_reports.SHUFFLED, MAIN),
    "profile-near": (profile_reports.NEAR, MAIN),
    "profile-replayed": (profile_reports.REPLAYED, {"80.txt": ALL["80.txt"]}),
    "profile-odd-names": (profile_reports.ODD, {**MAIN, "60.txt": ALL["60.txt"]}),
    "profile-attacked": (profile_reports.ATTACKED, {**MAIN, "json": ALL["json"]}),
    "profile-dry-attacked": (profile_reports.DRY_ATTACKED, {"80.txt": ALL["80.txt"]}),
    "profile-of-one-column": (profile_reports.ONE_COLUMN, MAIN),
    "ranking": (ranking_reports.DETAILED, ALL),
    "ranking-plain": (ranking_reports.RANKING, MAIN),
    "ranking-related": (ranking_reports.RELATED, {**MAIN, "json": ALL["json"]}),
    "ranking-certain": (ranking_reports.CERTAIN, MAIN),
    "ranking-too-near": (ranking_reports.TOO_NEAR, MAIN),
    "ranking-flawed": (ranking_reports.FLAWED, MAIN),
    "ranking-attacked": (ranking_reports.ATTACKED, {**MAIN, "json": ALL["json"]}),
    "ranking-dry": (ranking_reports.DRY, MAIN),
    "ranking-rated": (ranking_reports.RATED, {"80.txt": ALL["80.txt"]}),
    "ranking-of-one": (ranking_reports.SINGLE, MAIN),
    "release": (replace(release_reports.RELEASE, refused=REFUSED), ALL),
    "release-large": (release_reports.MANY, {"80.txt": ALL["80.txt"]}),
    "release-replayed": (release_reports.REPLAYED, MAIN),
    "release-expert": (
        release_reports.EXPERT,
        {"80-verbose.txt": ALL["80-verbose.txt"], "md": ALL["md"]},
    ),
    "risk": (risk_reports.RISK, ALL),
    "risk-alone": (risk_reports.ALONE, MAIN),
    "risk-no-control": (risk_reports.CONTAMINATED, MAIN),
    "risk-quiet": (risk_reports.QUIET, MAIN),
    "risk-failed": (risk_reports.FAILED, MAIN),
    "risk-declared": (risk_reports.DECLARED, MAIN),
    "risk-simulated": (risk_reports.SIMULATED, MAIN),
    "risk-plan": (risk_reports.PLAN, ALL),
    "risk-plan-alone": (risk_reports.PLAN_ALONE, MAIN),
    "risk-replayed": (risk_reports.REPLAYED, {"80.txt": ALL["80.txt"]}),
}
# Words of the document of each kind that has one: all formats show these.
WORDED = (
    *(
        "audit",
        "check",
        "compare",
        "ledger",
        "lint",
        "plan",
        "profile-three-ways",
        "ranking",
        "release",
        "risk",
    ),
)
FILES = {f"{name}.{form}": (name, form) for name, (_, forms) in REPORTS.items() for form in forms}


@pytest.mark.parametrize("file", FILES)
def test_renderings_are_as_they_were_read(file: str) -> None:
    name, form = FILES[file]
    report, forms = REPORTS[name]
    # A notebook is read in Python, all else by who typed a command.
    with for_shell(stated=form != "notebook.html"):
        told = forms[form](report)
    assert matches_golden(GOLDEN / file, told), f"read the diff of: make golden ({file})"


@pytest.mark.parametrize("name", WORDED)
def test_words_of_documents_are_as_they_were_read(name: str) -> None:
    words = words_text(document_of(REPORTS[name][0]))
    assert matches_golden(GOLDEN / f"{name}.words.txt", words), (
        f"read the diff of: make golden ({name}.words.txt)"
    )


def test_no_golden_file_is_left_over() -> None:
    worded = {f"{name}.words.txt" for name in WORDED}
    assert {path.name for path in GOLDEN.iterdir()} == {*FILES, *worded}


def test_every_outcome_of_a_query_is_among_the_golden_reports() -> None:
    found = [verdict.standing for verdict in outcome_reports.OUTCOMES]
    assert set(found) == set(VERDICTS)
