"""Runs docs/notebook.ipynb and writes it with the new output of its cells: `make notebook`.

The cells run in a temporary folder with a copy of the samples, so that they neither read nor change
the account of another run.  The notebook is written without data about the machine.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbclient
import nbformat

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOK = ROOT / "docs" / "notebook.ipynb"
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def copied(folder: Path) -> Path:
    """New folder for the notebook, next to a copy of the tables that it reads."""
    (folder / "samples").mkdir()
    for path in (ROOT / "samples").glob("census_*.parquet"):
        shutil.copy(path, folder / "samples")
    (folder / "docs").mkdir()
    return folder / "docs"


def executed(notebook: Any, folder: Path) -> Any:  # noqa: ANN401 - nbformat has no types
    """Notebook with the output of its cells, without data about the machine that ran it."""
    resources = {"metadata": {"path": str(folder)}}
    nbclient.NotebookClient(notebook, timeout=None, resources=resources).execute()
    notebook.metadata = nbformat.from_dict(METADATA)  # type: ignore[no-untyped-call]
    for number, cell in enumerate(notebook.cells, 1):
        cell.id = f"cell-{number}"
        cell.metadata = nbformat.from_dict({})  # type: ignore[no-untyped-call]
        if cell.cell_type == "code":
            # Drop empty outputs, which the progress display of a run leaves.
            cell.outputs = [
                each for each in cell.outputs if any(each.get("data", {"": 1}).values())
            ]
    return notebook


if __name__ == "__main__":
    with TemporaryDirectory() as place:
        found = nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]
        done = executed(found, copied(Path(place)))
        nbformat.write(done, NOTEBOOK)  # type: ignore[no-untyped-call]
