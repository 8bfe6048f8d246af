"""Makes the tables of docs/architecture.md: size and imports of the code, files that a run enters.

python docs/make_architecture.py                  writes the tables
python docs/make_architecture.py --measure ROOT   prints the numbers of another checkout as JSON
"""

import argparse
import ast
import functools
import io
import json
import os
import subprocess
import sys
import tempfile
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs" / "architecture.md"
PACKAGES = ("pqd", "reports", "deciders")
BEGIN, END = "<!-- made by `make architecture` -->", "<!-- end of what is made -->"
TABLES = "samples/census_private.parquet samples/census_synthetic.parquet"
RUNS = {
    "audit": f"audit {TABLES} --queries samples/demo.sql --tau 10% --epsilon 0.25",
    "profile": f"profile {TABLES}",
    "release": "release samples/office.toml",
}
# Output of python docs/make_architecture.py --measure ROOT; ROOT is a checkout of this commit.
BEFORE_COMMIT = "38498a3"
BEFORE = {
    "lines of Python": "55,108",
    "of them code": "30,578",
    "of them docstrings": "9,022",
    "of them comments": "785",
    "of them blank": "9,201",
    "of them imports": "5,522",
    "lines of templates, styles and scripts": "1,747",
    "files": "408",
    "functions": "3,763",
    "largest file, median": "401, 124 lines",
    "median function": "6 lines",
    "folders": "32",
    "most modules in one folder": "15 (`pqd/`)",
    "import floors of rooms": "20",
    "import floors of files": "37",
    "import circles of rooms": "0",
    "import circles of files": "0",
    "files of `pqd/` that import reports": "76",
    "of them below the commands": "48",
    "files entered by one `pqd audit`": "142",
    "files entered by one `pqd profile`": "111",
    "files entered by one `pqd release`": "153",
}

# Kinds of lines that are not code; and files of pqd/ that are commands or lie above the commands.
KINDS = ("docstrings", "comments", "blank", "imports")
UPPER = ("pqd/__", "pqd/pytest_plugin", "pqd/cli/", "pqd/api/", "pqd/commands/")

Graph = Mapping[str, Iterable[str]]


def modules(root: Path) -> dict[str, Path]:
    """Path of each module by its dotted name; a package has the path of its `__init__.py`."""
    found: dict[str, Path] = {}
    for package in PACKAGES:
        # pqd/reports and pqd/deciders are links; an older checkout has no links.
        inner = ("pqd",) if (root / "pqd" / package).is_symlink() else ()
        for path in sorted((root / package).rglob("*.py")):
            parts = (*inner, *path.relative_to(root).with_suffix("").parts)
            found[".".join(parts).removesuffix(".__init__")] = path
    return found


