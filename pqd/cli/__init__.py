"""The command line: each command has a file; this file runs commands and sets exit codes.

The module of a command is imported only when the command runs, or when the help lists all commands.
"""

from __future__ import annotations

import io
import shlex
import sys
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from typer._click.exceptions import UsageError
from typer.core import TyperGroup

import pqd
import pqd.commands
from pqd.cli.help_panels import PanelCommand
from pqd.cli.streams import LostOutputError, inert_streams, mend_width
from pqd.deciders.errors import ParameterError, PqdError, readable
from pqd.deciders.names import suggestion
from pqd.deciders.options import for_shell
from pqd.engine.sources.locations import like_table
from pqd.engine.sources.postgres_address import without_address
from pqd.exception_barrier import withheld
from pqd.interrupts import PRESSED, charged_so_far, exit_code, heed, interruption
from pqd.paths import numbered_alike
from pqd.reports.escape import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Exit code that Typer gives after a KeyboardInterrupt, whatever signal raised the interrupt.
_INTERRUPTED = 130


def _first(name: str) -> str | None:
    """Command that a message proposes to a caller who names a file but no command."""
    if name.lower().endswith(".toml"):
        return "check"
    return "profile" if like_table(name) else None


class _Commands(TyperGroup):
    """Commands of pqd; a caller who names a file but no command gets a proposal."""

    def main(self, *arguments: Any, **settings: Any) -> Any:  # noqa: ANN401 - those of Click
        """Run a command; its messages name options as a shell writes them."""
        with for_shell():
            return super().main(*arguments, **settings)

    def parse_args(self, ctx: typer._click.Context, args: list[str]) -> list[str]:
        """Arguments for the command; ParameterError if the first argument names a file."""
        first = _first(args[0]) if args else None
        if first and not ctx.resilient_parsing:
            raise ParameterError(
                f"no command is given; to begin with: pqd {first} {shlex.join(args)}"
            )
        if args and args[0] not in self.commands:
            # Imported here, since only a wrong command needs it.
            from pqd.cli.usage import COMMANDS

            if meant := COMMANDS.get(args[0]):
                raise ParameterError(f"pqd has no command {args[0]!r}; {meant}")
        with _brief_usage(args):
            return super().parse_args(ctx, args)

    def invoke(self, ctx: typer._click.Context) -> object:
        """Result of the command; a message about wrong arguments shows no address."""
        with _brief_usage(sys.argv[1:]):
            return super().invoke(ctx)


@contextmanager
def _brief_usage(arguments: Sequence[str]) -> Iterator[None]:
    """Context in which messages about wrong usage advise, are brief, and quote no address.

    ``arguments`` are those of the command line.
    """
    try:
        yield
    except UsageError as error:
        # Imported here, since only a wrong command needs it.
        from pqd.cli.usage import usage_advice

        advice = usage_advice(error, arguments)
        error.message = readable(without_address("\n".join(filter(None, [error.message, advice]))))
        raise


class _OnTables(PanelCommand):
    """Command on tables; a message advises quotes if the shell expanded a pattern."""

    def parse_args(self, ctx: typer._click.Context, args: list[str]) -> list[str]:
        """Arguments that Typer has not parsed.

        Raises
        ------
        ParameterError
            If there are too many tables, or if both tables look like parts of one private table:
            one part would then be taken as public.
        """
        words = pairwise([*args])
        try:
            left = super().parse_args(ctx, args)
        except UsageError as error:
            said, _, extra = error.message.rpartition(" (")
            if "extra argument" not in said or not any(map(like_table, extra[:-1].split())):
                raise
            left = None
        if left is None:
            valued = {
                name
                for each in self.params
                if not getattr(each, "is_flag", True)
                for name in each.opts
            }
            for option, word in words:
                if option in valued and word.startswith("--"):
                    raise ParameterError(f"{option} needs a value, and {word} follows it")
            if "private" not in ctx.params:
                raise ParameterError(
                    f"{ctx.command_path} reads the copy alone; name this one table"
                )
            raise ParameterError(
                f"{ctx.command_path} is given too many tables; a pattern of parts stands in "
                "quotes, such as 'people/*.csv', since the shell makes many names of it"
            )
        tables = [str(ctx.params.get(name) or "") for name in ("private", "synthetic")]
        if numbered_alike(*tables):
            raise ParameterError(
                f"{' and '.join(tables)} differ in a number alone, as the parts of one table do; "
                "put a pattern of parts in quotes, such as 'people/*.csv', and give a copy a name "
                "that says so"
            )
        return left


