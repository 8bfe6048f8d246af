"""``pqd release``: private answers to a whole workload under one budget."""

from __future__ import annotations

from typing import Annotated

import typer

from deciders.errors import ParameterError
from pqd.cli import options


def release(
    private: Annotated[
        str, typer.Argument(help="The private table: .csv, .tsv or .parquet.", show_default=False)
    ],
    synthetic: options.Synthetic,
    query: options.QueryTexts = None,
    queries: options.QueryFile = None,
    epsilon: Annotated[
        str | None,
        typer.Option(metavar="EPSILON", help="Privacy budget of all queries together."),
    ] = None,
    mechanism: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="auto (errs least on the synthetic table), or workload, identity, numerical, "
            "numerical_two, dyadic, normalization, global_truncation, composition, ranges.",
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

    Example: pqd release private.csv copy.csv --queries queries.sql --epsilon 1
    """
    if not epsilon:
        raise ParameterError("--epsilon is missing; give it a value such as 1")
    if unit is not None:
        raise ParameterError(
            "a release counts rows, and one row is one person: it knows no --unit yet; reduce the "
            "private table to one row per person, or use pqd audit, which takes --unit"
        )
    targets = options.targets(json=json, markdown=markdown, html=html)
    targets.check(private, synthetic, *options.named(queries, ledger))
    from pqd.writing import check_new

    target = None if table is None else check_new(table)
    from deciders import SecureNoise

    # OpenDP loads in the background from here on, while the tables are read.
    noise = SecureNoise()
    from pqd.asking import Purse
    from pqd.auditor import ledger_path
    from pqd.cli.progress import progress
    from pqd.releaser import run_release

    # A release has no tolerance; that field of the terms is not used.
    terms = options.terms_of(
        tau="1",
        epsilon=epsilon,
        alpha=alpha,
        decider=mechanism,
        bounds=bounds,
        types=type_,
        detailed=False,
    )
    asked = options.selected(query, queries, bins)
    purse = Purse(ledger_path(private, ledger), fresh=fresh)
    with progress() as show:
        report = run_release(
            private, synthetic, asked, terms, noise, show, purse=purse, table=target
        )
    if not targets.takes_stdout:
        from reports.release_terminal import TerminalRelease

        options.show(TerminalRelease(report))
    # Last, so that an answer is seen even where this fails.
    targets.write(report)
