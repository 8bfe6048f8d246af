"""The wheel that users get, built once and installed alone, away from this folder."""

import json
import re
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

Python = Callable[..., None]
Ran = tuple[int, str, str]
ROOT = Path(__file__).resolve().parents[2]

# One worker builds the wheel for all of its tests.
pytestmark = pytest.mark.xdist_group("wheel")

AUDIT = """
import json, sys
import pqd
report = pqd.audit("p.csv", "s.csv", "SELECT COUNT(*) FROM D WHERE age > 35", tau=2, epsilon=1)
ours = [m.__file__ for n, m in sys.modules.items() if n.partition(".")[0] == "pqd"]
print(json.dumps([report.verdicts[0].q_synthetic, ours]))
"""


@pytest.fixture(scope="module")
def sdist(python: Python, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sdist")
    python("hatchling", "build", "-t", "sdist", "-d", str(folder), cwd=ROOT)
    (built,) = folder.glob("*.tar.gz")
    return built


def names_in(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def test_the_wheel_holds_one_package_with_all_that_it_links_to(wheel: Path) -> None:
    names = names_in(wheel)
    assert len(names) == len(set(names))
    tops = {name.partition("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"pqd"}
    for package, inside in {"pqd": "", "deciders": "pqd/", "reports": "pqd/"}.items():
        # Templates, scripts and styles too.
        files = (path for path in (ROOT / package).rglob("*") if path.is_file())
        held = {inside + str(path.relative_to(ROOT)) for path in files if path.suffix != ".pyc"}
        assert len(held) > 50
        assert held <= set(names)
        assert f"{inside}{package}/py.typed" in names
    assert "pqd/reports/templates/page.css" in names
    assert not [name for name in names if "__pycache__" in name]


def test_the_sdist_holds_each_file_once_and_makes_the_same_wheel(
    python: Python, wheel: Path, sdist: Path, tmp_path: Path
) -> None:
    with tarfile.open(sdist) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
        archive.extractall(tmp_path, filter="data")
    assert len(names) == len(set(names))
    assert {"pyproject.toml", "README.md", "LICENSE", "pqd/deciders/noise.py"} <= set(names)
    assert not {name.partition("/")[0] for name in names} & {"deciders", "reports", ".venv"}
    (folder,) = tmp_path.iterdir()
    python("hatchling", "build", "-t", "wheel", "-d", str(tmp_path), cwd=folder)
    (again,) = tmp_path.glob("*.whl")
    assert sorted(names_in(again)) == sorted(names_in(wheel))


def test_an_index_would_accept_both_archives(python: Python, wheel: Path, sdist: Path) -> None:
    pytest.importorskip("twine")
    python("twine", "check", "--strict", str(wheel), str(sdist), cwd=wheel.parent)


def test_the_wheel_names_its_command_and_its_needs(site: Path) -> None:
    (information,) = site.glob("pqd-*.dist-info")
    assert "pqd = pqd.__main__:main" in (information / "entry_points.txt").read_text(
        encoding="utf-8"
    )
    metadata = (information / "METADATA").read_text(encoding="utf-8")
    for needed in ("duckdb", "numpy", "opendp", "pandas", "pyarrow", "scipy", "typer"):
        assert f"Requires-Dist: {needed}" in metadata
    assert "License-Expression: Apache-2.0" in metadata


def test_the_installed_wheel_audits(
    site: Path, tmp_path: Path, process: Callable[..., Ran]
) -> None:
    (tmp_path / "p.csv").write_text("age\n30\n40\n50\n", encoding="utf-8")
    (tmp_path / "s.csv").write_text("age\n31\n41\n51\n", encoding="utf-8")
    environment = {"PYTHONPATH": str(site), "PYTHONSAFEPATH": "1"}
    code, out, err = process("-c", AUDIT, cwd=tmp_path, **environment)
    assert (code, err) == (0, "")
    answer, ours = json.loads(out)
    assert answer == 2
    # The checkout is installed too: not one module may come from there.
    assert len(ours) > 20
    assert all(Path(file).is_relative_to(site) for file in ours)


def test_the_installed_command_runs(
    site: Path, tmp_path: Path, process: Callable[..., Ran]
) -> None:
    (tmp_path / "p.csv").write_text("age\n30\n40\n50\n", encoding="utf-8")
    (tmp_path / "s.csv").write_text("age\n31\n41\n51\n", encoding="utf-8")
    terms = ["-q", "SELECT SUM(age) FROM D", "--tau", "50%", "--epsilon", "2"]
    script = str(site / "bin" / "pqd")
    code, out, err = process(
        script, "audit", "p.csv", "s.csv", *terms, cwd=tmp_path, PYTHONPATH=str(site)
    )
    assert (code, err) == (0, "")
    assert re.search(r"q1 .* 123 ", out)
