"""Power of the tests: changes of meaning, one at a time, that some test should notice.

    python benchmarks/mutants.py --number 60 --seed 1 deciders pqd/accounting pqd/planning

Draws as many changes at random: a comparison swapped, plus for minus, a condition dropped, a
constant off by one, min for max, and for or.  Each is made in a copy of the repository, where the
tests of the module run, then those of its room, of guarantees, and whole runs.
Prints each change with the test that failed, or that it survived.  A survivor is either equivalent,
or a test is missing.
"""

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
SWAPPED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}
OTHERS = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum"}
# Seconds after which a change that makes a test hang counts as noticed.
PATIENCE = 1800


class Mutant(NamedTuple):
    """Change of a module: its place, what it does in words, and the text with it."""

    path: Path
    line: int
    change: str
    text: str


def mutants(path: Path) -> Iterator[Mutant]:
    """Changes of a module at a path from the root, one for each way to change each of its nodes."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    plain = {
        inner for node in ast.walk(tree) for part in unchanged(node) for inner in ast.walk(part)
    }
    for node in ast.walk(tree):
        if node in plain:
            continue
        for change, undo in changes(node):
            # A comprehension has no line of its own.
            line = next(inner.lineno for inner in ast.walk(node) if hasattr(inner, "lineno"))
            yield Mutant(path, line, change, ast.unparse(tree) + "\n")
            undo()


def unchanged(node: ast.AST) -> Iterator[ast.AST]:
    """Parts of a node that no run reads: annotations, and sizes of caches in decorators."""
    if isinstance(node, ast.FunctionDef):
        yield from filter(None, [node.returns, *node.decorator_list])
    if isinstance(node, ast.ClassDef):
        yield from node.decorator_list
    if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation:
        yield node.annotation


def changes(node: ast.AST) -> Iterator[tuple[str, Callable[[], None]]]:
    """Words of each change of a node, which stays until the function beside them is called."""

    def put(name: str, value: object) -> Callable[[], None]:
        before = getattr(node, name)
        setattr(node, name, value)
        return lambda: setattr(node, name, before)

    match node:
        case ast.Compare(ops=[operation]) if type(operation) in SWAPPED:
            other = SWAPPED[type(operation)]()
            yield f"{type(operation).__name__} -> {type(other).__name__}", put("ops", [other])
        case ast.BinOp(op=ast.Add() | ast.Sub()):
            other_sign = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
            yield f"{type(node.op).__name__} -> {type(other_sign).__name__}", put("op", other_sign)
        case ast.BoolOp():
            joint = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            yield f"{type(node.op).__name__} -> {type(joint).__name__}", put("op", joint)
            for place, value in enumerate(node.values):
                rest = [each for each in node.values if each is not value]
                yield f"condition {place + 1} dropped", put("values", [*rest, rest[-1]])
        case ast.comprehension(ifs=[_, *_]):
            yield "filter dropped", put("ifs", [])
        case ast.Constant(value=int() as number) if not isinstance(number, bool):
            yield f"{number} -> {number + 1}", put("value", number + 1)
        case ast.Name(id=name) if name in OTHERS:
            yield f"{name} -> {OTHERS[name]}", put("id", OTHERS[name])
        case ast.Attribute(attr=name) if name in OTHERS:
            yield f"{name} -> {OTHERS[name]}", put("attr", OTHERS[name])


def tests_of(path: Path) -> list[str]:
    """Tests that mirror a module, or its folder where none does by name."""
    folder = Path("tests") / path.parent
    named = folder / f"test_{path.stem}.py"
    while not (ROOT / folder).is_dir():
        folder = folder.parent
    return [str(named if (ROOT / named).exists() else folder)]


def room_of(path: Path) -> list[str]:
    """Tests of a module's room, of its guarantees, and of whole runs of the program."""
    room = path.parts[0] if path.parts[0] != "pqd" else str(Path(*path.parts[:2]))
    return [f"tests/{room}", "tests/privacy", "tests/statistics", "tests/end_to_end"]


def failure(copy: Path, tests: list[str]) -> str | None:
    """First test that fails in the copy, None if all pass."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    # The copy stands before the package that is installed, in processes of tests too.
    environment = os.environ | {"PYTHONPATH": str(copy), "PYTHONHASHSEED": "0"}
    try:
        done = subprocess.run(  # noqa: S603 - the tests of this repository
            command,
            cwd=copy,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )
    except subprocess.TimeoutExpired:
        return "no end"
    if not done.returncode:
        return None
    told = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return told[0].partition(" - ")[0] if told else f"exit code {done.returncode}"


def main() -> None:
    """Draw the changes, and print what became of each."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--number", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    paths = [path for name in options.folders for path in sorted((ROOT / name).rglob("*.py"))]
    every = [mutant for path in paths for mutant in mutants(path.relative_to(ROOT))]
    drawn = random.Random(options.seed).sample(every, min(options.number, len(every)))
    survived = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        shutil.copytree(ROOT, copy, symlinks=True, ignore=shutil.ignore_patterns(".*", "build"))
        for mutant in drawn:
            place = copy / mutant.path
            before = place.read_text(encoding="utf-8")
            place.write_text(mutant.text, encoding="utf-8")
            found = failure(copy, tests_of(mutant.path)) or failure(copy, room_of(mutant.path))
            place.write_text(before, encoding="utf-8")
            survived += found is None
            told = found or "SURVIVED"
            print(f"{mutant.path}:{mutant.line}: {mutant.change}: {told}", flush=True)
    print(f"{survived} of {len(drawn)} changes survived, of {len(every)} possible")


if __name__ == "__main__":
    main()
