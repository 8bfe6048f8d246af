"""``pqd lint``: what can be said of a copy alone."""

from __future__ import annotations

from typing import Annotated

import typer

from pqd.cli import options
from pqd.cli.display import DisplayOptions
from pqd.cli.option_groups import with_groups
from pqd.cli.options import ColumnOptions, TextOptions
from pqd.cli.outputs import OutputOptions
from pqd.threads import stated_threads


@with_groups
def lint(
    synthetic: options.Synthetic,
    columns: ColumnOptions,
    text: TextOptions,
    outputs: OutputOptions,
    display: DisplayOptions,
    key: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="A column, or several such as ward,bed, whose values differ from row to row; may "
            "be given several times.",
        ),
    ] = None,
    rule: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CONDITION",
            help="A rule that each row must keep, such as 'age >= 18'; may be given several times.",
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="End with exit code 1 if there is a fault.")
    ] = False,
    threads: options.Threads = None,
) -> None:
    """Say what can be said of the copy alone: kinds, ranges, keys, repeated rows, odd columns.

    Reads the synthetic table only: no private table, no cost. A FAULT contradicts a stated fact, or
    hardly any real table is so; LOOK is worth a look.

    Example: pqd lint copy.csv --bounds age=0:120 --key id
    """
    targets = outputs.targets(synthetic, columns.metadata)
    targets = targets.checked(display)
    from pqd.cli.progress import progress
    from pqd.commands.lint import run_lint, stated_metadata
    from pqd.sql.schema import listed_names
    from pqd.stated.column_facts import parse_columns

    keys = [listed_names([text]) for text in key or []]
    stated = stated_metadata(synthetic, columns.metadata, parse_columns(columns.read()), keys)
    copy = text.read().over(stated[0].metadata.text_format).table(synthetic, "synthetic")
    with stated_threads(threads), progress() as show:
        report = run_lint(copy, stated, rule or (), show)
    targets.finish(report, display)
    if strict and report.exit_code:
        raise typer.Exit(report.exit_code)
