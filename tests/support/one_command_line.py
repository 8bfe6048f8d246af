"""The command line's commands and options, read out of its functions once in a process of tests.

Typer does so in every run, which takes half of a small one; what it makes holds nothing of a run.
"""

from functools import cache

import pytest
import typer
import typer.main
import typer.testing

READ = typer.main.get_command
OURS = cache(READ)


def command_of(application: typer.Typer) -> object:
    return (OURS if application.info.name == "pqd" else READ)(application)


def take_place(patch: pytest.MonkeyPatch) -> None:
    """Read our commands once from now on."""
    patch.setattr(typer.main, "get_command", command_of)
    patch.setattr(typer.testing, "_get_command", command_of)
