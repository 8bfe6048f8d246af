"""What starting costs, and what it refuses."""

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from types import ModuleType

import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.parquet as pq
import pytest

import pqd
import pqd.deciders

Process = Callable[..., tuple[int, str, str]]
ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "samples"
HEAVY = {
    *("numpy", "pandas", "scipy", "sklearn", "polars", "pyarrow"),
    *("duckdb", "opendp", "sqlglot", "matplotlib", "jinja2", "dp_accounting"),
    *("adbc_driver_manager", "adbc_driver_postgresql", "pyspark", "py4j"),
}
# What an audit has no use for, even where it is installed.
UNUSED = {
    *("pandas", "scipy", "sklearn", "polars", "matplotlib", "jinja2", "dp_accounting"),
    *("adbc_driver_manager", "adbc_driver_postgresql", "pyspark", "py4j"),
}

LOADED = """
import json, sys
sys.argv = ["pqd", *{arguments}]
from pqd.cli import main
try:
    main()
except SystemExit as stopped:
    code = stopped.code
print(json.dumps([code or 0, sorted(sys.modules)]))
"""


SEARCHES = """
import gc, pqd.cli
from pqd.__main__ import main
pqd.cli.main = lambda: print(gc.get_threshold()[0])
main()
"""


ALGEBRA = """
import os, pqd.cli, sys
from pqd.__main__ import main
pqd.cli.main = lambda: print("numpy" in sys.modules, os.environ["OPENBLAS_NUM_THREADS"])
main()
"""


# Python's own start leaves None for a stream whose file is closed.
CLOSED = """
import sys
from pqd.__main__ import main
sys.{closed} = None
sys.argv = ["pqd", "--version"]
main()
"""
ENDS = """
import atexit, sys, pqd.cli
from pqd.__main__ import main
class Full:
    def flush(self):
        raise OSError
def run():
    print("shown")
    {last}
atexit.register(print, "Python's own end")
pqd.cli.main = run
main()
"""


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        ("pass", 0),
        ("sys.exit(0)", 0),
        ("sys.exit()", 0),
        ("sys.exit(4)", 4),
        ("sys.exit('words')", 1),
        ("sys.stdout.flush(); sys.stdout = None", 0),
        ("sys.stderr = Full()", 3),
        ("sys.stderr = Full(); sys.exit(2)", 2),
    ],
)
def test_the_command_line_ends_at_once_with_its_code_and_all_that_it_wrote(
    last: str, expected: int, process: Process
) -> None:
    code, out, err = process("-c", ENDS.format(last=last))
    assert (code, out, err) == (expected, "shown\n", "")


@pytest.mark.parametrize("closed", ["stdin", "stdout", "stderr"])
def test_no_file_takes_the_number_of_a_stream_that_was_closed_before_the_start(
    closed: str, process: Process
) -> None:
    code, out, err = process("-c", CLOSED.format(closed=closed))
    if closed == "stdout":
        lost = "pqd: standard output was lost: Bad file descriptor; nothing was spent\n"
        assert (code, out, err) == (3, "", lost)
    else:
        assert (code, out, err) == (0, f"pqd {pqd.__version__}\n", "")


def loaded(process: Process, *arguments: str) -> tuple[int, set[str], str]:
    code, out, err = process("-c", LOADED.format(arguments=list(arguments)))
    assert code == 0, err
    inner, modules = json.loads(out.splitlines()[-1])
    return inner, {*modules, *(name.partition(".")[0] for name in modules)}, out


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["audit", "--help"], []])
def test_help_loads_nothing_heavy(process: Process, arguments: list[str]) -> None:
    _, modules, out = loaded(process, *arguments)
    assert {"pqd", "typer"} <= modules
    assert not modules & HEAVY
    assert ("Usage" in out) or (f"pqd {pqd.__version__}" in out)


def test_the_command_line_seldom_looks_for_circles_of_objects(process: Process) -> None:
    code, out, _ = process("-c", SEARCHES)
    assert code == 0
    assert int(out) >= 100_000