# Commands in the order of the help, with their classes.  A command's module and function have the
# name of the command.
_COMMANDS: dict[str, type[PanelCommand]] = {
    "profile": _OnTables,
    "lint": _OnTables,
    "audit": _OnTables,
    "plan": _OnTables,
    "check": PanelCommand,
    "compare": _OnTables,
    "release": _OnTables,
    "risk": _OnTables,
    "init": _OnTables,
    "spec": PanelCommand,
}
_LEDGER = "ledger"
_HELP = frozenset({"-h", "--help", "--help-all"})


@cache
def command_line(*names: str) -> typer.Typer:
    """Command line with the commands ``names``; by default with all commands and ``pqd help``."""
    line = typer.Typer(
        name="pqd",
        cls=_Commands,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="markdown",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    line.callback()(_root)
    for name in names or (*_COMMANDS, _LEDGER):
        module = import_module(f"pqd.cli.{name}")
        if name == _LEDGER:
            line.add_typer(module.app, name=name)
        else:
            # A check needs no argument where ``pqd init`` has written a spec.
            needy = name != "check"
            line.command(name=name, cls=_COMMANDS[name], no_args_is_help=needy)(vars(module)[name])
    if not names:
        line.command(name="help")(_help)
    return line


def _version(value: bool) -> None:
    if value:
        typer.echo(f"pqd {pqd.__version__}")
        raise typer.Exit


def _root(
    version: bool = typer.Option(
        False, "--version", help="Show the version and exit.", callback=_version, is_eager=True
    ),
) -> None:
    """Tell, under differential privacy, which queries can be trusted on synthetic data.

    Exit codes: 0 done, 1 a check failed, 2 usage or spec error, 3 the run broke, 4 budget refused
    (nothing spent), 5 nothing selected; 130 interrupted, 143 terminated.
    """


def _help(
    context: typer.Context,
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="command", help="The command, such as audit or ledger show."),
    ] = None,
) -> None:
    """Show what a command does and its options, as its --help does."""
    shown = context.find_root()
    for word in words or ():
        commands = getattr(shown.command, "commands", {})
        if word not in commands:
            advice = suggestion(word, commands) if commands else "leave it out"
            raise ParameterError(f"{shown.command_path} has no command {word!r}; {advice}")
        shown = shown.command.context_class(commands[word], info_name=word, parent=shown)
    typer.echo(shown.get_help())


def main() -> None:
    """Run the command line; each error ends it with one message on stderr and an exit code."""
    # A terminal may lack a character: escape the character, so that no verdict is lost.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if charges := sys.modules.get("pqd.accounting.charge_report"):
        charges.begin_charges()
    mend_width()
    try:
        with inert_streams():
            _run()
    except SystemExit:
        # The message about the interrupt has been written.
        PRESSED.clear()
        raise


def _run() -> None:
    try:
        heed()
        named = [name for name in sys.argv[1:2] if name in _COMMANDS or name == _LEDGER]
        command_line(*named)()
    except SystemExit as ended:
        if ended.code == _INTERRUPTED:
            _interrupted()
        raise
    except LostOutputError as error:
        charged = charged_so_far()
        # If nothing was paid for, a reader such as ``head`` may stop early without a message.
        if charged or not error.unread:
            _fail(f"pqd: {error}; {charged or 'nothing was spent'}", error.exit_code)
        # Whoever reads only the first lines of a help has read what they wanted.
        sys.exit(0 if _shows_help(sys.argv[1:]) else error.exit_code)
    except PqdError as error:
        if PRESSED:
            _interrupted()
        _fail(f"pqd: {_with_charge(str(error))}", error.exit_code)
    except KeyboardInterrupt:
        _interrupted()
    except Exception as error:  # noqa: BLE001 - the last guard: a message may hold a private value
        if PRESSED:
            _interrupted()
        _fail(f"pqd: {_with_charge(withheld(error))}", 3)


def _shows_help(arguments: list[str]) -> bool:
    """Whether a command line asks for help alone."""
    return arguments[:1] in ([], ["help"]) or not _HELP.isdisjoint(arguments)


def _with_charge(message: str) -> str:
    """Message that ends with a sentence about what was charged before the error."""
    charges = sys.modules.get("pqd.accounting.charge_report")
    return str(charges.with_charges(message)) if charges else message


def _interrupted() -> NoReturn:
    """Print what the interrupted run cost, and end with the exit code of the signal."""
    _fail(interruption(), exit_code())


def _fail(message: str, code: int) -> NoReturn:
    with suppress(OSError, AttributeError):
        sys.stderr.write(visible(without_address(message), keep="\n") + "\n")
    sys.exit(code)
