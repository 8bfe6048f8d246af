"""Notebooks with a real kernel that lacks ipywidgets: there DuckDB refuses its own settings."""

import json
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

Ran = tuple[int, str, str]
Outputs = list[dict[str, Any]]
Notebook = Callable[..., list[Outputs]]

ROOT = Path(__file__).resolve().parents[2]
NO_WIDGETS = "import sys; sys.modules['ipywidgets'] = None"
TERMS = """import pqd
terms = {"tau": 5, "epsilon": 1}
SQL = ["SELECT COUNT(*) FROM D WHERE age > 35", "SELECT COUNT(*) FROM D"]"""
PATHS = 'pqd.audit("private.csv", "synthetic.csv", SQL, **terms)'
PANDAS = """import pandas as pd
private, synthetic = pd.read_csv("private.csv"), pd.read_csv("synthetic.csv")
pqd.audit(private, synthetic, SQL, **terms)"""
POLARS = """import polars as pl
pqd.audit(pl.read_csv("private.csv"), pl.read_csv("synthetic.csv"), SQL, **terms)"""
PLOTS = """comparison = pqd.compare(private, {"a": synthetic, "b": synthetic[:60]}, SQL, **terms)
comparison.plot()"""
HEAT = "pqd.profile(private, synthetic, anyway=True).plot()"
OPENED = "print(comparison.open('page.html').stat().st_mode & 0o777 == 0o600)"
# Runs the cells of a file and prints what each shows.  A process of its own, since clients leave
# sockets to the collector; without a limit of time, since a kernel may start slowly.
RUNNER = """
import json, sys
import nbclient, nbformat
cells = [nbformat.v4.new_code_cell(text) for text in json.loads(open(sys.argv[1]).read())]
notebook = nbformat.v4.new_notebook(cells=cells)
nbclient.NotebookClient(notebook, timeout=None, startup_timeout=280).execute()
print(json.dumps([cell.outputs for cell in cells]))
"""


@pytest.fixture
def notebook(process: Callable[..., Ran], tmp_path: Path) -> Notebook:
    """Run cells in a kernel whose working folder is ``folder``; return what each shows."""

    def run(cells: Sequence[str], folder: Path) -> list[Outputs]:
        (tmp_path / "cells.json").write_text(json.dumps([NO_WIDGETS, *cells]), encoding="utf-8")
        # Settings, kernels and connection files of the user stay out.
        own = ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")
        found, out, err = process(
            *("-c", RUNNER, str(tmp_path / "cells.json")),
            cwd=folder,
            PYTHONPATH=str(ROOT),
            PQD_LEDGER="",
            DISPLAY="",
            **{name: str(tmp_path / "jupyter") for name in own},
        )
        assert found == 0, err
        shown: list[Outputs] = json.loads(out)
        assert shown[0] == []
        return shown[1:]

    return run


def result(outputs: Outputs) -> dict[str, str]:
    """Forms of the value of a cell."""
    (found,) = [one for one in outputs if one["output_type"] == "execute_result"]
    data: dict[str, str] = found["data"]
    return data


def test_a_notebook_without_widgets_shows_reports(notebook: Notebook, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "private.csv").write_text("age\n" + "40\n" * 90, encoding="utf-8")
    (folder / "synthetic.csv").write_text("age\n" + "41\n20\n" * 50, encoding="utf-8")
    cells = [TERMS, PATHS, PANDAS, POLARS, PLOTS, HEAT, OPENED]
    nothing, *shown, plot, heat, opened = notebook(cells, folder)
    assert nothing == []
    for place, outputs in enumerate(shown):
        html, plain = result(outputs)["text/html"], result(outputs)["text/plain"]
        assert "pqd-report" in html
        assert plain.startswith("AuditReport: ")
        assert len(plain.splitlines()) == 3
        # The table is told by its rows: what a file paid for, a frame replays.
        spent = "Nothing spent: all replayed." if place else "Epsilon 2 spent."
        where = "beside the private table" if not place else "in the working folder"
        for text in (html, plain):
            assert spent in text
            assert f"The account is kept in pqd-ledger.sqlite, {where}." in text
        # Of the progress nothing is left; a run that is soon done shows none.
        for told in (one for one in outputs if one["output_type"] == "display_data"):
            assert told["data"] == {"text/plain": "", "text/html": ""}
    assert not any(one["output_type"] == "stream" for each in shown for one in each)
    for outputs in (plot, heat):
        assert "<svg" in result(outputs)["image/svg+xml"]
    assert (folder / "page.html").exists()
    assert [one["text"] for one in opened] == ["True\n"]


def test_the_example_runs_and_shows_what_it_says(notebook: Notebook, tmp_path: Path) -> None:
    """The committed notebook: every cell runs, and its outputs are of the kinds that it holds."""
    example = json.loads((ROOT / "docs/notebook.ipynb").read_text(encoding="utf-8"))
    cells = [cell for cell in example["cells"] if cell["cell_type"] == "code"]
    (tmp_path / "docs").mkdir()
    (tmp_path / "samples").mkdir()
    for path in (ROOT / "samples").glob("census_*.parquet"):
        shutil.copy(path, tmp_path / "samples")
    shown = notebook(["".join(cell["source"]) for cell in cells], tmp_path / "docs")
    for cell, outputs in zip(cells, shown, strict=True):
        assert kinds(outputs) == kinds(cell["outputs"]), cell["source"]
    text = json.dumps([cell["outputs"] for cell in cells])
    assert not re.search(r"/(?:tmp|home|root|work)\b", text), "no path of a machine"


def kinds(outputs: Outputs) -> list[tuple[str, list[str]]]:
    """What sorts of outputs a cell has that are not empty, and in which forms."""
    forms = [(one["output_type"], one.get("data", {"text": one.get("text")})) for one in outputs]
    return [(kind, sorted(data)) for kind, data in forms if any(data.values())]
