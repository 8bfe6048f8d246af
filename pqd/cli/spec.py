"""``pqd spec``: a spec to begin with, and the schema of specs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from deciders.errors import ParameterError
from pqd.cli import outputs
from pqd.paths import usable


def spec(
    private: Annotated[
        Path | None, typer.Argument(help="The private table; it is not read.", show_default=False)
    ] = None,
    synthetic: Annotated[
        Path | None, typer.Argument(help="The synthetic copy.", show_default=False)
    ] = None,
    init: Annotated[
        bool, typer.Option("--init", help="Write a commented spec for the two tables.")
    ] = False,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON Schema of specs.")
    ] = False,
    file: Annotated[
        str, typer.Option(metavar="FILE|-", help="Where the spec goes; - for standard output.")
    ] = "audit.toml",
) -> None:
    """Begin a spec for pqd check, or print the JSON Schema of specs.

    Example: pqd spec --init private.csv copy.csv
    """
    if init == schema:
        raise ParameterError("give --init PRIVATE SYNTHETIC, or --schema")
    if schema:
        import json

        from pqd.spec import json_schema

        typer.echo(json.dumps(json_schema(), indent=2))
        return
    if private is None or synthetic is None:
        raise ParameterError("--init needs the private and the synthetic table")
    if file != "-" and usable(file).exists():
        raise ParameterError(f"{file} exists already; remove it, or name another with --file")
    outputs.check_place(file, str(private), str(synthetic))
    from pqd.spec.template import spec_template

    folder = Path.cwd() if file == "-" else Path(file).resolve().parent
    outputs.write(spec_template(private, synthetic, folder), file)
    if file != "-":
        typer.echo(f"{file} is written. Next: pqd check {file} --dry-run")
