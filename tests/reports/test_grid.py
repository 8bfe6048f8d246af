"""The grid of kinds of report and formats: a document for each kind, a writer for each format.

That a new kind is one document, and a new format one writer, is shown in tests/docs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import ClassVar

import pytest

import pqd.reports
from pqd.reports.models.report import Report

ROOT = Path(pqd.reports.__file__).parent
KINDS = ("audit", "check", "compare", "plan", "profile", "ranking", "release")
FORMATS: dict[str, Callable[[Report], str]] = {
    "html": Report.to_html,
    "markdown": Report.to_markdown,
    "notebook": Report._repr_html_,
    "terminal": str,
}


@dataclass(frozen=True, slots=True)
class ToyReport(Report):
    kind: ClassVar[str] = "toy"

    word: str


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_has_a_model_and_a_document(kind: str) -> None:
    assert (ROOT / "models" / f"{kind}.py").is_file()
    assert callable(import_module(f"pqd.reports.documents.{kind}").document)


@pytest.mark.parametrize("form", FORMATS)
def test_a_kind_without_a_document_is_refused_by_name(form: str) -> None:
    refusal = "a report of kind 'toy' has no document: there is no pqd.reports.documents.toy"
    with pytest.raises(NotImplementedError) as raised:
        FORMATS[form](ToyReport("yes"))
    assert str(raised.value) == refusal


def test_models_import_no_rendering() -> None:
    for path in (ROOT / "models").glob("*.py"):
        for line in path.read_text().splitlines():
            if line.strip().startswith(("from pqd.reports", "import pqd.reports")):
                home = line.split()[1]
                assert home.startswith(("pqd.reports.models.", "pqd.reports.blocks")), path
