"""Advice in messages on wrong usage of the command line: what was probably meant."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from typer._click.exceptions import MissingParameter, NoSuchOption

from pqd.deciders.names import pasted
from pqd.engine.sources.locations import like_table

if TYPE_CHECKING:
    from typer._click.exceptions import UsageError

_EXTRA = "extra argument"
_SQL = re.compile(r"\s*SELECT\b", re.IGNORECASE)
# What a missing table is, by the name of its argument.
_TABLES = {"private": "the private table", "synthetic": "the synthetic copy"}


def usage_advice(error: UsageError, arguments: Sequence[str]) -> str:
    """Advice on an error of usage, given the ``arguments`` of the command; empty if there is none.

    It quotes words of the caller alone.
    """
    command = error.ctx.command_path if error.ctx else "pqd"
    if isinstance(error, MissingParameter):
        name = str(error.param.name) if error.param else ""
        if name not in _TABLES:
            return ""
        tables = [word for word in arguments if like_table(word)] or ["PRIVATE"]
        return f"Name {_TABLES[name]} too: {command} {shlex.join(tables[:1])} COPY"
    if isinstance(error, NoSuchOption):
        both = error.option_name == "--epsilon" and "--total-epsilon" in (error.possibilities or ())
        return "The budget of the whole run is --total-epsilon." if both else ""
    if _EXTRA not in error.message:
        return ""
    return _of_extra(error.message.partition("(s) (")[2].removesuffix(")"), arguments)


def _of_extra(extra: str, arguments: Sequence[str]) -> str:
    """Advice on words that belong to no option."""
    if _SQL.match(extra):
        return f'A query is given by -q: -q "{extra}"'
    first = extra.split(" ", maxsplit=1)[0]
    place = arguments.index(first) if first in arguments else 0
    if place < 2 or not arguments[place - 2].startswith("-"):
        return ""
    option, value = arguments[place - 2], arguments[place - 1]
    if value.startswith("--"):
        return f"{option} lacks its value: {option} VALUE {value} {first}"
    if option in {"--columns", "--key"}:
        return f"Separate several names by commas: {option} {value},{first}"
    if option.startswith("--"):
        return f"A value with blanks takes quotes: {option} {pasted(f'{value} {first}')}"
    return ""
