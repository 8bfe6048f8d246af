"""Options in messages: named as their reader writes them, in a shell, in Python or in a spec."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import pqd
import pqd.errors
from pqd.deciders.options import for_call, for_shell, for_spec, option

ROOT = Path(__file__).parents[2]
# Files of the command line itself, and the option that the pytest plugin adds to pytest.
OF_SHELL = ("pqd/cli/", "pqd/pytest_plugin.py", "pqd/__main__.py")
# An option alone, or a command that ``option`` takes: a constant that is shown by ``option``.
PHRASE = re.compile(r"(pqd [a-z]+ \.\.\. )?--[a-z-]+:?( \S*)?")
# Whole commands that a reader types into a shell, and an option of another program.
COMMAND = re.compile(r"pqd (ledger|check|lint|audit|release|init) .*|spark-submit --[a-z]+")
OPTION = re.compile(r"(?<![\w-])--[a-z]")
PUBLIC = (pqd.audit, pqd.profile, pqd.plan, pqd.compare, pqd.release, pqd.check, pqd.gate)
KEYWORDS = {name for each in PUBLIC for name in inspect.signature(each).parameters if "_" in name}
# Messages on specs, whose keys are named as Python's keywords.
OF_SPEC = ("pqd/spec/", "pqd/cli/", "deciders/options.py")
# Messages that only a caller of Python can see.
OF_PYTHON = ("text_format", "row_is_person is")
# Names that a JSON of a report, a spec, and Python share, told with where they stand.
KEYWORD = re.compile(rf"\b(?:{'|'.join(sorted(KEYWORDS))})\b|in Python\b")


def texts(file: Path) -> Iterator[tuple[int, str]]:
    """Lines and texts of the strings of a file that ``option`` does not translate."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    documented = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }

    def walk(node: ast.AST) -> Iterator[tuple[int, str]]:
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "option":
            return
        if isinstance(node, ast.JoinedStr):
            parts = (each.value for each in node.values if isinstance(each, ast.Constant))
            yield node.lineno, "{}".join(map(str, parts))
            for each in node.values:
                if isinstance(each, ast.FormattedValue):
                    yield from walk(each.value)
            return
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) not in documented:
                yield node.lineno, node.value
            return
        for child in ast.iter_child_nodes(node):
            yield from walk(child)

    yield from walk(tree)


def sources() -> list[Path]:
    files = [*(ROOT / "pqd").rglob("*.py"), *(ROOT / "reports").rglob("*.py")]
    files += (ROOT / "deciders").rglob("*.py")
    return [each for each in files if not each.is_relative_to(ROOT / "pqd/reports")]


def name(file: Path) -> str:
    return str(file.relative_to(ROOT))


def test_no_message_of_the_library_names_an_option_that_python_lacks() -> None:
    wrong = [
        f"{name(file)}:{line}: {text}"
        for file in sources()
        if not name(file).startswith(OF_SHELL)
        for line, text in texts(file)
        if OPTION.search(COMMAND.sub("", text)) and not PHRASE.fullmatch(text)
    ]
    assert not wrong, "\n".join(wrong)


def test_no_message_names_a_keyword_that_the_command_line_lacks() -> None:
    wrong = [
        f"{name(file)}:{line}: {text}"
        for file in sources()
        if not name(file).startswith(OF_SPEC)
        for line, text in texts(file)
        if " " in text and KEYWORD.search(text) and "[" not in text
        if not text.startswith(OF_PYTHON)
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("shell", "python", "spec"),
    [
        ("--tau 5%", 'tau="5%"', 'tau = "5%"'),
        ("--total-epsilon 1.25", "total_epsilon=1.25", "total_epsilon = 1.25 in [shared_budget]"),
        ("--total-epsilon 4/67", 'total_epsilon="4/67"', None),
        ("--row-is-person", "row_is_person=True", "row_is_person = true in [privacy]"),
        ("--unit person_id", 'unit="person_id"', 'unit = "person_id" in [privacy]'),
        ("--unit '\" Patient ID \"'", 'unit=" Patient ID "', 'unit = " Patient ID " in [privacy]'),
        ("--unit ID", 'unit="ID"', 'unit = "ID" in [privacy]'),
        ("--bounds", 'columns={"NAME": {"bounds": (LOW, HIGH)}}', "bounds in [columns.NAME]"),
        (
            "--bounds age=0:100",
            'columns={"age": {"bounds": (0, 100)}}',
            "bounds = [0, 100] in [columns.age]",
        ),
        (
            '--type "Patient ID=text"',
            'columns={"Patient ID": {"type": "text"}}',
            'type = "text" in [columns."Patient ID"]',
        ),
        ("--cells COLUMN=5", 'cells={"COLUMN": 5}', "cells = 5 in [columns.NAME]"),
        (
            "--decimal , --thousands .",
            'text_format=pqd.TextFormat(decimal=",", thousands=".")',
            'decimal = "," in [text], thousands = "." in [text]',
        ),
        ("--missing ''", 'text_format=pqd.TextFormat(missing=[""])', 'missing = [""] in [text]'),
        ("--private-rows N", "private_rows=N", "rows = N in [private]"),
        ("--columns city", 'columns=["city"]', "judge = true in [columns.city]"),
        ("--copy-epsilon boot=1", 'copy_epsilon={"boot": 1}', "copy_epsilon in [synthetic.NAME]"),
        ("--metadata a.json", 'metadata="a.json"', 'file = "a.json" in [metadata]'),
        ("--threads 1", "the variable PQD_THREADS", None),
        ("--gate 0.25", "gate=0.25", None),
        (
            "pqd profile ... --total-epsilon 1.25 --zoom 5",
            "pqd.profile(..., total_epsilon=1.25, zoom=5)",
            None,
        ),
    ],
)
def test_an_option_is_written_as_its_reader_writes_it(
    shell: str, python: str, spec: str | None
) -> None:
    assert option(shell) == python
    with for_shell():
        assert option(shell) == shell
        if spec is not None:
            with for_spec():
                assert option(shell) == spec
    with for_call("facts"):
        assert option(shell) == python.replace("columns={", "facts={")


def test_one_mistake_is_told_in_the_words_of_python_and_of_the_command_line() -> None:
    with pytest.raises(pqd.errors.ParameterError, match=r"^tau is missing; give it"):
        pqd.plan("samples/census_synthetic.parquet", "SELECT COUNT(*) FROM D", epsilon=1)
