"""``pqd plan``: what verdicts would be worth, before any budget is spent."""

from __future__ import annotations

from typing import Annotated

import typer

from pqd.cli import options


def plan(
    synthetic: options.Synthetic,
    query: options.QueryTexts = None,
    queries: options.QueryFile = None,
    tau: options.Tau = None,
    epsilon: Annotated[
        str | None,
        typer.Option(
            metavar="EPSILON",
            help="Budget per query; without it only the budget that each decider needs is given.",
        ),
    ] = None,
    alpha: options.Alpha = "0.05",
    decider: options.DeciderName = "auto",
    bounds: options.Bounds = None,
    type_: options.Types = None,
    bins: options.Bins = None,
    unit: options.Unit = None,
    max_rows: options.MaxRows = "1",
    verbose: options.Verbose = False,
    json: options.Json = None,
    markdown: options.Markdown = None,
    html: options.Html = None,
) -> None:
    """Say, per query, which TAU can be decided at which EPSILON, and by which decider.

    Reads the synthetic table only: no private table, no cost.

    Example: pqd plan copy.csv -q "SELECT SUM(income) FROM D" --tau 5% --epsilon 0.25
    """
    targets = options.targets(json=json, markdown=markdown, html=html)
    targets.check(synthetic, *options.named(queries))
    from pqd.cli.progress import progress
    from pqd.commands.plan import run_plan
    from pqd.parameters import privacy_unit

    terms = options.terms_of(
        tau=tau,
        alpha=alpha,
        decider=decider,
        bounds=bounds,
        types=type_,
        detailed=verbose or json is not None or html is not None,
        planning=True,
    )
    if epsilon is not None:
        terms = terms.at(options.budget(epsilon))
    people = privacy_unit(unit, max_rows)
    with progress() as show:
        show("Planning")
        asked = options.selected(query, queries, bins, synthetic)
        report = run_plan(synthetic, asked, terms, people)
    if not targets.takes_stdout:
        from reports.terminal import TerminalReport

        options.show(TerminalReport(report, verbose=verbose))
    # Last, so that a plan is seen even where this fails.
    targets.write(report)
