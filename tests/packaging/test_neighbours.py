"""A repository with packages ``deciders`` and ``reports`` of its own, in which pqd is used."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

Ran = tuple[int, str, str]
ROOT = Path(__file__).resolve().parents[2]

FILES = {
    "reports/__init__.py": "NAME = 'reports of this repository'\n",
    "deciders/__init__.py": "NAME = 'deciders of this repository'\n",
    "tests/test_own.py": """
import deciders, reports, sys

def test_our_own_packages():
    assert "pqd.reports" not in sys.modules
    assert (reports.NAME, deciders.NAME) == (
        "reports of this repository", "deciders of this repository"
    )
""",
    "tests/test_trust.py": """
import deciders, reports

def test_the_copy_can_be_used(pqd):
    pqd.assert_trusted("close")
    assert (reports.NAME, deciders.NAME) == (
        "reports of this repository", "deciders of this repository"
    )
""",
    "p.csv": "age\n" + "30\n40\n50\n" * 100,
    "s.csv": "age\n" + "31\n41\n51\n" * 100,
    "audit.toml": """
[private]
path = "p.csv"

[synthetic.copy]
path = "s.csv"

[[check]]
id = "close"
sql = "SELECT COUNT(*) FROM D WHERE age > 35"
tau = "50%"
epsilon = 5
""",
    "pytest.ini": "[pytest]\naddopts = -p no:cacheprovider\n",
}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / "repository" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path / "repository"


@pytest.fixture(params=["editable", "wheel"])
def environment(request: pytest.FixtureRequest) -> Mapping[str, str]:
    if request.param == "editable":
        return {"PYTHONPATH": ""}
    return {"PYTHONPATH": str(request.getfixturevalue("site"))}


@pytest.mark.xdist_group("wheel")
def test_packages_of_the_same_names_do_no_harm(
    repository: Path, environment: Mapping[str, str], process: Callable[..., Ran]
) -> None:
    shown = "import pqd, pqd.reports; print(pqd.reports.__file__, pqd.audit)"
    code, out, err = process("-c", shown, cwd=repository, **environment)
    assert (code, err) == (0, "")
    assert out.startswith(environment["PYTHONPATH"] or str(ROOT))
    # The command, once as a module, which puts the folder of the repository first.
    terms = ["SELECT COUNT(*) FROM D", "--tau", "5", "--epsilon", "1"]
    audit = ["-m", "pqd", "audit", "p.csv", "s.csv", "-q", *terms]
    code, out, err = process(*audit, cwd=repository, **environment)
    assert (code, err) == (0, "")
    assert "300" in out
    code, out, err = process("-m", "pytest", "-q", "tests", cwd=repository, **environment)
    assert (code, err) == (0, ""), out
    assert "2 passed" in out


def test_the_plugin_imports_nothing_of_pqd_before_it_is_used(process: Callable[..., Ran]) -> None:
    shown = "import pqd.pytest_plugin, sys; print([n for n in sys.modules if n[:3] == 'pqd'])"
    assert process("-c", shown) == (0, "['pqd', 'pqd.pytest_plugin']\n", "")
