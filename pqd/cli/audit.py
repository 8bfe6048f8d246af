"""``pqd audit``: one verdict per query."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from pqd.batches.mechanisms import TOGETHER, RunBudget
from pqd.cli import options
from pqd.cli.display import DisplayOptions
from pqd.cli.option_groups import option_group, with_groups
from pqd.cli.options import (
    ColumnOptions,
    LedgerOptions,
    QueryOptions,
    TextOptions,
    UnitOptions,
    VerdictOptions,
    with_threads,
)
from pqd.cli.outputs import OutputOptions
from pqd.deciders.errors import ParameterError
from pqd.stated.accuracy import Accuracy
from pqd.stated.budgets import stated_budgets


@option_group
class BudgetOptions:
    """Budget of each query, of all together and how they share it, or of one test of all."""

    epsilon: options.Epsilon = None
    total_epsilon: options.TotalEpsilon = None
    sure: options.Sure = None
    at_most: options.AtMost = None
    gate: options.GateOption = None
    names: options.NamesOption = None
    sharing: Annotated[
        str | None,
        typer.Option(
            metavar="HOW",
            help="With --total-epsilon: how queries share it. auto (wrong least often on the "
            "synthetic table; taken if left out), alone (each by itself), or COUNTs and SUMs "
            f"together by one of {', '.join(TOGETHER)}.",
        ),
    ] = None

    def is_gate(self) -> bool:
        """Whether the run is one test of all queries; ParameterError if other budgets are given."""
        if self.gate is None:
            if self.names is not None:
                raise ParameterError("--names names the worst query of a gate; state --gate too")
            return False
        if self.epsilon or self.total_epsilon or self.sharing or self.sure or self.at_most:
            raise ParameterError(
                "--gate is the budget of one test of all queries; leave --epsilon, "
                "--total-epsilon, --sharing, --sure and --at-most out"
            )
        return True

    def accuracy(self, alpha: str) -> Accuracy | None:
        """Accuracy that is stated in place of a budget; None without one."""
        budgets = stated_budgets(
            self.epsilon or None, self.total_epsilon or None, self.sharing or None
        )
        return Accuracy.parse(self.sure or None, self.at_most or None, budgets, alpha)

    def read(self) -> RunBudget:
        """Budget of the run; ParameterError unless exactly one budget is stated."""
        return RunBudget.parse(self.epsilon or None, self.total_epsilon or None, self.sharing)


@with_threads
@with_groups
def audit(
    private: options.Private,
    synthetic: options.Synthetic,
    queries: QueryOptions,
    criteria: VerdictOptions,
    budget: BudgetOptions,
    columns: ColumnOptions,
    text: TextOptions,
    unit: UnitOptions,
    ledger: LedgerOptions,
    outputs: OutputOptions,
    display: DisplayOptions,
) -> None:
    """Decide, per query, whether the synthetic answer is within TAU of the private one.

    Spends EPSILON per query on the private table; disjoint queries (GROUP BY, bins) are charged
    once. With --total-epsilon all queries together cost that much, and the report says how they
    share it. With --sure 95% each query gets the epsilon that pqd plan says it needs, and the run
    is refused if all cost more than --at-most. With --gate one test says whether all of them are within their tolerances, for one
    epsilon in all. Repeated queries are replayed from the ledger and cost nothing.

    Example: pqd audit private.csv copy.csv -q "SELECT COUNT(*) FROM D WHERE age > 40" --tau 5% --epsilon 0.25
    """  # noqa: E501 - the example is one line in the help
    queries.check(private, synthetic, explain=display.explain)
    is_gate = budget.is_gate()
    accuracy = None if is_gate else budget.accuracy(criteria.alpha)
    spent = None if is_gate or accuracy else budget.read()
    targets = outputs.targets(
        private, synthetic, queries.queries, columns.metadata, ledger=ledger.ledger
    )
    targets = targets.checked(display, fresh=ledger.fresh)
    from pqd.engine.tables import opened_ahead

    facts = columns.facts(private, [synthetic], unit)
    # Open the table while the modules below are imported.
    formats = text.over(facts)
    secret = opened_ahead(private, formats.private)
    copy = formats.table(synthetic, "synthetic")
    people = unit.read()
    accountant = ledger.accountant(
        private, replaying=display.explains, row_is_person=unit.row_is_person
    )
    from pqd.cli.progress import progress
    from pqd.commands.audit import run_audit
    from pqd.deciders import SecureNoise
    from pqd.planning.binding import all_mistakes

    with all_mistakes(secret, [copy], facts, accountant):
        parsed = queries.read(private, synthetic)
    workload, criteria = criteria.of(parsed)
    if is_gate:
        from pqd.commands.gate import gate_terms, run_query_gate

        gated = gate_terms(
            budget.gate or "", budget.names, criteria.alpha, criteria.private_rows or None
        )
        terms = options.criteria(criteria, facts, criteria.decider, detailed=False)
        with progress() as show:
            result = run_query_gate(
                secret,
                copy,
                workload,
                terms.at(gated.epsilon),
                gated,
                SecureNoise(),
                show,
                accountant=accountant,
                unit=people,
            )
        targets.finish(result, display)
        raise typer.Exit(0 if display.explains else result.exit_code)
    shown = display.selected(workload)
    sharing = spent.sharing if spent else None
    if sharing is None:
        # Each query is measured by itself, so the shown query can be replayed alone.
        workload = shown
    # Queries that share a budget are replayed together, but only the shown query has curves.
    in_full = [query.id or "" for query in shown] if display.explains else []
    detailed = display.verbose or targets.has_curves(len(workload))
    if accuracy:
        criteria = replace(criteria, alpha=str(accuracy.alpha))
    terms = options.criteria(criteria, facts, criteria.decider, detailed=detailed)
    if spent:
        terms = terms.at(spent.epsilon)
    # This starts to load OpenDP in the background, while the tables are read.
    noise = SecureNoise()
    with progress() as show:
        report = run_audit(
            secret,
            copy,
            workload,
            terms,
            noise,
            show,
            accountant=accountant,
            unit=people,
            sharing=sharing,
            accuracy=accuracy,
            in_full=in_full,
        )
    targets.finish(report, display)
