"""``pqd compare``: several synthetic tables at one price."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, cast

import typer

from pqd.cli import options
from pqd.cli.display import DisplayOptions
from pqd.cli.option_groups import option_group, with_groups
from pqd.cli.options import (
    AttackOptions,
    ColumnOptions,
    CriteriaOptions,
    LedgerOptions,
    QueryOptions,
    TextOptions,
    UnitOptions,
    values_by_name,
    with_threads,
)
from pqd.cli.outputs import OutputOptions
from pqd.deciders.errors import ParameterError
from pqd.errors import for_all

if TYPE_CHECKING:
    from collections.abc import Callable

    from pqd.comparison.comparison_parameters import ComparisonParameters
    from pqd.comparison.ranking import RankingParameters
    from pqd.parameters import Parameters
    from pqd.stated.column_facts import Facts
    from pqd.stated.text_formats import TextFormats


@option_group
class ComparisonOptions:
    """Options that only a comparison by queries has: estimator, weights, reference tables."""

    epsilon: Annotated[
        str | None,
        typer.Option(
            metavar="EPSILON",
            help="Privacy budget of each query, for all candidates together.",
        ),
    ] = None
    estimator: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="auto (chosen per query on public data), or laplace, race_to_the_top, "
            "sum_and_count, rank_counts, exponential, split, for the queries that it fits.",
        ),
    ] = "auto"
    weight: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ID=NUMBER",
            help="Weight of a query in the leaderboard, else 1; may be given several times.",
        ),
    ] = None
    with_references: Annotated[
        bool,
        typer.Option(
            "--with-references",
            help="Also compare two reference tables: independent marginals (see "
            "--reference-epsilon), and the first candidate resampled.",
        ),
    ] = False
    reference_epsilon: Annotated[
        str | None,
        typer.Option(metavar="EPSILON", help="With --with-references: what the marginals cost."),
    ] = None

    @property
    def stated(self) -> dict[str, object]:
        """Options by name that differ from their defaults."""
        return {
            "--epsilon": self.epsilon,
            "--estimator": self.estimator != "auto",
            "--weight": self.weight,
            "--with-references": self.with_references,
            "--reference-epsilon": self.reference_epsilon,
        }

    def check(self) -> None:
        """Refuse options that contradict each other, before any table is read."""
        from pqd.stated.budgets import stated_budget

        stated_budget(self.epsilon or None)
        if self.with_references != bool(self.reference_epsilon):
            raise ParameterError(
                "--with-references and --reference-epsilon go together: say what the independent "
                "marginals may cost, such as --with-references --reference-epsilon 1"
            )

    def read(self, terms: Parameters) -> ComparisonParameters:
        """Parameters of the comparison; ``terms`` are the parameters that all queries share."""
        from pqd.comparison.comparison_parameters import ComparisonParameters

        return ComparisonParameters.parse(
            terms,
            values_by_name(self.weight or [], "weight", "q1=2", last=True),
            self.reference_epsilon or None,
        )


@option_group
class RankingOptions:
    """Options of a comparison without queries: its budget and the compared marginals."""

    total_epsilon: Annotated[
        str | None,
        typer.Option(
            metavar="EPSILON",
            help="Without queries: privacy budget of the whole ranking by overall quality.",
        ),
    ] = None
    ways: Annotated[
        str | None,
        typer.Option(
            metavar="N",
            help="Without queries: 1: columns; 2 (if left out): columns and pairs; 3: triples too.",
        ),
    ] = None
    columns: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="Without queries: columns, such as age,sex; may be given several times. Else all "
            "but identifiers and free text.",
        ),
    ] = None
    cells: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=CELLS",
            help="Without queries: what counts as one value of a column, as in pqd profile; may be "
            "given several times.",
        ),
    ] = None
    cells_from: Annotated[
        str | None,
        typer.Option(
            metavar="TABLE",
            help="Without queries: a public table that is no copy, such as an older release: "
            "it gives columns, kinds and cells, so that all copies have one measure.",
        ),
    ] = None
    marginals: Annotated[
        bool,
        typer.Option(
            "--marginals",
            help="Without queries: also measure each column and pair for each candidate; they "
            "share the budget.",
        ),
    ] = False
    relations: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE",
            help="Without queries: share of the relations between columns that each copy must "
            "keep (50% if left out); 0% is what columns shuffled one by one keep.",
        ),
    ] = None
    copy_epsilon: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=EPSILON",
            help="Without queries: the epsilon under which a table was made, if its generator is "
            "differentially private: if it is very near, that is no error but a note. May be given "
            "several times.",
        ),
    ] = None

    @property
    def stated(self) -> dict[str, object]:
        """Stated options by name, except the budget."""
        return {
            "--ways": self.ways,
            "--columns": self.columns,
            "--cells": self.cells,
            "--cells-from": self.cells_from,
            "--marginals": self.marginals,
            "--copy-epsilon": self.copy_epsilon,
            "--relations": self.relations,
        }

    def read(
        self, criteria: CriteriaOptions, facts: Facts, formats: TextFormats
    ) -> RankingParameters:
        """Parameters of the ranking."""
        from pqd.comparison.ranking import RankingParameters
        from pqd.deciders.distances.relations import USUAL_BAR
        from pqd.sql.schema import listed_names
        from pqd.stated.cells import parse_all_cells

        return RankingParameters.parse(
            total_epsilon=self.total_epsilon or "",
            alpha=criteria.alpha,
            ways=2 if self.ways is None else self.ways,
            columns=listed_names(self.columns or []) or None,
            cells=parse_all_cells(self.cells or []),
            marginals=self.marginals,
            copy_epsilon=values_by_name(self.copy_epsilon or [], "copy epsilon", "tree=1"),
            facts=facts,
            private_rows=criteria.private_rows or None,
            cells_from=formats.table(self.cells_from, "synthetic"),
            relations=USUAL_BAR if self.relations is None else self.relations,
        )


@with_threads
@with_groups
def compare(
    private: options.Private,
    candidates: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME=FILE...",
            help="The synthetic tables, taken as public, each with a name.",
            show_default=False,
        ),
    ],
    queries: QueryOptions,
    criteria: CriteriaOptions,
    comparison: ComparisonOptions,
    ranking: RankingOptions,
    attacks: AttackOptions,
    columns: ColumnOptions,
    text: TextOptions,
    unit: UnitOptions,
    ledger: LedgerOptions,
    outputs: OutputOptions,
    display: DisplayOptions,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Without queries: say what can be told at which price; read no private row, spend "
            "nothing.",
        ),
    ] = False,
) -> None:
    """Compare synthetic tables: who is within TAU on how many queries, as far as noise lets one say.

    Spends EPSILON per query on the private table, however many candidates there are: each query is
    answered once with noise, and every verdict follows from that. Without queries it ranks the
    tables by their overall quality, for --total-epsilon in all, and with --risk for that epsilon
    too, which all tables share.

    Example: pqd compare private.csv tree=a.csv copula=b.csv --queries queries.sql --tau 5% --epsilon 0.5

    Example: pqd compare private.csv tree=a.csv copula=b.csv --total-epsilon 0.25
    """  # noqa: E501 - the examples are one line each in the help
    from pqd.stated.queries import check_ranking

    named = queries.query or queries.queries or None
    of_queries = {
        "--bins": queries.bins if named is None else None,
        "--tau": criteria.tau,
        "--tau-of": criteria.tau_of,
        "--scale": criteria.scale,
        **comparison.stated,
    }
    of_ranking = ranking.stated | attacks.stated | {"--dry-run": dry_run}
    budget = ranking.total_epsilon or None
    reads: list[Callable[[], object]] = [
        partial(check_ranking, named, budget, of_queries, of_ranking),
        partial(values_by_name, candidates, "candidate", "tree=copy.csv"),
    ]
    ranks, tables = cast("tuple[bool, dict[str, str]]", for_all(lambda read: read(), reads))
    if not ranks:
        comparison.check()
    elif display.explains:
        raise ParameterError("--explain ID is for queries; without queries give --marginals")
    files = queries.queries, columns.metadata, attacks.held_out
    targets = outputs.targets(private, *tables.values(), *files, ledger=ledger.ledger)
    targets = targets.checked(display, fresh=ledger.fresh)
    from pqd.engine.tables import opened_ahead

    # Files beside several copies may differ, so none is looked for.
    facts = columns.facts(private, (), unit)
    # Open the table while the modules below are imported.
    formats = text.over(facts)
    secret = (
        formats.table(private, "private") if dry_run else opened_ahead(private, formats.private)
    )
    _, copies = formats.all(None, tables)
    people = unit.read()
    from pqd.deciders import SecureNoise

    # This starts to load OpenDP in the background, while the tables are read.
    noise = SecureNoise()
    from pqd.cli.progress import progress

    if ranks:
        from pqd.commands.rank import run_ranking, run_ranking_plan

        wanted = ranking.read(criteria, facts, formats)
        accountant = ledger.accountant(
            private, replaying=display.explains, row_is_person=unit.row_is_person
        )
        risk = attacks.read(
            formats, ledger, replaying=display.explains, row_is_person=unit.row_is_person
        )
        run = run_ranking_plan if dry_run else partial(run_ranking, noise=noise)
        with progress() as show:
            ranked = run(
                secret, copies, wanted, progress=show, accountant=accountant, unit=people, risk=risk
            )
        targets.finish(ranked, display)
        return
    from pqd.commands.compare import run_compare
    from pqd.planning.binding import all_mistakes

    accountant = ledger.accountant(
        private, replaying=display.explains, row_is_person=unit.row_is_person
    )
    with all_mistakes(secret, copies.values(), facts, accountant):
        parsed = queries.read(private, *tables.values())
    workload, criteria = criteria.of(parsed)
    terms = options.criteria(criteria, facts, comparison.estimator)
    rules = comparison.read(terms.at(comparison.epsilon))
    shown = display.selected(workload)
    if not comparison.with_references:
        # References are drawn from the columns of all queries, so they need the whole workload.
        workload = shown
    with progress() as show:
        report = run_compare(
            secret, copies, workload, rules, noise, show, accountant=accountant, unit=people
        )
    targets.finish(report, display)
