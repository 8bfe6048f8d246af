"""Power of the tests: whether a test notices a change of meaning in the code.

    python benchmarks/mutants.py --number 60 --seed 1 deciders pqd/accounting pqd/planning

The script draws changes at random, such as a swapped comparison, plus in place of minus, a dropped
condition, a constant off by one, min in place of max, or "and" in place of "or".  It makes each
change in a copy of the repository.  There it runs the tests of the changed module, and if these
pass, the tests of the module's room, of guarantees, and of whole runs.  The script prints each
change with the test that failed, or with the word SURVIVED.  If a change survived, it is equivalent
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
# If the tests run longer than this many seconds, the change counts as noticed.
PATIENCE = 1800


class Mutant(NamedTuple):
    """Change of a module: its place, the change in words, and the module's text after it."""

    path: Path
    line: int
    change: str
    text: str


def mutants(path: Path) -> Iterator[Mutant]:
    """All changes of a module: one for each way to change each node of its syntax tree.

    ``path`` is relative to the root of the repository.
    """
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    plain = {
        inner for node in ast.walk(tree) for part in unchanged(node) for inner in ast.walk(part)
    }
    for node in ast.walk(tree):
        if node in plain:
            continue
        for change, undo in changes(node):
            # A comprehension has no line number of its own, so take that of a node inside it.
            line = next(inner.lineno for inner in ast.walk(node) if hasattr(inner, "lineno"))
            yield Mutant(path, line, change, ast.unparse(tree) + "\n")
            undo()


def unchanged(node: ast.AST) -> Iterator[ast.AST]:
    """Parts of a node that are not changed, since no run reads them: annotations and decorators."""
    if isinstance(node, ast.FunctionDef):
        yield from filter(None, [node.returns, *node.decorator_list])
    if isinstance(node, ast.ClassDef):
        yield from node.decorator_list
    if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation:
        yield node.annotation


def changes(node: ast.AST) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield each change of a node in words, with a function that undoes the change.

    The node is changed when the pair is yielded.
    """

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
    """Test file with the name of a module; if there is none, the test folder of its folder."""
    folder = Path("tests") / path.parent
    named = folder / f"test_{path.stem}.py"
    while not (ROOT / folder).is_dir():
        folder = folder.parent
    return [str(named if (ROOT / named).exists() else folder)]


def room_of(path: Path) -> list[str]:
    """Test folders of a module's room, of guarantees, and of whole runs of the program."""
    room = path.parts[0] if path.parts[0] != "pqd" else str(Path(*path.parts[:2]))
    return [f"tests/{room}", "tests/privacy", "tests/statistics", "tests/end_to_end"]


def failure(copy: Path, tests: list[str]) -> str | None:
    """First test that fails in the copy of the repository; None if all tests pass."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    # With this path, tests and their child processes import the copy, not the installed package.
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
    """Draw the changes, test each of them, and print the results."""
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
