"""``pqd plan``: the reliability of verdicts, before any budget is spent."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from pqd.cli import options
from pqd.cli.display import DisplayOptions
from pqd.cli.option_groups import with_groups
from pqd.cli.options import (
    ColumnOptions,
    QueryOptions,
    TextOptions,
    UnitOptions,
    VerdictOptions,
    with_threads,
)
from pqd.cli.outputs import OutputOptions
from pqd.cli.profile import MarginalOptions, ProfileOptions
from pqd.deciders.errors import ParameterError
from pqd.progress import Step
from pqd.stated.accuracy import Accuracy
from pqd.stated.budgets import stated_budgets

if TYPE_CHECKING:
    from pqd.reports.models.profile import ProfileReport


@with_threads
@with_groups
def plan(
    synthetic: options.Synthetic,
    queries: QueryOptions,
    criteria: VerdictOptions,
    columns: ColumnOptions,
    text: TextOptions,
    unit: UnitOptions,
    marginals: MarginalOptions,
    outputs: OutputOptions,
    display: DisplayOptions,
    epsilon: Annotated[
        str | None,
        typer.Option(
            metavar="EPSILON",
            help="Privacy budget of each query; without it only the budget that each decider needs "
            "is given.",
        ),
    ] = None,
    total_epsilon: Annotated[
        str | None,
        typer.Option(
            metavar="EPSILON",
            help="Privacy budget of all queries together; without queries of the profile that is "
            "planned (1 if left out).",
        ),
    ] = None,
    sharing: Annotated[
        str | None,
        typer.Option(
            metavar="HOW", help="With --total-epsilon: how queries share it, as in pqd audit."
        ),
    ] = None,
    sure: options.Sure = None,
    at_most: options.AtMost = None,
) -> None:
    """Say, per query, which TAU can be decided at which EPSILON, and by which decider.

    Reads the synthetic table only: no private table, no cost. With --sure 95% it also says what all
    queries would cost together. Without queries it plans pqd profile: which distances can be told
    from TAU (5% if left out).

    Example: pqd plan copy.csv -q "SELECT SUM(income) FROM D" --tau 5% --epsilon 0.25
    """
    targets = outputs.targets(synthetic, queries.queries, columns.metadata)
    targets = targets.checked(display)
    if not queries.stated:
        if criteria.tau_of:
            raise ParameterError("there is no query, so --tau-of is of none; give queries (-q)")
        if criteria.scale:
            raise ParameterError(
                "a profile compares shares of the rows in any case, so leave out --scale"
            )
        if sharing is not None:
            raise ParameterError("there is no query to share a budget (--sharing); give queries")
        if epsilon is not None:
            raise ParameterError(
                "there is no query, so nothing has an epsilon of its own; give queries (-q), or "
                "--total-epsilon to plan pqd profile"
            )
        if sure is not None or at_most is not None:
            raise ParameterError(
                "--sure chooses the epsilon of queries, and a profile has none; give queries (-q), "
                "or --total-epsilon and --alpha"
            )
        profile = _profile(synthetic, criteria, marginals, columns, unit, total_epsilon, text)
        targets.finish(profile, display)
        return
    if marginals.stated:
        raise ParameterError(
            f"{', '.join(marginals.stated)} is of a profile, which has no queries; leave it "
            "out, or the queries"
        )
    from pqd.batches.mechanisms import RunBudget
    from pqd.cli.progress import progress
    from pqd.commands.plan import run_plan
    from pqd.planning.binding import all_mistakes

    stated = [each or None for each in (epsilon, total_epsilon, sharing)]
    accuracy = Accuracy.parse(
        sure or None, at_most or None, stated_budgets(*stated), criteria.alpha
    )
    spent = RunBudget.parse(*stated) if any(stated) else None
    if accuracy:
        criteria = replace(criteria, alpha=str(accuracy.alpha))
    facts = columns.facts(None, [synthetic], unit)
    copy = text.over(facts).table(synthetic, "synthetic")
    with all_mistakes(None, [copy], facts):
        parsed = queries.read(synthetic)
    workload, criteria = criteria.of(parsed)
    workload = display.selected(workload)
    detailed = display.detailed or targets.has_values or targets.has_curves(len(workload))
    terms = options.criteria(criteria, facts, criteria.decider, detailed=detailed, planning=True)
    shared = spent if spent and spent.sharing else None
    if spent and not shared:
        terms = terms.at(spent.epsilon)
    people = unit.read()
    with progress() as show:
        show(Step.PLANNING)
        report = run_plan(
            copy,
            workload,
            terms,
            people,
            show,
            budget=shared,
            accuracy=accuracy,
            row_is_person=unit.row_is_person,
        )
    targets.finish(report, display)


def _profile(
    synthetic: str,
    criteria: VerdictOptions,
    marginals: MarginalOptions,
    columns: ColumnOptions,
    unit: UnitOptions,
    total_epsilon: str | None,
    text: TextOptions,
) -> ProfileReport:
    """Plan of a profile of the copy alone."""
    from pqd.cli.progress import progress
    from pqd.commands.profile import run_profile_plan

    if criteria.decider != "auto" or criteria.decider_option:
        raise ParameterError(
            "there is no query, so no decider (--decider, --decider-option) to choose; give "
            "queries (-q)"
        )
    stated = ProfileOptions(
        total_epsilon or "1",
        criteria.tau or "5%",
        criteria.alpha,
        private_rows=criteria.private_rows,
    )
    facts = columns.facts(None, [synthetic], unit)
    formats = text.over(facts)
    parameters = stated.read(marginals, facts, formats)
    people = unit.read()
    copy = formats.table(synthetic, "synthetic")
    with progress() as show:
        return run_profile_plan(
            None, copy, parameters, show, unit=people, row_is_person=unit.row_is_person
        )
