"""Pages in a real browser: filters and sorting work, nothing is cut off, axe-core is content.

It needs Chromium, Node and two npm packages, which ``make browser`` installs, and is skipped
without, but not in CI.  PQD_BROWSER names another folder of those packages.

With PQD_SHOTS=FOLDER each page is photographed, on a wide screen, a phone and paper.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pqd.deciders.options import for_shell
from pqd.reports.writers.html import html_text
from tests.support import (
    ledger_reports,
    lint_reports,
    profile_reports,
    ranking_reports,
    release_reports,
    risk_reports,
)
from tests.support.audit_reports import (
    AUDIT,
    PLAN,
    audit_of,
    many_groups,
    many_queries,
    plan_of,
)
from tests.support.check_reports import BASED, DRY, many_checks
from tests.support.compare_reports import GROUPED, LARGE, many_compared
from tests.support.release_reports import RELEASE
from tests.support.skipped import NO_BROWSER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pqd.reports.models.report import Report

ROOT = Path(__file__).resolve().parents[2]
# Read before the surroundings are taken away.
IN_CI = bool(os.environ.get("CI"))
DRIVER = Path(__file__).with_name("drive.mjs")
COMMAND = "pqd audit private.csv copy.csv --queries many.sql --tau 5% --epsilon 0.25"
LONG = replace(AUDIT.verdicts[2], id="a-very-long-name-" * 6, where="x = 'y' OR " * 90 + "z = 1")
# More than a page prints.
MANY = 1100
# Made where a browser is: large ones take seconds.
LARGE_REPORTS: dict[str, Callable[[], Report]] = {
    "large-audit": lambda: audit_of(*many_queries(MANY)),
    "large-plan": lambda: plan_of(*many_queries(MANY)),
    "large-check": lambda: many_checks(MANY),
    "large-compare": lambda: many_compared(MANY),
    "large-release": lambda: release_reports.MANY,
}
REPORTS: dict[str, Callable[[], Report]] = LARGE_REPORTS | {
    "audit": lambda: replace(AUDIT, verdicts=(*AUDIT.verdicts, LONG)),
    "audit-groups": lambda: many_groups(200),
    "audit-empty": audit_of,
    "plan": lambda: replace(PLAN, queries=(*PLAN.queries[:5], *PLAN.queries[6:])),
    "check": lambda: BASED,
    "compare": lambda: replace(LARGE, queries=LARGE.queries[:20]),
    "compare-groups": lambda: GROUPED,
    "release": lambda: RELEASE,
    "release-simulated": lambda: release_reports.SIMULATED,
    "release-large": lambda: release_reports.LARGE,
    "release-empty": lambda: release_reports.EMPTY,
    "profile": lambda: profile_reports.ADULT_PROFILE,
    "profile-missing": lambda: replace(
        profile_reports.ADULT_PROFILE, left_out=profile_reports.ADULT_PROFILE.left_out[:1]
    ),
    "profile-dry": lambda: profile_reports.DRY,
    "profile-wide": lambda: profile_reports.WIDE,
    "profile-wider": lambda: profile_reports.wide(60),
    "profile-odd-names": lambda: profile_reports.ODD,
    "statement": lambda: ledger_reports.STATEMENT,
    "statement-of-nothing": lambda: ledger_reports.STATEMENT_OF_NOTHING,
    "risk": lambda: risk_reports.RISK,
    "risk-alone": lambda: risk_reports.ALONE,
    "lint": lambda: lint_reports.LINT,
    "check-dry": lambda: DRY,
    "ranking": lambda: ranking_reports.DETAILED,
    "ranking-plain": lambda: ranking_reports.RANKING,
}
# Columns that are narrower than their words.
FIXED = (
    ".rows { table-layout: fixed; width: 20rem } "
    ".rows > thead > tr > th { width: 2rem; overflow-wrap: anywhere; "
)
# What a broken page must be caught for, and in which view.
TWINS = {
    "lang": ('<html lang="en">', "<html>", "wide light", "html-has-lang"),
    "label": (">Show <select", "><select", "wide light", "select-name"),
    "contrast": ("--dim: #57606a", "--dim: #b0b0b0", "wide light", "color-contrast"),
    "dark": ("--dim: #a1aab5", "--dim: #4a5058", "phone dark", "color-contrast"),
    "scroll": (
        ".wide { background: linear",
        ".wide { --no: linear",
        "phone light",
        "without a sign",
    ),
    "heads": ("thead button { display: contents", "thead { display: block", "on paper", "heads"),
    "sheets": ('content: counter(page) "', 'content: "', "on paper", "no numbers"),
    "sign": (".rows > thead > tr > th {", FIXED, "desk light", "NO reaches"),
    "title": (".rows > thead > tr > th {", FIXED, "desk light", "Tolerance is broken"),
    "name": ("overflow-wrap: break-word", "overflow-wrap: anywhere", "desk light", "is broken"),
    "paper": ("moved.splice(0)", "moved.slice(1)", "on paper", "the screen"),
    "script": ("form.hidden = false", "form.hidden = true", "driven", "no controls"),
    "console": ("filter();\n", "filter(); console.warn(1);\n", "driven", "console says"),
    "width": (".wide { ", ".wide { min-width: 80rem; ", "phone light", "wider than the window"),
}


@cache
def page_of(kind: str) -> str:
    # Who typed the command reads options, not keywords.
    with for_shell():
        return html_text(REPORTS[kind](), COMMAND)


@pytest.fixture(scope="module")
def problems() -> Iterator[Callable[..., list[str]]]:
    """Problems of a page of a kind, in all views or one; one browser looks at all pages."""
    folder = os.environ.get("PQD_BROWSER") or str(ROOT / ".venv" / "browser" / "node_modules")
    # The shell has no windows to draw, and takes a third of the time.
    chromium = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    node = shutil.which("node")
    if not chromium or not node or not Path(folder, "axe-core").is_dir():
        (pytest.fail if IN_CI else pytest.skip)(NO_BROWSER)
    shots = os.environ.get("PQD_SHOTS")
    with subprocess.Popen(  # noqa: S603 - our own driver on our own pages
        [node, str(DRIVER), *([shots] if shots else [])],
        env={**os.environ, "PQD_BROWSER": folder, "PQD_CHROMIUM": chromium},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as driver:
        given, told = driver.stdin, driver.stdout
        assert given is not None
        assert told is not None

        def of(page: Path, kind: str, view: str | None = None) -> list[str]:
            asked = {"kind": kind, "file": str(page), "view": view}
            print(json.dumps(asked), file=given, flush=True)
            found: list[str] = json.loads(told.readline())
            return found

        yield of
        given.close()
        assert driver.wait(timeout=60) == 0


def with_own_policy(page: str) -> str:
    """``page`` whose policy allows its own style and script, as they were changed."""
    for tag, directive in (("style", "style-src"), ("script", "script-src")):
        text = re.findall(rf"<{tag}>(.*?)</{tag}>", page, flags=re.DOTALL)[-1]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        page = re.sub(rf"{directive} 'sha256-[^']*'", f"{directive} 'sha256-{digest}'", page)
    return page


@pytest.mark.parametrize("kind", REPORTS)
def test_a_page_holds_up(kind: str, tmp_path: Path, problems: Callable[..., list[str]]) -> None:
    page = tmp_path / f"{kind}.html"
    page.write_text(page_of(kind), encoding="utf-8")
    assert problems(page, kind) == []


@pytest.mark.parametrize("name", TWINS)
def test_a_broken_twin_is_caught(
    name: str, tmp_path: Path, problems: Callable[..., list[str]]
) -> None:
    old, new, view, words = TWINS[name]
    assert with_own_policy(page_of("audit")) == page_of("audit")
    broken = with_own_policy(page_of("audit").replace(old, new, 1))
    assert broken != page_of("audit")
    page = tmp_path / "broken.html"
    page.write_text(broken, encoding="utf-8")
    assert any(words in problem for problem in problems(page, "audit", view))
