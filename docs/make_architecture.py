"""Writes the tables of docs/architecture.md again: the shape of the code, and what a run enters.

python docs/make_architecture.py                  writes the tables
python docs/make_architecture.py --measure ROOT   prints the numbers of another checkout as JSON
"""

import argparse
import ast
import functools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs" / "architecture.md"
PACKAGES = ("pqd", "reports", "deciders")
BEGIN, END = "<!-- made by `make architecture` -->", "<!-- end of what is made -->"
TABLES = "samples/census_private.parquet samples/census_synthetic.parquet"
RUNS = {
    "audit": f"audit {TABLES} --queries samples/demo.sql --tau 10% --epsilon 0.25",
    "release": "release samples/office.toml",
}
# python docs/make_architecture.py --measure ROOT, with ROOT a checkout of this commit.
BEFORE_COMMIT = "06dc758"
BEFORE = {
    "modules": "184",
    "folders": "9",
    "most modules in one folder": "62 (`pqd/`)",
    "import floors of rooms": "19",
    "import floors of files": "30",
    "import circles of rooms": "3 (largest: 3)",
    "import circles of files": "2 (largest: 32)",
    "files entered by one `pqd audit`": "68",
    "pairs of files that call each other in one `pqd audit`": "180",
    "changes of file in one `pqd audit`": "21,846 (1,774 within `pqd/`)",
    "files entered by one `pqd release`": "88",
    "pairs of files that call each other in one `pqd release`": "224",
    "changes of file in one `pqd release`": "28,310 (4,704 within `pqd/`)",
}

Graph = Mapping[str, Iterable[str]]


def modules(root: Path) -> dict[str, Path]:
    """Path of each module by its dotted name, packages by their own."""
    found: dict[str, Path] = {}
    for package in PACKAGES:
        # pqd/reports and pqd/deciders are links; a checkout from before has none.
        inner = ("pqd",) if (root / "pqd" / package).is_symlink() else ()
        for path in sorted((root / package).rglob("*.py")):
            parts = (*inner, *path.relative_to(root).with_suffix("").parts)
            found[".".join(parts).removesuffix(".__init__")] = path
    return found


def imports(path: Path, names: Iterable[str]) -> Iterator[str]:
    """Modules among `names` that a file imports, wherever in the file the import stands."""
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
    """Folder of a module; a file of pqd/ itself (execution.py) is a room of its own.

    So are the names that a package offers to others, which its own files do not import.
    """
    if name.removeprefix("pqd.") in PACKAGES:
        return f"{name}.__init__"
    if paths[name].name == "__init__.py" or paths[name].parent.name == "pqd":
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
    """Nodes that can be reached from each node in one step or more."""
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
    """Nodes on the longest downward path, a circle counted as one node."""
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


def structure(root: Path) -> dict[str, str]:
    """What the text of the files tells: the part that is cheap to compute."""
    files, rooms = file_graph(root), room_graph(root)
    counts = folders(root)
    fullest = max(counts, key=lambda folder: counts[folder])

    def listed(graph: Graph) -> str:
        sizes = [len(group) for group in circles(graph)]
        return f"{len(sizes)} (largest: {sizes[0]})" if sizes else "0"

    return {
        "modules": str(sum(counts.values())),
        "folders": str(len(counts)),
        "most modules in one folder": f"{counts[fullest]} (`{fullest}/`)",
        "import floors of rooms": str(floors(rooms)),
        "import floors of files": str(floors(files)),
        "import circles of rooms": listed(rooms),
        "import circles of files": listed(files),
    }


# A program of its own, since it runs in another checkout too.  It counts while no module is
# being imported; files of libraries count as part of the file that called them.
TRACER = """
import sys, threading
root, arguments = sys.argv[1], sys.argv[2:]
sys.path.insert(0, root)
ours = tuple(f"{root}/{package}/" for package in ("pqd", "reports", "deciders"))
local, entered, pairs, changes = threading.local(), set(), set(), [0, 0]
inner = f"{root}/pqd/"
links = {f"{inner}{package}/": f"{root}/{package}/" for package in ("reports", "deciders")}

def file_of(code):
    for link, folder in links.items():
        if code.co_filename.startswith(link):
            return folder + code.co_filename.removeprefix(link)
    return code.co_filename

def count(one, other):
    if None not in (one, other) and one != other:
        pairs.add(frozenset((one, other)))
        changes[0] += 1
        changes[1] += one.startswith(inner) and other.startswith(inner)

def watch(frame, event, argument):
    if event not in ("call", "return") or not frame.f_code.co_filename.startswith(ours):
        return
    stack = local.__dict__.setdefault("stack", [])
    code = frame.f_code
    place = None if code.co_name == "<module>" or stack[-1:] == [None] else file_of(code)
    if event == "call":
        if place:
            entered.add(place)
        if stack:
            count(stack[-1], place)
        stack.append(place)
    elif stack:
        left = stack.pop()
        if stack:
            count(left, stack[-1])

from pqd.cli import command_line
threading.setprofile(watch)
sys.setprofile(watch)
try:
    command_line()(arguments)
except SystemExit as stop:
    assert not stop.code, stop.code
finally:
    sys.setprofile(None)
    print(len(entered), len(pairs), *changes, file=sys.stderr)
"""


def run(root: Path, command: str) -> list[str]:
    """Files that a command enters, pairs between which it changes, all changes, those in pqd/."""
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
    return [f"{int(count):,}" for count in done.stderr.splitlines()[-1].split()]


def measured(root: Path) -> dict[str, str]:
    """Everything that the first table tells of a checkout."""
    numbers = structure(root)
    for name, command in RUNS.items():
        entered, pairs, changes, inner = run(root, command)
        numbers[f"files entered by one `pqd {name}`"] = entered
        numbers[f"pairs of files that call each other in one `pqd {name}`"] = pairs
        numbers[f"changes of file in one `pqd {name}`"] = f"{changes} ({inner} within `pqd/`)"
    return numbers


def comparison(now: Mapping[str, str]) -> Iterator[str]:
    """First table: this checkout beside the one before the rooms were made."""
    yield f"| | before (`{BEFORE_COMMIT}`) | now |"
    yield "| --- | ---: | ---: |"
    for name, value in now.items():
        yield f"| {name} | {BEFORE[name]} | {value} |"


def folder_table(root: Path) -> Iterator[str]:
    """Second table: modules per folder."""
    yield "| folder | modules |"
    yield "| --- | ---: |"
    for folder, count in sorted(folders(root).items()):
        yield f"| `{folder}/` | {count} |"


def document(text: str, now: Mapping[str, str]) -> str:
    """The document with its tables made again."""
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
