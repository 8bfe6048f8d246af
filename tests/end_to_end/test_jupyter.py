"""A notebook with a real kernel that lacks ipywidgets: there DuckDB refuses its own settings."""

import json
from collections.abc import Callable
from pathlib import Path

Ran = tuple[int, str, str]

NO_WIDGETS = "import sys; sys.modules['ipywidgets'] = None"
PATHS = """import pqd
terms = {"tau": 5, "epsilon": 1, "ledger": "ledger.sqlite"}
pqd.audit("private.csv", "synthetic.csv", ["SELECT COUNT(*) FROM D WHERE age > 35"], **terms)"""
FRAMES = """import pandas as pd
private, synthetic = pd.read_csv("private.csv"), pd.read_csv("synthetic.csv")
pqd.audit(private, synthetic, ["SELECT SUM(age) FROM D"], **terms)"""
# Runs the cells of its arguments and prints what each shows.  A process of its own, since clients
# leave sockets to the collector; without a limit of time, since a kernel may start slowly.
NOTEBOOK = """
import json, sys
import nbclient, nbformat
cells = [nbformat.v4.new_code_cell(text) for text in sys.argv[1:]]
notebook = nbformat.v4.new_notebook(cells=cells)
nbclient.NotebookClient(notebook, timeout=None, startup_timeout=280).execute()
print(json.dumps([cell.outputs for cell in cells]))
"""


def test_a_notebook_without_widgets_shows_reports(
    process: Callable[..., Ran], tmp_path: Path
) -> None:
    (tmp_path / "private.csv").write_text("age\n" + "40\n" * 90, encoding="utf-8")
    (tmp_path / "synthetic.csv").write_text("age\n" + "41\n20\n" * 50, encoding="utf-8")
    # Settings, kernels and connection files of the user stay out.
    own = ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")
    found, out, err = process(
        *("-c", NOTEBOOK, NO_WIDGETS, PATHS, FRAMES),
        cwd=tmp_path,
        PYTHONPATH=str(Path(__file__).resolve().parents[2]),
        **{name: str(tmp_path / "jupyter") for name in own},
    )
    assert found == 0, err
    nothing, *shown = json.loads(out)
    assert nothing == []
    for outputs in shown:
        (result,) = [one for one in outputs if one["output_type"] == "execute_result"]
        assert "pqd-report" in result["data"]["text/html"]
