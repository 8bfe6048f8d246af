"""``pqd init``: a spec to begin with, made from the copy alone."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Annotated

import typer

from pqd.cli import options, outputs
from pqd.cli.option_groups import with_groups
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
    if not _committed(folder, LEDGER_NAME):
        return None
    file = folder / ".gitignore"
    rules = file.read_text(encoding="utf-8") if file.is_file() else ""
    gap = "\n" if rules and not rules.endswith("\n") else ""
    with told_as_unwritten(file):
        file.write_text(f"{rules}{gap}{LEDGER_NAME}*\n", encoding="utf-8")
    return file


def _committed(folder: Path, name: str) -> bool:
    """Whether git would commit a file of this name; False without git, or outside a work tree."""
    git = shutil.which("git")
    if git is None or not folder.is_dir():
        return False
    command = [git, "-C", str(folder), "check-ignore", "--quiet", name]
    # 0: a rule ignores the file; 1: no rule does; 128: there is no work tree.
    return subprocess.run(command, check=False, capture_output=True).returncode == 1  # noqa: S603 - git


@with_groups
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
    text: options.TextOptions,
    type_: options.Type = None,
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
    unit: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="All rows with one value of this column are one person; by default the column of "
            "the copy that looks so.",
            show_default=False,
        ),
    ] = None,
    file: Annotated[
        str, typer.Option(metavar="FILE|-", help="Where the spec goes; - for standard output.")
    ] = "audit.toml",
    metadata: Annotated[
        Path | None,
        typer.Option(
            parser=options.path,
            metavar="FILE",
            help="File with facts of columns, which the spec names: metadata of SDV or a table "
            "schema of Frictionless. If it is not there, it is written from the copy for you to "
            "correct.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Write a commented spec for pqd check: one test of columns, pairs, values, medians, sizes.

    Reads the copy alone; nothing is spent. Tolerances are a twentieth, and what sampling and noise
    add; what an honest copy would not surely pass is left out and listed.

    Example: pqd init private.csv copy.csv
    """
    from pqd.parameters import stated_rows
    from pqd.stated.budgets import stated_budget

    budgets = stated_budget(gate, "--gate"), stated_budget(names, "--names")
    rows = stated_rows(private_rows)
    if file != "-" and usable(file).exists():
        raise ParameterError(
            f"{file} exists already; edit it, remove it, or write another: --file strict.toml"
        )
    outputs.check_place(file, private, synthetic)
    if metadata is not None and not usable(metadata).exists():
        outputs.check_place(str(metadata), private, synthetic, file)
    columns = options.ColumnOptions(type_=type_).read()
    from pqd.deciders.names import pasted
    from pqd.spec.template import spec_template

    folder = Path.cwd() if file == "-" else Path(file).resolve().parent
    template = spec_template(
        private,
        synthetic,
        folder,
        *budgets,
        rows,
        metadata,
        formats=text.read(),
        columns=columns,
        unit=unit,
    )
    outputs.write(template.text, file)
    if template.metadata is not None:
        outputs.write(template.metadata, str(metadata))
    if file != "-":
        if template.metadata is not None:
            typer.echo(f"{metadata} is written from the copy; state the ranges that you know.")
        typer.echo(f"{file} is written. Not checked: {'; '.join(template.unchecked)}.")
        if ignoring := _keep_out_of_git(private):
            typer.echo(f"{ignoring} now keeps the ledger, which holds a key, out of git.")
        typer.echo(
            f"The budget in {file} limits runs of that file alone; pqd ledger limit "
            f"{pasted(private)} EPSILON limits every command."
        )
        typer.echo(f"Next: pqd check {file} --dry-run")
