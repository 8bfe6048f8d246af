"""The house: floors of folders, imports that point down, one door for noise and one for tables."""

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
# Highest first: a folder, or a module beside the folders, imports from floors below alone.
# The public names of a package are a floor of their own.
FLOORS = (
    *("pqd.__main__", "pqd.cli", "pqd.pytest_plugin", "pqd.__init__"),
    *(
        "pqd.commands",
        "pqd.comparison",
        "pqd.spec",
        "pqd.batches",
        "pqd.attacks",
        "pqd.marginals",
        "pqd.planning",
        "pqd.run",
    ),
    *("pqd.parameters", "pqd.stated"),
    *("pqd.accounting", "pqd.engine", "pqd.engine.spark", "pqd.engine.counting"),
    *("pqd.engine.sources", "pqd.engine.reading", "pqd.sql"),
    *(
        "pqd.exception_barrier",
        "pqd.interrupts",
        "pqd.keywords",
        "pqd.paths",
        "pqd.progress",
        "pqd.threads",
        "pqd.errors",
    ),
    *(
        "pqd.reports.__init__",
        "pqd.reports.browser",
        "pqd.reports.github",
        "pqd.reports.junit",
        "pqd.reports.json",
    ),
    *("pqd.reports.writers.terminal", "pqd.reports.writers", "pqd.reports.writers.html"),
    *("pqd.reports.boards", "pqd.reports.plots", "pqd.reports.axes", "pqd.reports.documents"),
    *("pqd.reports.text", "pqd.reports.models", "pqd.reports.blocks"),
    "pqd.reports.escape",
    *("pqd.deciders.__init__",),
    *("pqd.deciders.batch.linear", "pqd.deciders.batch.range_sums", "pqd.deciders.batch"),
    *("pqd.deciders.risk", "pqd.deciders.distances"),
    *("pqd.deciders.single", "pqd.deciders.estimators", "pqd.deciders.evaluation", "pqd.deciders"),
)
MOST_MODULES = 25
# What a package must not know: files, SQL, the command line.  What a start must not import is held
# by tests/pqd/test_startup.py.
FORBIDDEN = {
    "deciders": {"pqd", "reports", "duckdb", "sqlglot", "typer", "rich"},
    "reports": {"pqd", "duckdb", "sqlglot", "typer", "opendp"},
    "pqd": {"tests", "samples", "benchmarks"},
}
# Reference candidates and stand-ins are drawn from what was released, or is public: no noise.
SEEDED = {
    "deciders/noise.py",
    "deciders/evaluation/shapes.py",
    "pqd/comparison/references.py",
    "pqd/marginals/chance.py",
    "pqd/marginals/relations.py",
}
# The operating system's generator stands behind the one door to secure noise.
SECURE = "deciders/noise.py"
# Seeded noise is for runs without an account, which one public function makes.
MEANS = "pqd/run/means.py"
SIMULATE = "pqd/commands/simulate.py"
# Noise at fixed points is for the synthetic table, in the choice of a mechanism alone.
SIMULATION = "pqd/batches/simulation.py"

# What shows reports to people.
SHOWN = tuple(
    f"pqd.reports.{name}"
    for name in ("text", "documents", "terminal", "markdown", "notebook", "html", "browser")
)

Source = Mapping[str, ast.Module]


@pytest.fixture(scope="module")
def house() -> dict[str, ast.Module]:
    """The modules of the three packages, by path."""
    paths = sorted(path for package in FORBIDDEN for path in (ROOT / package).rglob("*.py"))
    return {str(path.relative_to(ROOT)): ast.parse(path.read_text("utf-8")) for path in paths}


