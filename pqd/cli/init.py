"""``pqd init``: a spec to begin with, made from the copy alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pqd.cli import outputs
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
    total_epsilon: Annotated[
        str,
        typer.Option(metavar="EPSILON", help="What all checks of one run may cost together."),
    ] = "1",
    file: Annotated[
        str, typer.Option(metavar="FILE|-", help="Where the spec goes; - for standard output.")
    ] = "audit.toml",
) -> None:
    """Write a commented spec for pqd check: rows, quality, columns, pairs, means and medians.

    Reads the copy alone; nothing is spent. Tolerances come from the copy's own sampling noise and
    from what can be told at EPSILON.

    Example: pqd init private.csv copy.csv
    """
    from pqd.stated.budgets import total_budget

    budget = total_budget(total_epsilon)
    if file != "-" and usable(file).exists():
        raise ParameterError(f"{file} exists already; remove it, or name another with --file")
    outputs.check_place(file, private, synthetic)
    from pqd.spec.template import spec_template

    folder = Path.cwd() if file == "-" else Path(file).resolve().parent
    outputs.write(spec_template(private, synthetic, folder, budget), file)
    if file != "-":
        typer.echo(f"{file} is written. Next: pqd check {file} --dry-run")
