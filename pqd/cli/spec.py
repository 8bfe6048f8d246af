"""``pqd spec``: the schema of specs."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from pqd.cli.options import path
from pqd.deciders.errors import ParameterError


def spec(
    tables: Annotated[list[Path] | None, typer.Argument(parser=path, hidden=True)] = None,
    init: Annotated[bool, typer.Option("--init", hidden=True)] = False,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON Schema of specs.")
    ] = False,
    file: Annotated[str | None, typer.Option(hidden=True)] = None,
) -> None:
    """Print the JSON Schema of specs, for editors; pqd init writes a spec to begin with.

    Example: pqd spec --schema
    """
    if init:
        named = [str(table) for table in tables or []] or ["PRIVATE", "COPY"]
        options = ["--file", file] if file else []
        command = " ".join(["pqd init", *map(shlex.quote, [*named, *options])])
        raise ParameterError(f"pqd spec --init is now pqd init: {command}")
    if not schema or tables or file:
        raise ParameterError("give --schema; pqd init PRIVATE COPY writes a spec to begin with")
    import json

    from pqd.spec import json_schema

    typer.echo(json.dumps(json_schema(), indent=2))