def imported(tree: ast.Module) -> Iterator[str]:
    """Yield what a module imports, wherever the import stands; of ``from a import b`` ``a.b``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "imports are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def module_of(path: str) -> str:
    """Dotted name of the module of ``path``; pqd links to the other two folders."""
    name = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return name if name.partition(".")[0] == "pqd" else f"pqd.{name}"


def package_of(name: str) -> str:
    """Package that an import names: ours by the name of its folder."""
    top, _, rest = name.partition(".")
    inner = rest.partition(".")[0]
    return inner if top == "pqd" and inner in FORBIDDEN else top


def called(tree: ast.Module) -> set[str]:
    """Last name of everything that a module calls."""
    functions = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return {f.attr if isinstance(f, ast.Attribute) else ast.unparse(f) for f in functions}


def floor_of(path: str) -> str:
    """Floor on which the module of ``path`` stands."""
    *folders, name = Path(path).with_suffix("").parts
    if len(folders) == 1 and (name == "__init__" or folders[0] != "deciders"):
        folders.append(name)
    floor = ".".join(folders)
    return floor if folders[0] == "pqd" else f"pqd.{floor}"


def target_of(name: str, modules: Mapping[str, str]) -> str | None:
    """Path of the module that an import names, or whose name it takes."""
    return modules.get(name) or modules.get(name.rpartition(".")[0])


def arrows(house: Source) -> Iterator[tuple[str, str]]:
    """Yield each import between floors, as the paths of both modules."""
    modules = {module_of(path): path for path in house}
    for path, tree in house.items():
        for name in imported(tree):
            target = target_of(name, modules)
            if target and floor_of(target) != floor_of(path):
                yield path, target


def upward(house: Source, floors: Sequence[str]) -> list[str]:
    """Imports that do not point down."""
    height = {name: -number for number, name in enumerate(floors)}
    return [
        f"{path} imports {target}"
        for path, target in arrows(house)
        if height[floor_of(target)] > height[floor_of(path)]
    ]


def test_imports_point_down(house: Source) -> None:
    """There is one order of all folders, so there is no circle; imports for types count too."""
    assert {floor_of(path) for path in house} == set(FLOORS)
    assert len(FLOORS) == len(set(FLOORS))
    assert upward(house, FLOORS) == []
    for path, tree in house.items():
        packages = {package_of(name) for name in imported(tree)}
        assert not packages & FORBIDDEN[path.partition("/")[0]], path


def test_words_for_people_are_a_matter_of_the_roof(house: Source) -> None:
    """Below the commands a remark is a Note; its sentence is made where it is shown."""
    roof = {"pqd.__main__", "pqd.cli", "pqd.pytest_plugin", "pqd.__init__", "pqd.commands"}
    for path, tree in house.items():
        if path.startswith("pqd/") and floor_of(path) not in roof:
            assert not [name for name in imported(tree) if name.startswith(SHOWN)], path


def test_no_folder_is_crowded(house: Source) -> None:
    sizes = Counter(str(Path(path).parent) for path in house if not path.endswith("__init__.py"))
    assert {folder for folder, size in sizes.items() if size > MOST_MODULES} == set()


def test_noise_of_the_product_is_secure(house: Source) -> None:
    for path, tree in house.items():
        calls = called(tree)
        assert path == MEANS or "SimulatedNoise" not in calls, path
        assert path == SIMULATE or "seeded" not in calls, path
        assert path == SIMULATION or "QuasiRandomNoise" not in calls, path
        assert path in SEEDED or not calls & {"default_rng", "RandomState", "seed"}, path
        sources = {name.partition(".")[0] for name in imported(tree)} & {"random", "secrets"}
        assert not sources - ({"secrets"} if path == SECURE else set()), path


def test_the_lower_packages_do_not_print(house: Source) -> None:
    for path, tree in house.items():
        if not path.startswith("pqd/"):
            assert not called(tree) & {"input", "breakpoint"}, path
        if path.startswith("deciders/"):
            assert not called(tree) & {"print", "open", "read_text", "write_text", "echo"}, path


def test_the_database_is_called_by_the_engine(house: Source) -> None:
    users = {
        path
        for path, tree in house.items()
        for name in imported(tree)
        if name.partition(".")[0] == "duckdb"
    }
    assert {str(Path(path).parent) for path in users} <= {
        *("pqd/engine", "pqd/engine/counting", "pqd/engine/sources")
    }


def test_the_rules_see_what_they_forbid() -> None:
    bad = ast.parse(
        "def f():\n    import duckdb.x\n    from pqd import cli\n    d.SimulatedNoise(3)"
    )
    assert set(imported(bad)) == {"duckdb.x", "pqd.cli"}
    assert called(bad) == {"SimulatedNoise"}
    house = {"pqd/errors.py": bad, "pqd/cli/__init__.py": ast.parse("import pqd.errors")}
    assert upward(house, FLOORS) == ["pqd/errors.py imports pqd/cli/__init__.py"]
