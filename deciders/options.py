"""Options in messages: as a shell writes them, as Python does, or as a spec does.

A message holds each option in the form of the shell, such as ``option("--bounds age=0:100")``.
The command line shows it so.  Python shows ``columns={"age": {"bounds": (0, 100)}}``, and a spec
``bounds = [0, 100] in [columns.age]``.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

_SHELL: ContextVar[bool] = ContextVar("shell", default=False)
_SPEC: ContextVar[bool] = ContextVar("spec", default=False)
# Option in whose place another one stands.
_INSTEAD: ContextVar[tuple[str, str]] = ContextVar("instead", default=("", ""))
# Keyword of Python for facts of columns.
_FACTS_KEYWORD: ContextVar[str] = ContextVar("facts", default="columns")

# Name of an option, and its value; None where it has none.
Stated = tuple[str, str | None]
# Keywords of Python whose names are not those of the options.
_KEYWORDS: Mapping[str, str] = {
    "decider-option": "decider_options",
    "distance": "distances",
    "key": "keys",
    "mechanism-option": "mechanism_options",
    "query": "queries",
    "raise": "raising",
    "reference-epsilon": "references",
    "rule": "rules",
    "secret": "secrets",
    "tau-of": "tolerances",
    "weight": "weights",
    "with-references": "references",
    # A report in Python is printed without options of display: its page shows everything.
    "all": "open()",
    "explain": "open()",
    "verbose": "open()",
    "threads": "the variable PQD_THREADS",
}
# Options that a shell writes without a value.
_FLAGS = frozenset(
    {"anyway", "dry-run", "fresh", "isotonic", "marginals", "outside", "raise", "row-is-person"}
)
# Facts of one column, and parts of a text format; both have a name of their own in Python.
_FACTS, _FORMATS = ("bounds", "type"), ("decimal", "thousands", "dates", "missing")
_OF_COLUMN = frozenset({"bounds", "type", "cells"})
# Sections of a spec, and keys whose names are not those of the options.  An option that is not
# here is one of the run, and no key.
_SECTIONS: Mapping[str, str] = {
    **dict.fromkeys(("tau", "epsilon", "alpha", "decider", "outside", "scale", "ways"), ""),
    "decider-option": "",
    "query": "[[check]]",
    "queries": "[[check]]",
    "total-epsilon": "[shared_budget]",
    "sharing": "[shared_budget]",
    **dict.fromkeys(("unit", "max-rows", "row-is-person"), "[privacy]"),
    "private-rows": "[private]",
    **dict.fromkeys(_FORMATS, "[text]"),
    **dict.fromkeys(_OF_COLUMN, "[columns.NAME]"),
    "columns": "[columns.NAME]",
    "metadata": "[metadata]",
    "copy-epsilon": "[synthetic.NAME]",
    "attacks": "[[check]]",
    **dict.fromkeys(("held-out", "held-out-dataset", "held-out-rows"), "[held_out]"),
    **dict.fromkeys(("secret", "known"), "[risk]"),
    "names": "[budget]",
    "isotonic": "[release]",
    "mechanism-option": "[release]",
}
_KEYS = {
    "attacks": "risk",
    "columns": "judge",
    "decider-option": "decider_options",
    "held-out": "path",
    "held-out-dataset": "dataset",
    "held-out-rows": "rows",
    "mechanism-option": "mechanism_options",
    "metadata": "file",
    "private-rows": "rows",
    "queries": "sql",
    "query": "sql",
    "secret": "secrets",
}
_COMMAND = re.compile(r"pqd ([a-z]+) \.\.\. (.+)")
_OPTION = re.compile(r"(?:^| )--([a-z-]+)(?: (?!--)((?:\"[^\"]*\"|'[^']*'|[^ \"'])+))?")
_PLAIN = re.compile(r"\d+(\.\d+)?|[A-Z]+")


@contextmanager
def for_shell(*, stated: bool = True) -> Iterator[None]:
    """Context in which messages are read by who types commands, if ``stated`` is True."""
    token = _SHELL.set(stated)
    try:
        yield
    finally:
        _SHELL.reset(token)


@contextmanager
def for_call(facts: str) -> Iterator[None]:
    """Context of a call in Python whose keyword for facts of columns is ``facts``."""
    token = _FACTS_KEYWORD.set(facts)
    try:
        yield
    finally:
        _FACTS_KEYWORD.reset(token)


@contextmanager
def for_spec(*, stated: bool = True) -> Iterator[None]:
    """Context in which messages are about facts of a spec, if ``stated`` is True."""
    token = _SPEC.set(stated)
    try:
        yield
    finally:
        _SPEC.reset(token)


@contextmanager
def with_option(own: str, usual: str) -> Iterator[None]:
    """Context in which messages name the option ``own`` in the place of the ``usual`` one."""
    token = _INSTEAD.set((usual, own))
    try:
        yield
    finally:
        _INSTEAD.reset(token)


def by_reader(shell: str, python: str) -> str:
    """Words for who types commands, or for who calls functions of Python."""
    return shell if _SHELL.get() else python


def option(phrase: str) -> str:
    """Options as their reader writes them, such as ``epsilon=0.25`` for ``--epsilon 0.25``.

    ``phrase`` has one option or several, as in a shell, or a command such as
    ``pqd profile ... --zoom 5``.
    """
    usual, own = _INSTEAD.get()
    if usual:
        phrase = phrase.replace(usual, own)
    command = _COMMAND.fullmatch(phrase)
    options = _options(command[2] if command else phrase)
    if command is None and _SPEC.get() and all(name in _SECTIONS for name, _ in options):
        return ", ".join(_of_spec(*each) for each in options)
    if _SHELL.get():
        return phrase
    arguments = _in_python(options)
    return f"pqd.{command[1]}(..., {arguments})" if command else arguments


def _options(phrase: str) -> list[Stated]:
    """Names of the options of a phrase, with their values; None where an option has none."""
    return [
        (found[1], None if found[2] is None else " ".join(shlex.split(found[2])))
        for found in _OPTION.finditer(phrase)
    ]


def _in_python(options: list[Stated]) -> str:
    """Keywords of Python, as they stand in a call."""
    told = []
    formats = [
        name if value is None else f"{name}={_listed(name, value)}"
        for name, value in options
        if name in _FORMATS
    ]
    if formats:
        whole = all("=" in each for each in formats)
        inner = ", ".join(formats)
        told.append(f"text_format=pqd.TextFormat({inner})" if whole else f"{inner} of text_format")
    told += [_keyword(name, value) for name, value in options if name not in _FORMATS]
    return ", ".join(told)


def _keyword(name: str, stated: str | None) -> str:
    value = stated or ""
    keyword = _KEYWORDS.get(name, name.replace("-", "_"))
    if name in _FLAGS:
        return f"{keyword}=True"
    if name in _FACTS:
        column, _, fact = value.rpartition("=")
        step = f', "step": {_step(fact)}' if _step(fact) else ""
        of_column = f'{_quoted(column or "NAME")}: {{"{name}": {_fact(name, fact)}{step}}}'
        return f"{_FACTS_KEYWORD.get()}={{{of_column}}}"
    if not value or keyword.startswith(("open", "the ")):
        return keyword
    column, sign, number = value.rpartition("=")
    if sign:
        return f"{keyword}={{{_quoted(column)}: {_value(number)}}}"
    if name in {"columns", "key"}:
        return f"{keyword}=[{_quoted(value)}]"
    return f"{keyword}={_quoted(value) if name == 'unit' else _value(value)}"


def _of_spec(name: str, stated: str | None) -> str:
    """Key of a spec, with its value and the section where it stands."""
    value = stated or ""
    key, section = _KEYS.get(name, name.replace("-", "_")), _SECTIONS[name]
    if name in _OF_COLUMN:
        column, _, value = value.rpartition("=")
    else:
        column = value if name == "columns" else ""
    if column and column != "COLUMN":
        bare = re.fullmatch(r"[A-Za-z0-9_-]+", column)
        name_of = column if bare else _quoted(column)
        section = section.replace("NAME", name_of)
    if name in {"columns", "row-is-person", "outside", "isotonic"}:
        value = "true"
    elif name == "bounds" and value:
        step = f", step = {_step(value)}" if _step(value) else ""
        value = _fact(name, value).replace("(", "[").replace(")", "]") + step
    elif name == "unit" and value:
        value = _quoted(value)
    elif stated is not None and "=" not in value:
        value = _listed(name, value)
    told = f"{key} = {value}" if value and ("=" not in value or "step =" in value) else key
    return f"{told} in {section}" if section else told


def _fact(name: str, text: str) -> str:
    """Fact of a column as Python writes it: a pair of bounds, or the word for a kind."""
    if name == "type":
        return json.dumps(text or "KIND")
    ends = (text or "LOW:HIGH").split(":")[:2]
    return f"({', '.join(end or 'None' for end in ends)})"


def _step(bounds: str) -> str:
    """Step that stands behind two bounds, such as 5 in ``0:100:5``."""
    return "".join(bounds.split(":")[2:])


def _listed(name: str, value: str) -> str:
    """Part of a text format; days and missing cells are lists."""
    if name in {"dates", "missing"}:
        return json.dumps(value.split(",") if name == "missing" else [value], ensure_ascii=False)
    return json.dumps(value, ensure_ascii=False) if name in _FORMATS else _value(value)


def _quoted(name: str) -> str:
    return json.dumps(_unquoted(name), ensure_ascii=False)


def _value(text: str) -> str:
    return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)


def _unquoted(name: str) -> str:
    return name[1:-1] if len(name) > 1 and name[0] == name[-1] == '"' else name
