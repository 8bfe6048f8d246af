"""Three floors: an import only ever points down, and noise has one door."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FLOORS = ("deciders", "reports", "pqd")
# What the lower floors must not know: files, SQL, the command line.
FORBIDDEN = {
    "deciders": {"pqd", "reports", "duckdb", "sqlglot", "typer", "rich", "pandas", "scipy"},
    "reports": {"pqd", "duckdb", "sqlglot", "typer", "opendp"},
    "pqd": {"scipy", "tests", "samples", "benchmarks"},
}


def modules(package: str) -> list[Path]:
    found = sorted((ROOT / package).rglob("*.py"))
    assert found
    return found


MODULES = [path for package in FLOORS for path in modules(package)]


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def imported(path: Path) -> Iterator[str]:
    """Yield every module that a file imports, wherever the import stands."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "")


def called(path: Path) -> Iterator[str]:
    """Yield the last name of everything that a file calls."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            function = node.func
            yield function.attr if isinstance(function, ast.Attribute) else ast.unparse(function)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_point_down(path: Path) -> None:
    floor = path.relative_to(ROOT).parts[0]
    tops = {name.partition(".")[0] for name in imported(path)}
    assert "" not in tops, "imports are absolute"
    assert not tops & FORBIDDEN[floor]


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_noise_of_product_code_is_secure(path: Path) -> None:
    calls = set(called(path))
    assert "SimulatedNoise" not in calls
    # Noise at fixed points is for the synthetic table, in the choice of a mechanism alone.
    if path != ROOT / "pqd" / "batches" / "simulation.py":
        assert "QuasiRandomNoise" not in calls
    # Reference candidates and stand-ins are drawn from what was released, or is public: no noise.
    drawn = {
        "deciders/noise.py",
        "deciders/evaluation/stand_ins.py",
        "pqd/commands/reference_tables.py",
    }
    if name_of(path) not in drawn:
        assert not calls & {"default_rng", "RandomState", "seed"}
    tops = {name.partition(".")[0] for name in imported(path)}
    assert not tops & {"random", "secrets"}


@pytest.mark.parametrize("path", modules("deciders") + modules("reports"), ids=name_of)
def test_the_lower_floors_do_not_print(path: Path) -> None:
    assert not set(called(path)) & {"input", "breakpoint"}
    if path.parent.name == "deciders":
        assert not set(called(path)) & {"print", "open", "read_text", "write_text", "echo"}


@pytest.mark.parametrize("path", modules("pqd"), ids=name_of)
def test_the_database_is_called_in_one_place(path: Path) -> None:
    if "duckdb" in {name.partition(".")[0] for name in imported(path)}:
        assert path.parent.name == "engine"


def test_the_scan_sees_what_it_forbids(tmp_path: Path) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text(
        "def f():\n    import duckdb.x\n    from pqd import y\n    deciders.SimulatedNoise(3)\n",
        encoding="utf-8",
    )
    assert set(imported(bad)) == {"duckdb.x", "pqd"}
    assert "SimulatedNoise" in set(called(bad))