def imports(path: Path, names: Iterable[str]) -> Iterator[str]:
    """Modules among `names` that a file imports, at the top or inside a function."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                target = inner if inner in names else node.module
                if target in names:
                    yield target


def room(name: str, paths: Mapping[str, Path]) -> str:
    """Room of a module: its folder.

    A file that lies in pqd/ or reports/ itself, such as errors.py, is a room of its own.  The
    `__init__.py` of a package is a room of its own too: it has the names for other packages, and
    the files of its own package do not import it.
    """
    if name.removeprefix("pqd.") in PACKAGES:
        return f"{name}.__init__"
    if paths[name].name == "__init__.py" or paths[name].parent.name in {"pqd", "reports"}:
        return name
    return name.rpartition(".")[0]


def file_graph(root: Path) -> dict[str, set[str]]:
    """Modules that each module imports."""
    paths = modules(root)
    return {name: set(imports(path, paths)) - {name} for name, path in paths.items()}


def room_graph(root: Path) -> dict[str, set[str]]:
    """Rooms that the files of each room import."""
    paths = modules(root)
    graph: dict[str, set[str]] = {room(name, paths): set() for name in paths}
    for name, targets in file_graph(root).items():
        own = room(name, paths)
        graph[own] |= {room(target, paths) for target in targets} - {own}
    return graph


def reachable(graph: Graph) -> dict[str, set[str]]:
    """Nodes that can be reached from each node in one or more steps."""
    reach: dict[str, set[str]] = {}
    for start in graph:
        seen: set[str] = set()
        queue = list(graph[start])
        while queue:
            node = queue.pop()
            if node not in seen:
                seen.add(node)
                queue.extend(graph[node])
        reach[start] = seen
    return reach


def circles(graph: Graph) -> list[list[str]]:
    """Sets of nodes that reach each other, largest first."""
    reach = reachable(graph)
    groups = {
        frozenset(other for other in reach[node] if node in reach[other])
        for node in graph
        if node in reach[node]
    }
    return sorted((sorted(group) for group in groups), key=lambda group: (-len(group), group))


def floors(graph: Graph) -> int:
    """Number of nodes on the longest path of imports; a circle counts as one node."""
    whole = {node: frozenset([node]) for node in graph}
    whole |= {node: frozenset(group) for group in circles(graph) for node in group}

    @functools.cache
    def height(group: frozenset[str]) -> int:
        below = {whole[target] for node in group for target in graph[node]} - {group}
        return 1 + max((height(lower) for lower in below), default=0)

    return max(height(group) for group in whole.values())


def folders(root: Path) -> dict[str, int]:
    """Number of modules in each folder, `__init__.py` not counted."""
    counts: dict[str, int] = {}
    for path in modules(root).values():
        folder = str(path.parent.relative_to(root))
        counts[folder] = counts.get(folder, 0) + (path.name != "__init__.py")
    return counts


def kinds_of_lines(text: str) -> dict[str, int]:
    """Number of lines of each kind in a module: docstrings, comments, blank, imports and code."""
    lines = text.splitlines()
    kinds = ["code" if line.strip() else "blank" for line in lines]
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and token.line.strip() == token.string:
            kinds[token.start[0] - 1] = "comments"
    for node in ast.walk(ast.parse(text)):
        kind = None
        if isinstance(node, ast.Import | ast.ImportFrom):
            kind = "imports"
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            kind = "docstrings" if isinstance(node.value.value, str) else None
        if kind:
            first, last = node.lineno, node.end_lineno or node.lineno
            kinds[first - 1 : last] = [kind] * (last - first + 1)
    return Counter(kinds)


def sizes(root: Path) -> dict[str, str]:
    """Numbers of lines by kind, of files and of functions, and lines of templates and scripts."""
    texts = {name: path.read_text(encoding="utf-8") for name, path in modules(root).items()}
    kinds: Counter[str] = Counter()
    functions: list[int] = []
    for text in texts.values():
        kinds.update(kinds_of_lines(text))
        functions += [
            (node.end_lineno or node.lineno) - node.lineno + 1
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        ]
    files = sorted(len(text.splitlines()) for text in texts.values())
    templates = [
        path for path in (root / "reports").rglob("*") if path.suffix in {".j2", ".css", ".js"}
    ]
    pages = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in templates)
    told = {"lines of Python": sum(kinds.values()), "of them code": kinds["code"]}
    told |= {f"of them {kind}": kinds[kind] for kind in KINDS}
    told |= {"lines of templates, styles and scripts": pages, "files": len(files)}
    told |= {"functions": len(functions)}
    return {name: f"{number:,}" for name, number in told.items()} | {
        "largest file, median": f"{files[-1]}, {median(files):.0f} lines",
        "median function": f"{median(functions):.0f} lines",
    }


def structure(root: Path) -> dict[str, str]:
    """Numbers on the folders and on the imports: floors and circles of rooms and of files."""
    files, rooms = file_graph(root), room_graph(root)
    counts = folders(root)
    fullest = max(counts, key=lambda folder: counts[folder])

    def listed(graph: Graph) -> str:
        numbers = [len(group) for group in circles(graph)]
        return f"{len(numbers)} (largest: {numbers[0]})" if numbers else "0"

    return {
        "folders": str(len(counts)),
        "most modules in one folder": f"{counts[fullest]} (`{fullest}/`)",
        "import floors of rooms": str(floors(rooms)),
        "import floors of files": str(floors(files)),
        "import circles of rooms": listed(rooms),
        "import circles of files": listed(files),
    }


def users_of_reports(root: Path) -> dict[str, str]:
    """Number of files of pqd/ that import reports, and number of those below the commands."""
    paths = modules(root)
    reporting = {
        str(paths[name].relative_to(root))
        for name, targets in file_graph(root).items()
        if paths[name].is_relative_to(root / "pqd")
        and any(paths[target].is_relative_to(root / "reports") for target in targets)
    }
    below = [path for path in reporting if not path.startswith(UPPER)]
    return {
        "files of `pqd/` that import reports": str(len(reporting)),
        "of them below the commands": str(len(below)),
    }


# Program that runs a command and prints the files whose functions ran.  It is a text of its own,
# since it also runs in other checkouts.  It ignores code that runs while a module is imported.
TRACER = """
import sys, threading
root, arguments = sys.argv[1], sys.argv[2:]
sys.path.insert(0, root)
from pqd.cli import command_line
codes, local = set(), threading.local()

