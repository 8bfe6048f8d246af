"""``pqd audit``: one verdict per query."""

from __future__ import annotations

from typing import Annotated

import typer

from pqd.cli import options


def audit(
    private: Annotated[
        str, typer.Argument(help="The private table: .csv, .tsv or .parquet.", show_default=False)
    ],
    synthetic: options.Synthetic,
    query: options.QueryTexts = None,
    queries: options.QueryFile = None,
    tau: options.Tau = None,
    epsilon: Annotated[
        str | None,
        typer.Option(metavar="EPSILON", help="Privacy budget of each query, such as 0.25."),
    ] = None,
    total_epsilon: Annotated[
        str | None,
        typer.Option(
            metavar="EPSILON",
            help="Instead of --epsilon: privacy budget of all queries together, such as 1.",
        ),
    ] = None,
    sharing: Annotated[
        str | None,
        typer.Option(
            metavar="HOW",
            help="How queries share the total: auto (whichever errs least on the synthetic table; "
            "taken if left out), alone (each by itself), or COUNTs and SUMs together by workload, "
            "identity, numerical, numerical_two, dyadic, normalization, global_truncation, "
            "clipped_composition or ranges.",
        ),
    ] = None,
    alpha: options.Alpha = "0.05",
    decider: options.DeciderName = "auto",
    bounds: options.Bounds = None,
    type_: options.Types = None,
    bins: options.Bins = None,
    unit: options.Unit = None,
    max_rows: options.MaxRows = "1",
    ledger: options.LedgerFile = None,
    fresh: options.Fresh = False,
    verbose: options.Verbose = False,
    json: options.Json = None,
    markdown: options.Markdown = None,
    html: options.Html = None,
) -> None:
    """Decide, per query, whether the synthetic answer is within TAU of the private one.

    Spends EPSILON per query on the private table, once for queries that no row can take part in
    two of (GROUP BY, bins). With --total-epsilon it spends that in all, and says how the queries
    shared it. What was asked before is replayed from the ledger and costs nothing.

    Example: pqd audit private.csv copy.csv -q "SELECT COUNT(*) FROM D WHERE age > 40" --tau 5% --epsilon 0.25
    """  # noqa: E501 - the example is one line in the help
    from pqd.parameters import RunBudget, privacy_unit

    budget = RunBudget.parse(epsilon or None, total_epsilon or None, sharing)
    if budget.sharing is not None:
        from pqd.batches.mechanisms import check_sharing

        check_sharing(budget.sharing)
    targets = options.targets(json=json, markdown=markdown, html=html)
    targets.check(private, synthetic, *options.named(queries, ledger))
    people = privacy_unit(unit, max_rows)
    from deciders import SecureNoise

    # OpenDP loads in the background from here on, while the tables are read.
    noise = SecureNoise()
    from pqd.accounting.ledger_location import ledger_path
    from pqd.cli.progress import progress
    from pqd.commands.audit import run
    from pqd.execution import Accountant

    terms = options.terms_of(
        tau=tau,
        alpha=alpha,
        decider=decider,
        bounds=bounds,
        types=type_,
        # A page has room for the curves.
        detailed=verbose or html is not None,
    ).at(budget.epsilon)
    asked = options.selected(query, queries, bins, private, synthetic)
    accountant = Accountant(ledger_path(private, ledger), fresh=fresh)
    with progress() as show:
        report = run(
            private,
            synthetic,
            asked,
            terms,
            noise,
            show,
            accountant=accountant,
            unit=people,
            sharing=budget.sharing,
        )
    if not targets.takes_stdout:
        from reports.terminal import TerminalReport

        options.show(TerminalReport(report, verbose=verbose))
    # Last, so that a verdict is seen even where this fails.
    targets.write(report)
