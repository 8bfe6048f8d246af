"""The grid of kinds of report and formats: a new kind adds files, and edits no rendering."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import ClassVar

import pytest

import pqd.reports
from pqd.reports.models.report import Report, renderer

ROOT = Path(pqd.reports.__file__).parent
KINDS = ("audit", "check", "compare", "plan", "profile", "ranking", "release")
FORMATS = ("html", "markdown", "notebook", "terminal")
# The renderings of a kind that pqd does not have, as its author would add them.
TOY = {
    "terminal": """
def render(report, screen, extent):
    yield from screen.wrapped(report.word)
""",
    "markdown": """
def render(report):
    yield "## toy"
    yield report.word
""",
    "html": """
def render(report, command):
    return f"<p>{report.word} {command}</p>"
""",
    "notebook": """
from pqd.reports.writers.summary import Summary

def render(report):
    return Summary("toy", report.word, [])
""",
}


@dataclass(frozen=True, slots=True)
class ToyReport(Report):
    kind: ClassVar[str] = "toy"

    word: str


@pytest.fixture
def added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Adder of the toy's file to the folders of formats, in a place of its own."""

    def add(*formats: str) -> None:
        for form in formats:
            folder = tmp_path / form
            folder.mkdir()
            (folder / "toy.py").write_text(TOY[form])
            package = import_module(f"pqd.reports.{form}")
            monkeypatch.setattr(package, "__path__", [*package.__path__, str(folder)])

    yield add
    for form in FORMATS:
        sys.modules.pop(f"pqd.reports.{form}.toy", None)
        vars(import_module(f"pqd.reports.{form}")).pop("toy", None)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_has_a_file_of_its_name_in_each_format(kind: str, form: str) -> None:
    assert (ROOT / "models" / f"{kind}.py").is_file()
    if (ROOT / form / f"{kind}.py").is_file():
        assert callable(import_module(f"pqd.reports.{form}.{kind}").render)
    else:
        assert callable(import_module(f"pqd.reports.documents.{kind}").document)


def test_a_new_kind_of_report_needs_its_files_alone(added: Callable[..., None]) -> None:
    added(*FORMATS)
    report = ToyReport("yes")
    assert str(report) == "yes\n"
    assert report.to_markdown() == "## toy\n\nyes\n"
    assert report.to_html("pqd toy") == "<p>yes pqd toy</p>"
    assert '<p class="pqd-title">toy</p>\n<p>yes</p>' in report._repr_html_()
    assert json.loads(report.to_json()) == {"schema_version": 2, "kind": "toy", "word": "yes"}


@pytest.mark.parametrize("form", FORMATS)
def test_a_format_that_a_kind_lacks_is_refused_by_name(
    form: str, added: Callable[..., None]
) -> None:
    added(*set(FORMATS) - {form})
    toy = ToyReport("yes")
    renderings = {
        "html": toy.to_html, "markdown": toy.to_markdown, "notebook": toy._repr_html_,
        "terminal": toy.__str__,
    }  # fmt: skip
    refusal = "a report of kind 'toy' has no document: there is no pqd.reports.documents.toy"
    for name in FORMATS:
        if name != form:
            assert "yes" in renderings[name]()
    with pytest.raises(NotImplementedError) as raised:
        renderings[form]()
    assert str(raised.value) == refusal


def test_a_rendering_that_cannot_be_imported_says_why(
    added: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(TOY, "markdown", "import no_such_module\n")
    added("markdown")
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        renderer("pqd.reports.markdown", ToyReport("yes"))


def test_models_import_no_rendering() -> None:
    for path in (ROOT / "models").glob("*.py"):
        for line in path.read_text().splitlines():
            if line.strip().startswith(("from pqd.reports", "import pqd.reports")):
                home = line.split()[1]
                assert home.startswith(("pqd.reports.models.", "pqd.reports.blocks")), path
