"""The house stays small: a ratchet on the files that one audit enters."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Lower it whenever a step lowers it; docs/make_architecture.py counts them.
MOST_ENTERED = 142


def test_the_audit_of_the_demo_enters_no_more_files_than_before() -> None:
    place = ROOT / "docs" / "make_architecture.py"
    spec = importlib.util.spec_from_file_location("make_architecture", place)
    assert spec is not None
    assert spec.loader is not None
    architecture = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(architecture)
    entered = architecture.entered(ROOT, architecture.RUNS["audit"])
    assert "pqd/cli/audit.py" in entered
    assert "deciders/noise.py" in entered
    assert len(entered) <= MOST_ENTERED, sorted(entered)