def watch(frame, event, argument):
    if event not in ("call", "return"):
        return
    importing = local.__dict__.setdefault("importing", 0)
    if frame.f_code.co_name == "<module>":
        local.importing = max(0, importing + (1 if event == "call" else -1))
    elif event == "call" and not importing:
        codes.add(frame.f_code)

threading.setprofile(watch)
sys.setprofile(watch)
try:
    command_line()(arguments)
except SystemExit as stop:
    assert not stop.code, stop.code
finally:
    sys.setprofile(None)
    names = {code.co_filename for code in codes}
    print("\\n".join(sorted(names)), file=sys.stderr)
"""


def entered(root: Path, command: str) -> set[str]:
    """Files of the three packages in which a function ran during a command, relative to `root`."""
    with tempfile.TemporaryDirectory() as folder:
        ledger = str(Path(folder) / "ledger.sqlite")
        done = subprocess.run(  # noqa: S603 - this interpreter, and commands stated above
            [sys.executable, "-c", TRACER, str(root), *command.split()],
            cwd=root,
            env={**os.environ, "PQD_LEDGER": ledger, "PYTHONHASHSEED": "0"},
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        sys.exit(f"pqd {command} failed:\n{done.stderr}")
    # pqd/reports and pqd/deciders are links.
    ours = {str(path.resolve()): path for path in modules(root).values()}
    names = {str(Path(line).resolve()) for line in done.stderr.splitlines() if line}
    return {str(ours[name].relative_to(root)) for name in names & set(ours)}


def measured(root: Path) -> dict[str, str]:
    """All numbers of the first table on a checkout."""
    numbers = sizes(root) | structure(root) | users_of_reports(root)
    for name, command in RUNS.items():
        numbers[f"files entered by one `pqd {name}`"] = str(len(entered(root, command)))
    return numbers


def comparison(now: Mapping[str, str]) -> Iterator[str]:
    """First table: numbers of an earlier checkout and of this one."""
    yield f"| | before (`{BEFORE_COMMIT}`) | now |"
    yield "| --- | ---: | ---: |"
    for name, value in now.items():
        yield f"| {name} | {BEFORE[name]} | {value} |"


def folder_table(root: Path) -> Iterator[str]:
    """Second table: number of modules in each folder."""
    yield "| folder | modules |"
    yield "| --- | ---: |"
    for folder, count in sorted(folders(root).items()):
        yield f"| `{folder}/` | {count} |"


def document(text: str, now: Mapping[str, str]) -> str:
    """Text of the document with new tables."""
    head, rest = text.split(BEGIN)
    tail = rest.split(END)[1]
    lines = [BEGIN, "", *comparison(now), "", *folder_table(ROOT), "", END]
    return head + "\n".join(lines) + tail


def main() -> None:
    """Write the tables, or print the numbers of another checkout."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", type=Path, metavar="ROOT", help="print numbers of a checkout")
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measured(options.measure.resolve()), indent=4))
    else:
        text = DOCUMENT.read_text(encoding="utf-8")
        DOCUMENT.write_text(document(text, measured(ROOT)), encoding="utf-8")


if __name__ == "__main__":
    main()
