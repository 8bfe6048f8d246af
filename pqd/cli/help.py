"""pqd help: what `--help` shows, of the program or of one command."""

from __future__ import annotations

from typing import Annotated

import typer

from pqd.errors import ParameterError


def help_of(
    context: typer.Context,
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[COMMAND]...", help="The command, such as audit or ledger show."),
    ] = None,
) -> None:
    """Show what a command does and its options, as its --help does."""
    shown = context.find_root()
    for word in words or ():
        commands = getattr(shown.command, "commands", {})
        if word not in commands:
            advice = f"use one of {', '.join(commands)}" if commands else "leave it out"
            raise ParameterError(f"{shown.command_path} has no command {word!r}; {advice}")
        shown = shown.command.context_class(commands[word], info_name=word, parent=shown)
    typer.echo(shown.get_help())
