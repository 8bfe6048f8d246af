"""``pqd init``: a spec to begin with, made from the copy alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pqd.cli import options, outputs
from pqd.deciders.errors import ParameterError
from pqd.paths import usable


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
        typer.echo(f"Next: pqd check {file} --dry-run")
