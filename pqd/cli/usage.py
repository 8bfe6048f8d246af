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
# What to write in place of an option, by command and option or by option alone.
_OPTIONS = {
    "--dry-run": "pqd plan says from the copy alone what queries need; it costs nothing.",
    "--help-all": "--help shows all there is.",
    "check --junit": "The form is --output junit=FILE.",
    "init -o": "The spec goes where --file says: --file FILE.",
    "init --output": "The spec goes where --file says: --file FILE.",
    "lint --columns": "pqd lint looks at all columns; --bounds and --type state facts of one.",
}
# What to write in place of a command.
COMMANDS = {
    "explain": "add --explain q1 to the command that asked the query; the answer is replayed at no "
    "cost",
    "gate": "add --gate 0.25 to pqd profile, pqd audit or pqd check",
    "limit": "write pqd ledger limit",
    "register": "it is a function of Python, pqd.register",
    "show": "write pqd ledger show",
    "simulate": "it is a function of Python, pqd.simulate",
    "statement": "write pqd ledger statement",
    "version": "write pqd --version",
}
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
            return next((line.strip() for line in _help(error) if "Example:" in line), "")
        tables = [word for word in arguments if like_table(word)] or ["PRIVATE"]
        return f"Name {_TABLES[name]} too: {command} {shlex.join(tables[:1])} COPY"
    if isinstance(error, NoSuchOption):
        advice = _of_option(error.option_name, command.removeprefix("pqd "), error.possibilities)
        if advice:
            error.possibilities = None
        return advice
    if _EXTRA not in error.message:
        return ""
    return _of_extra(error.message.partition("(s) (")[2].removesuffix(")"), arguments)


def _help(error: UsageError) -> list[str]:
    """Lines of the help of the command that was typed."""
    return ((error.ctx and error.ctx.command.help) or "").splitlines()


def _of_option(option: str, command: str, near: Sequence[str] | None) -> str:
    """Advice on an option that the command lacks; ``near`` are similar ones that it has."""
    if option == "--epsilon" and "--total-epsilon" in (near or ()):
        return "The budget of the whole run is --total-epsilon."
    if option == "--ledger" and command.startswith("ledger "):
        return f"The ledger itself is the argument: pqd {command} FILE."
    if known := _OPTIONS.get(f"{command} {option}") or _OPTIONS.get(option):
        return known
    # Imported here, since all commands are imported to see which one has the option.
    from typer.main import get_command

    from pqd.cli import command_line

    commands = vars(get_command(command_line()))["commands"]
    owners = [
        f"pqd {name}"
        for name, each in commands.items()
        if any(option in parameter.opts for parameter in each.params)
    ]
    return f"{option} is an option of {', '.join(owners)}." if owners else ""


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
