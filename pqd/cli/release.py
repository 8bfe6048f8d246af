"""``pqd release``: private answers to a whole workload under one budget."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deciders.errors import ParameterError
from pqd.cli import options

if TYPE_CHECKING:
    from pqd.parameters import Parameters
    from pqd.sql.query import Query
    from reports.models.release import ReleaseReport


def release(
    private: Annotated[
        str,
        typer.Argument(
            help="The private table: .csv, .tsv or .parquet. Or a spec alone, such as audit.toml, "
            "whose [release] says all.",
            show_default=False,
        ),
    ],
    synthetic: Annotated[
        str | None, typer.Argument(help="The synthetic copy, taken as public.", show_default=False)
    ] = None,
    query: options.QueryTexts = None,
    queries: options.QueryFile = None,
    total_epsilon: Annotated[
        str | None,
        typer.Option(metavar="EPSILON", help="Privacy budget of all queries together, such as 1."),
    ] = None,
    mechanism: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="auto (errs least on the synthetic table), or workload, identity, numerical, "
            "numerical_two, dyadic, normalization, global_truncation, clipped_composition, ranges.",
        ),
    ] = "auto",
    alpha: Annotated[
        str,
        typer.Option(
            metavar="ALPHA", help="An interval low .. high misses the answer with this probability."
        ),
    ] = "0.05",
    bounds: options.Bounds = None,
    type_: options.Types = None,
    bins: options.Bins = None,
    ledger: options.LedgerFile = None,
    fresh: options.Fresh = False,
    table: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Also write rows of the synthetic table, drawn anew so that they answer as was "
            "released: a new .parquet or .csv file.",
        ),
    ] = None,
    json: options.Json = None,
    markdown: options.Markdown = None,
    html: options.Html = None,
    unit: Annotated[str | None, typer.Option(metavar="COLUMN", hidden=True)] = None,
) -> None:
    """Answer COUNT and SUM queries on the private table, as many as you like, under ONE budget.

    Spends EPSILON on the private table in all, however many queries there are. The synthetic table
    says which conditions go together, and which mechanism errs least.

    Example: pqd release private.csv copy.csv --queries queries.sql --total-epsilon 1
    """
    from pqd.parameters import total_budget

    target = options.new_table(table)
    targets = options.targets(json=json, markdown=markdown, html=html)
    if synthetic is None:
        stated = query or queries or total_epsilon or bounds or type_ or bins or unit
        if Path(private).suffix.lower() != ".toml" or stated:
            raise ParameterError(
                "the synthetic table is missing; give PRIVATE SYNTHETIC and options, or a spec "
                "alone, such as pqd release audit.toml, whose [release] says all (queries, "
                "total_epsilon, mechanism)"
            )
        report = _of_spec(Path(private), targets, ledger, target, fresh=fresh)
    else:
        targets.check(private, synthetic, *options.named(queries, ledger))
        budget = total_budget(total_epsilon or None)
        if unit is not None:
            from pqd.commands.release import check_unit

            check_unit(unit)
        # A release has no tolerance; that field of the terms is not used.
        terms = options.terms_of(
            tau="1",
            alpha=alpha,
            decider=mechanism,
            bounds=bounds,
            types=type_,
            detailed=False,
        ).at(budget)
        asked = options.selected(query, queries, bins, private, synthetic)
        report = _of_tables(private, synthetic, asked, terms, ledger, target, fresh=fresh)
    if not targets.takes_stdout:
        from reports.terminal import TerminalReport

        options.show(TerminalReport(report))
    # Last, so that an answer is seen even where this fails.
    targets.write(report)


def _of_tables(
    private: str,
    synthetic: str,
    asked: tuple[Query, ...],
    terms: Parameters,
    ledger: Path | None,
    table: Path | None,
    *,
    fresh: bool,
) -> ReleaseReport:
    from deciders import SecureNoise

    # OpenDP loads in the background from here on, while the tables are read.
    noise = SecureNoise()
    from pqd.accounting.ledger_location import ledger_path
    from pqd.cli.progress import progress
    from pqd.commands.release import run_release
    from pqd.execution import Accountant

    accountant = Accountant(ledger_path(private, ledger), fresh=fresh)
    with progress() as show:
        return run_release(
            private, synthetic, asked, terms, noise, show, accountant=accountant, table=table
        )


def _of_spec(
    path: Path, targets: options.Targets, ledger: Path | None, table: Path | None, *, fresh: bool
) -> ReleaseReport:
    from pqd.spec import read_spec
    from pqd.spec.sources import place_of_ledger

    spec = read_spec(path)
    named = (
        spec.private,
        *spec.synthetic.values(),
        *([spec.release.queries] if spec.release else []),
    )
    places = (path, *(one.path for one in named), place_of_ledger(spec, ledger))
    targets.check(*map(str, places))
    from deciders import SecureNoise

    noise = SecureNoise()
    from pqd.cli.progress import progress
    from pqd.commands.release_spec import run_publication

    with progress() as show:
        return run_publication(spec, noise, show, ledger=ledger, fresh=fresh, table=table)
