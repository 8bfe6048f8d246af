"""Libraries that are installed apart: what needs one says so, and all else runs without it."""

import sys
import tomllib
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

import pqd
from pqd.accounting.composition import optimal
from pqd.cli.outputs import Target, Targets
from pqd.deciders.extras import LIBRARIES, needed
from tests.support.audit_reports import AUDIT
from tests.support.profile_reports import ADULT_PROFILE

Ran = tuple[int, str, str]
ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "samples"
MODULES = {
    "composition": "dp_accounting",
    "learn": "sklearn",
    "plots": "matplotlib",
    "postgres": "adbc_driver_postgresql",
    "spark": "pyspark",
}
# What is installed with the extras alone.
HIDDEN = (
    *(*MODULES.values(), "PIL", "attrs", "absl", "tree", "threadpoolctl", "polars"),
    *("adbc_driver_manager", "py4j"),
)
PRIVATE, COPY = (str(SAMPLES / f"census_{name}.parquet") for name in ("private", "synthetic"))

WITHOUT = f"""
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {HIDDEN!r}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Hidden())
sys.argv = ["pqd", *{{arguments!r}}]
from pqd.__main__ import main
main()
"""


def command_of(extra: str) -> str:
    return f'python -m pip install "pqd[{extra}]"'


def test_extras_are_those_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    assert extras.pop("all") == [f"pqd[{','.join(sorted(LIBRARIES))}]"]
    assert {name: needs[0].partition(">")[0] for name, needs in extras.items()} == LIBRARIES
    required = {each.partition(">")[0] for each in project["dependencies"]}
    assert not required & set(LIBRARIES.values())


@pytest.mark.parametrize(
    ("extra", "use"),
    [
        ("composition", lambda: optimal([Fraction(1)] * 3, Fraction(1, 1000))),
        ("plots", AUDIT.plot_operating_characteristic),
        ("plots", ADULT_PROFILE.plot),
    ],
)
def test_what_needs_an_extra_says_so(
    extra: str, use: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    hidden = MODULES[extra]
    # Another test may have imported parts of it.
    for name in {hidden, *(each for each in sys.modules if each.startswith(f"{hidden}."))}:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(pqd.PqdError) as raised:
        use()
    assert f"needs {LIBRARIES[extra]}, which is not installed" in str(raised.value)
    assert command_of(extra) in str(raised.value)


def test_another_error_passes_through() -> None:
    with pytest.raises(KeyError, match="mine"), needed("plots", "a plot"):
        raise KeyError("mine")


def test_whoever_writes_a_page_without_matplotlib_is_told_and_its_readers_are_not(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    targets = Targets((Target("html", str(tmp_path / "page.html")),))
    targets.write(AUDIT)
    assert capsys.readouterr().err == ""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    targets.write(AUDIT)
    assert command_of("plots") in capsys.readouterr().err
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "curve-1" not in page
    assert "matplotlib" not in page
    assert "pip install" not in page


@pytest.mark.parametrize(
    "arguments",
    [
        ["audit", PRIVATE, COPY, "-q", "SELECT MEDIAN(age) FROM D", "--tau", "3", "--epsilon", "1"],
        ["profile", PRIVATE, COPY, "--columns", "age,workly", "--html", "profile.html"],
        [
            *("release", PRIVATE, COPY, "--mechanism", "ranges", "--total-epsilon", "1"),
            *("-q", "SELECT SUM(age) FROM D WHERE age BETWEEN 20 AND 60"),
        ],
        [
            *("compare", PRIVATE, f"a={COPY}", f"b={SAMPLES / 'census_flat.parquet'}"),
            *("-q", "SELECT COUNT(*) FROM D WHERE age > 64", "--tau", "5%", "--epsilon", "1"),
            *("--with-references", "--reference-epsilon", "0.1"),
        ],
        [
            *("release", PRIVATE, COPY, "--total-epsilon", "1", "--table", "new.parquet"),
            *("-q", "SELECT COUNT(*) FROM D WHERE age > 64"),
        ],
    ],
    ids=["audit", "profile", "release", "references", "table"],
)
def test_the_base_alone_is_enough(
    arguments: list[str], process: Callable[..., Ran], tmp_path: Path
) -> None:
    code, out, err = process("-c", WITHOUT.format(arguments=arguments), cwd=tmp_path)
    assert (code, err) == (0, "")
    assert "epsilon" in out


@pytest.mark.parametrize(
    ("extra", "arguments"),
    [
        ("learn", ["profile", PRIVATE, COPY, "--columns", "age,sex", "--target", "sex"]),
        ("learn", ["risk", PRIVATE, COPY, "--columns", "age,sex", "--learner", "trees"]),
        (
            "postgres",
            [
                *("audit", "postgresql://?table=people", COPY, "--tau", "5%", "--epsilon", "1"),
                *("-q", "SELECT COUNT(*) FROM D WHERE age > 64"),
            ],
        ),
    ],
    ids=["target", "trees", "postgres"],
)
def test_a_run_without_its_extra_spends_nothing(
    extra: str, arguments: list[str], process: Callable[..., Ran], tmp_path: Path
) -> None:
    ledger = tmp_path / "own" / "ledger.sqlite"
    ledger.parent.mkdir()
    code, out, err = process(
        "-c", WITHOUT.format(arguments=arguments), cwd=tmp_path, PQD_LEDGER=str(ledger)
    )
    assert (code, out) == (2, "")
    assert command_of(extra) in err
    assert not ledger.exists()