@pytest.mark.parametrize(("stated", "expected"), [({}, "1"), ({"OPENBLAS_NUM_THREADS": "3"}, "3")])
def test_linear_algebra_has_one_thread_unless_it_is_told(
    stated: dict[str, str], expected: str, process: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It reads the variable when it is loaded, which is after that."""
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    assert process("-c", ALGEBRA, **stated) == (0, f"False {expected}\n", "")


def test_a_refusal_of_the_command_line_loads_nothing_heavy(process: Process) -> None:
    code, modules, _ = loaded(process, "audit", "a.csv", "b.csv", "-q", "SELECT COUNT(*) FROM D")
    assert code == 2
    assert not modules & HEAVY


@pytest.mark.parametrize(
    ("sharing", "batched"),
    [
        (["--epsilon", "0.5"], False),
        (["--total-epsilon", "1", "--sharing", "alone"], False),
        (["--total-epsilon", "1", "--sharing", "identity"], True),
    ],
    ids=["each", "alone", "identity"],
)
def test_an_audit_without_a_batch_loads_none_of_their_mechanisms(
    sharing: list[str], batched: bool, process: Process, tmp_path: Path
) -> None:
    """Its ledger, with a sum, a median and a count in it, is written and read again."""
    tables = [str(SAMPLES / f"census_{kind}.parquet") for kind in ("private", "synthetic")]
    queries = [f"SELECT {each} FROM D" for each in ("COUNT(*)", "SUM(inctot)", "MEDIAN(age)")]
    given = ["--bounds", "inctot=0:500000", "--tau", "5%", "--ledger", str(tmp_path / "ledger")]
    asked = [part for query in queries for part in ("-q", query)]
    for _ in range(2):
        code, modules, out = loaded(process, "audit", *tables, *asked, *given, *sharing)
        assert code == 0, out
        assert any(name.startswith("pqd.deciders.batch.") for name in modules) == batched
        assert "opendp" in modules
        assert modules & UNUSED == set()


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_an_audit_of_texts_numbers_and_dates_loads_nothing_for_frames(
    ending: str, process: Process, tmp_path: Path
) -> None:
    tables = []
    for kind, names in {"private": "abc", "synthetic": "acb"}.items():
        columns = {
            "name": [names[n % 3] if n % 5 else None for n in range(400)],
            "n": list(range(400)),
            "day": [datetime(2020, 1, 1 + n % 28) for n in range(400)],  # noqa: DTZ001 - as stored
        }
        path = tmp_path / f"{kind}.{ending}"
        write = pq.write_table if ending == "parquet" else pcsv.write_csv
        write(pa.table(columns), path)
        tables.append(str(path))
    queries = [
        "COUNT(*) FROM D WHERE name LIKE 'a%'",
        "SUM(n) FROM D WHERE day < '2020-01-05'",
        "COUNT(DISTINCT n) FROM D WHERE name IS NULL",
        "MEDIAN(n) FROM D GROUP BY name",
    ]
    asked = [part for query in queries for part in ("-q", f"SELECT {query}")]
    given = ["--epsilon", "1", "--tau", "20%", "--ledger", str(tmp_path / "ledger")]
    code, modules, out = loaded(process, "audit", *tables, *asked, *given)
    assert code in (0, 1), out
    assert modules & UNUSED == set()


@pytest.mark.parametrize("package", [pqd, pqd.deciders], ids=["pqd", "deciders"])
def test_a_package_lists_its_names(package: ModuleType) -> None:
    assert set(package.__all__) == set(dir(package))
    assert all(getattr(package, name) is not None for name in package.__all__)
    with pytest.raises(AttributeError, match="no_such_name"):
        package.no_such_name  # noqa: B018 - the access is what is tested


def test_the_package_has_a_version(process: Process) -> None:
    code, out, err = process("-m", "pqd", "--version")
    assert (code, out, err) == (0, f"pqd {pqd.__version__}\n", "")


@pytest.mark.parametrize("name", ["deciders", "reports"])
def test_a_folder_of_the_repository_is_no_package_of_its_own(name: str, process: Process) -> None:
    """Under two names there would be two of each class."""
    code, out, err = process("-c", f"import sys; sys.path.insert(0, {str(ROOT)!r}); import {name}")
    assert (code, out) == (1, "")
    assert err.splitlines()[-1] == (
        f"ImportError: the package is pqd.{name}: write `from pqd.{name} import ...`"
    )
