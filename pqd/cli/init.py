"""``pqd init``: a spec to begin with, made from the copy alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pqd.cli import options, outputs
from pqd.deciders.errors import ParameterError
from pqd.paths import told_as_unwritten, usable


def _keep_out_of_git(private: str) -> Path | None:
    """File that keeps the ledger beside a private table out of git; None if nothing was to do.

    The ledger's key would let others test guesses of the whole table, so it must not be committed.
    """
    from pqd.engine.sources.locations import LEDGER_NAME, is_address, location_of

    if is_address(private):
        return None
    folder = location_of(private).folder.resolve()
    if not any((parent / ".git").exists() for parent in (folder, *folder.parents)):
        return None
    file, line = folder / ".gitignore", f"{LEDGER_NAME}*"
    rules = file.read_text(encoding="utf-8") if file.is_file() else ""
    if line in rules.splitlines() or not folder.is_dir():
        return None
    with told_as_unwritten(file):
        file.write_text(rules + "\n" * (bool(rules) and not rules.endswith("\n")) + line + "\n")
    return file


def init(
    private: Annotated[
        str, typer.Argument(help="The private table; it is not read.", show_default=False)
    ],
    synthetic: Annotated[
        str,
        typer.Argument(
            metavar="synthetic", help="The synthetic copy, taken as public.", show_default=False
        ),
    ],
    gate: Annotated[
        str, typer.Option(metavar="EPSILON", help="What one test of all checks costs.")
    ] = "0.25",
    names: Annotated[
        str,
        typer.Option(
            metavar="EPSILON",
            help="What it costs to name the worst check, spent only if the test does not pass.",
        ),
    ] = "0.5",
    private_rows: options.PrivateRows = None,
    file: Annotated[
        str, typer.Option(metavar="FILE|-", help="Where the spec goes; - for standard output.")
    ] = "audit.toml",
) -> None:
    """Write a commented spec for pqd check: one test of columns, pairs, values, medians, sizes.

    Reads the copy alone; nothing is spent. Tolerances are a twentieth, and what sampling and noise
    add; what an honest copy would not surely pass is left out and listed.

    Example: pqd init private.csv copy.csv
    """
    from pqd.parameters import stated_rows
    from pqd.stated.budgets import total_budget

    budgets = total_budget(gate), total_budget(names)
    rows = stated_rows(private_rows)
    if file != "-" and usable(file).exists():
        raise ParameterError(f"{file} exists already; remove it, or name another with --file")
    outputs.check_place(file, private, synthetic)
    from pqd.spec.template import spec_template

    folder = Path.cwd() if file == "-" else Path(file).resolve().parent
    template = spec_template(private, synthetic, folder, *budgets, rows)
    outputs.write(template.text, file)
    if file != "-":
        typer.echo(f"{file} is written. Not checked: {'; '.join(template.unchecked)}.")
        if ignoring := _keep_out_of_git(private):
            typer.echo(f"{ignoring} now keeps the ledger, which holds a key, out of git.")
        typer.echo(f"Next: pqd check {file} --dry-run")
