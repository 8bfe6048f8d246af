"""``pqd plan``: what verdicts would be worth, before any budget is spent."""

from __future__ import annotations

from typing import Annotated

import typer

from pqd.cli import options
from pqd.cli.option_groups import with_groups
from pqd.cli.options import ColumnOptions, QueryOptions, UnitOptions, VerdictOptions
from pqd.cli.outputs import OutputOptions
from reports.text.remarks import stages


@with_groups
def plan(
    synthetic: options.Synthetic,
    queries: QueryOptions,
    criteria: VerdictOptions,
    columns: ColumnOptions,
    unit: UnitOptions,
    outputs: OutputOptions,
    epsilon: Annotated[
        str | None,
        typer.Option(
            metavar="EPSILON",
            help="Privacy budget of each query; without it only the budget that each decider needs "
            "is given.",
        ),
    ] = None,
    verbose: options.Verbose = False,
) -> None:
    """Say, per query, which TAU can be decided at which EPSILON, and by which decider.

    Reads the synthetic table only: no private table, no cost.

    Example: pqd plan copy.csv -q "SELECT SUM(income) FROM D" --tau 5% --epsilon 0.25
    """
    targets = outputs.targets(synthetic, queries.queries)
    from pqd.cli.progress import progress
    from pqd.commands.plan import run_plan
    from pqd.stated_budgets import stated_budget

    detailed = verbose or targets.has_values
    terms = options.criteria(criteria, columns, criteria.decider, detailed=detailed, planning=True)
    if epsilon is not None:
        terms = terms.at(stated_budget(epsilon))
    people = unit.read()
    with progress() as show:
        show(stages.PLANNING)
        report = run_plan(synthetic, queries.read(synthetic), terms, people)
    targets.finish(report, verbose=verbose)
