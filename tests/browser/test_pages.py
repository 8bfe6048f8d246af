"""Pages in a real browser: filters and sorting work, nothing is cut off, axe-core is content.

It needs Chromium, Node and two npm packages outside of the repository, and is skipped without:

    mkdir /tmp/browser && cd /tmp/browser && npm install playwright-core axe-core
    PQD_BROWSER=/tmp/browser/node_modules pytest tests/browser -n 0

With PQD_SHOTS=FOLDER each page is photographed, on a wide screen, a phone and paper.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from reports.html import html_text
from tests.support import profile_reports, ranking_reports, release_reports
from tests.support.audit_reports import (
    AUDIT,
    PLAN,
    audit_of,
    many_groups,
    many_queries,
    plan_of,
)
from tests.support.check_reports import BASED, many_checks
from tests.support.compare_reports import GROUPED, LARGE, many_compared
from tests.support.release_reports import RELEASE

DRIVER = Path(__file__).with_name("drive.mjs")
COMMAND = "pqd audit private.csv copy.csv --queries many.sql --tau 5% --epsilon 0.25"
LONG = replace(AUDIT.verdicts[2], id="a-very-long-name-" * 6, where="x = 'y' OR " * 90 + "z = 1")
LARGE_PAGES = {
    "large-audit": html_text(audit_of(*many_queries(3000)), COMMAND),
    "large-plan": html_text(plan_of(*many_queries(3000)), COMMAND),
    "large-check": html_text(many_checks(3000), COMMAND),
    "large-compare": html_text(many_compared(3000), COMMAND),
    "large-release": html_text(release_reports.MANY, COMMAND),
}
PAGES = LARGE_PAGES | {
    "audit": html_text(replace(AUDIT, verdicts=(*AUDIT.verdicts, LONG)), COMMAND),
    "audit-groups": html_text(many_groups(200), COMMAND),
    "audit-empty": html_text(audit_of(), COMMAND),
    "plan": html_text(replace(PLAN, queries=(*PLAN.queries[:5], *PLAN.queries[6:])), COMMAND),
    "check": html_text(BASED, COMMAND),
    "compare": html_text(replace(LARGE, queries=LARGE.queries[:20]), COMMAND),
    "compare-groups": html_text(GROUPED, COMMAND),
    "release": html_text(RELEASE, COMMAND),
    "release-simulated": html_text(release_reports.SIMULATED, COMMAND),
    "release-large": html_text(release_reports.LARGE, COMMAND),
    "release-empty": html_text(release_reports.EMPTY, COMMAND),
    "profile": html_text(profile_reports.ADULT_PROFILE, COMMAND),
    "profile-dry": html_text(profile_reports.DRY, COMMAND),
    "profile-wide": html_text(profile_reports.WIDE, COMMAND),
    "profile-odd-names": html_text(profile_reports.ODD, COMMAND),
    "ranking": html_text(ranking_reports.DETAILED, COMMAND),
    "ranking-plain": html_text(ranking_reports.RANKING, COMMAND),
}
# What a broken page must be caught for.
TWINS = {
    "lang": ('<html lang="en">', "<html>", "html-has-lang"),
    "label": (">Show <select", "><select", "select-name"),
    "contrast": ("--dim: #57606a", "--dim: #b0b0b0", "color-contrast"),
    "paper": ("moved.splice(0)", "moved.slice(1)", "the screen"),
    "script": ("form.hidden = false", "form.hidden = true", "no controls"),
    "console": ("filter();\n", "filter(); console.warn(1);\n", "console says"),
    "width": (".wide { ", ".wide { min-width: 80rem; ", "wider than the window"),
}


@pytest.fixture(scope="module")
def environment() -> dict[str, str]:
    folder, node = os.environ.get("PQD_BROWSER"), shutil.which("node")
    chromium = shutil.which("chromium")
    if not folder or not node or not chromium:
        pytest.skip("PQD_BROWSER=.../node_modules is not set, or node or chromium is not there")
    return {**os.environ, "PQD_CHROMIUM": chromium, "PQD_NODE": node}


def problems(text: str, kind: str, folder: Path, environment: dict[str, str]) -> list[str]:
    page = folder / f"{kind}.html"
    page.write_text(text, encoding="utf-8")
    shots = environment.get("PQD_SHOTS")
    done = subprocess.run(  # noqa: S603 - our own driver on our own page
        [environment["PQD_NODE"], str(DRIVER), kind, str(page), *([shots] if shots else [])],
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.stderr == ""
    assert done.returncode == bool(done.stdout)
    return done.stdout.splitlines()


def with_own_policy(page: str) -> str:
    """``page`` whose policy allows its own style and script, as they were changed."""
    for tag, directive in (("style", "style-src"), ("script", "script-src")):
        text = re.findall(rf"<{tag}>(.*?)</{tag}>", page, flags=re.DOTALL)[-1]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        page = re.sub(rf"{directive} 'sha256-[^']*'", f"{directive} 'sha256-{digest}'", page)
    return page


@pytest.mark.parametrize("kind", PAGES)
def test_a_page_holds_up(kind: str, tmp_path: Path, environment: dict[str, str]) -> None:
    assert problems(PAGES[kind], kind, tmp_path, environment) == []


@pytest.mark.parametrize("name", TWINS)
def test_a_broken_twin_is_caught(name: str, tmp_path: Path, environment: dict[str, str]) -> None:
    old, new, words = TWINS[name]
    assert with_own_policy(PAGES["audit"]) == PAGES["audit"]
    broken = with_own_policy(PAGES["audit"].replace(old, new, 1))
    assert broken != PAGES["audit"]
    found = problems(broken, "audit", tmp_path, {**environment, "PQD_SHOTS": ""})
    assert any(words in problem for problem in found)
