"""Documents and writers: neither knows the names of the other's files."""

import re
from pathlib import Path

import pqd.reports

ROOT = Path(pqd.reports.__file__).parent
FORMATS = ("terminal", "markdown", "html", "notebook")


def test_no_document_names_a_format() -> None:
    for path in (ROOT / "documents").glob("*.py"):
        text = path.read_text("utf-8")
        assert not re.search(r"pqd\.reports\.(writers|terminal|markdown|html|notebook)\b", text), (
            path
        )
        assert "rich" not in re.findall(r"^(?:from|import) (\w+)", text, re.MULTILINE), path


def test_no_writer_names_a_kind() -> None:
    kinds = {path.stem for path in (ROOT / "documents").glob("*.py")}
    kinds -= {"__init__", "cells", "queries", "shared", "target"}
    for path in (ROOT / "writers").rglob("*.py"):
        text = path.read_text("utf-8")
        assert "pqd.reports.documents." not in text, path
        assert not re.search(f"[\"'](?:{'|'.join(kinds)})[\"']", text), path
