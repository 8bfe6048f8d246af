"""``pqd release``: private answers to a whole workload under one budget."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pqd.batches.mechanisms import RELEASING
from pqd.cli import options
from pqd.cli.display import DisplayOptions
from pqd.cli.option_groups import option_group, with_groups
from pqd.cli.options import (
    ColumnOptions,
    CriteriaOptions,
    LedgerOptions,
    QueryOptions,
    TextOptions,
    UnitOptions,
    with_threads,
)
from pqd.cli.outputs import OutputOptions, Targets, new_table
from pqd.deciders.errors import ParameterError
from pqd.errors import UnwrittenTableError
from pqd.stated.budgets import AUTO

if TYPE_CHECKING:
    from pqd.accounting.accountant import Accountant
    from pqd.engine.scan_plan import PrivacyUnit
    from pqd.engine.tables import Table
    from pqd.parameters import Parameters
    from pqd.reports.models.release import ReleaseReport
    from pqd.spec import Spec
    from pqd.sql.query import Query
    from pqd.stated.column_facts import Facts
    from pqd.stated.mechanism_options import MechanismOptions


@option_group
class ReleaseOptions:
    """Options that only a release has: its budget, its mechanism and its level."""

    total_epsilon: options.TotalEpsilon = None
    mechanism: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="auto (smallest error on the synthetic table; taken if left out), or "
            f"{', '.join(RELEASING)}.",
        ),
    ] = None
    mechanism_option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="Option of the mechanism that --mechanism names, such as rounds=20, delta=1e-6 or "
            "radius=private of numerical, truncation=svt or s=50000 of tamm; the guide lists all. "
            "May be given several times.",
        ),
    ] = None
    weight_of: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ID=WEIGHT",
            help="How much the error of one query matters (1 if left out); it goes before the one "
            "in the file of queries. May be given several times.",
        ),
    ] = None
    isotonic: Annotated[
        bool,
        typer.Option(
            "--isotonic",
            help="Make the answers to nested queries (each selects all rows of the one before) "
            "non-decreasing, at no cost.",
        ),
    ] = False
    alpha: Annotated[
        str | None,
        typer.Option(
            metavar="ALPHA",
            help="An interval low .. high misses the answer with this probability (0.05 if left "
            "out).",
        ),
    ] = None

    @property
    def stated(self) -> bool:
        """Whether the caller gives an option that a spec has a key for."""
        stated = self.total_epsilon or self.mechanism or self.alpha or self.isotonic
        return bool(stated or self.mechanism_option or self.weight_of)

    def read(self, columns: Facts) -> Parameters:
        """Parameters of the release, which does not use their tolerance."""
        from pqd.stated.budgets import total_budget

        budget = total_budget(self.total_epsilon or None)
        criteria = CriteriaOptions("1", self.alpha or "0.05")
        return options.criteria(criteria, columns, self.mechanism or AUTO).at(budget)

    @property
    def mechanism_options(self) -> MechanismOptions:
        """Options of the mechanism."""
        from pqd.stated.mechanism_options import read_mechanism_options

        texts = self.mechanism_option or []
        stated = options.values_by_name(texts, "mechanism option", "rounds=20")
        return read_mechanism_options(self.mechanism or AUTO, stated)

    def weigh(self, queries: tuple[Query, ...]) -> tuple[Query, ...]:
        """Queries with the weights that are stated."""
        from pqd.stated.queries import with_weights

        texts = self.weight_of or []
        return with_weights(queries, options.values_by_name(texts, "weight", "q1=3", last=True))


@with_threads
@with_groups
def release(
    private: Annotated[
        str,
        typer.Argument(
            help=f"{options.PRIVATE} Or a spec alone, such as audit.toml, whose [release] says "
            "all.",
            show_default=False,
        ),
    ],
    queries: QueryOptions,
    stated: ReleaseOptions,
    columns: ColumnOptions,
    text: TextOptions,
    unit: UnitOptions,
    ledger: LedgerOptions,
    outputs: OutputOptions,
    display: DisplayOptions,
    synthetic: Annotated[
        str | None,
        typer.Argument(help="The synthetic table, taken as public.", show_default=False),
    ] = None,
    table: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Also write rows of the synthetic table, drawn anew so that they answer as was "
            "released: a new .parquet or .csv file.",
        ),
    ] = None,
) -> None:
    """Answer COUNT and SUM queries on the private table, as many as you like, under ONE budget.

    Spends EPSILON on the private table in all, however many queries there are. The synthetic table
    says which conditions go together, and which mechanism has the least error.

    Example: pqd release private.csv copy.csv --queries queries.sql --total-epsilon 1
    """
    new_file = new_table(table)
    if synthetic is None:
        targets = outputs.targets()
        targets = _checked(display, targets, ledger, new_file)
        if Path(private).suffix.lower() != ".toml":
            raise ParameterError(
                "the synthetic table is missing; give PRIVATE SYNTHETIC and options, or a spec "
                "alone, such as pqd release audit.toml, whose [release] says all (queries, "
                "total_epsilon, mechanism)"
            )
        if any(group.stated for group in (queries, stated, columns, text, unit)):
            raise ParameterError(
                f"{private} is a spec, which says queries, columns, total_epsilon, mechanism, "
                "mechanism_options, isotonic, alpha, unit and the format of text; leave these "
                "options out, or change the spec"
            )
        spec = _read(Path(private))
        targets = _beside_spec(targets, spec, ledger)
        run = partial(_of_spec, spec, ledger, new_file, replaying=display.explains)
    else:
        files = queries.queries, columns.metadata
        targets = outputs.targets(private, synthetic, *files, ledger=ledger.ledger)
        targets = _checked(display, targets, ledger, new_file)
        from pqd.engine.tables import opened_ahead

        facts = columns.facts(private, [synthetic], unit)
        # Open the table while the modules below are imported.
        formats = text.over(facts)
        secret = opened_ahead(private, formats.private)
        copy = formats.table(synthetic, "synthetic")
        people = unit.read()
        terms = stated.read(facts)
        accountant = ledger.accountant(
            private, replaying=display.explains, row_is_person=unit.row_is_person
        )
        from pqd.planning.binding import all_mistakes

        with all_mistakes(secret, [copy], facts, accountant):
            parsed = queries.read(private, synthetic)
        workload = stated.weigh(parsed)
        own_options = stated.mechanism_options
        display.selected(workload)
        run = partial(
            _of_tables,
            secret,
            copy,
            workload,
            terms,
            own_options,
            accountant,
            people,
            new_file,
            isotonic=stated.isotonic,
        )
    failed = []
    try:
        report = run()
    except UnwrittenTableError as error:
        # The answers exist and are paid for, so they are shown.
        report, failed = error.report, [error]
    targets.finish(report, display, *failed)


def _checked(
    display: DisplayOptions, targets: Targets, ledger: LedgerOptions, table: Path | None
) -> Targets:
    """Targets, after a check that no options contradict each other, before anything is read."""
    if display.explains and table is not None:
        raise ParameterError("--explain shows one answer of an earlier run; leave --table out")
    return targets.checked(display, fresh=ledger.fresh)


def _of_tables(
    private: Table | str,
    synthetic: object,
    queries: tuple[Query, ...],
    terms: Parameters,
    mechanism_options: MechanismOptions,
    accountant: Accountant,
    unit: PrivacyUnit | None,
    table: Path | None,
    *,
    isotonic: bool,
) -> ReleaseReport:
    from pqd.cli.progress import progress
    from pqd.commands.release import run_release
    from pqd.deciders import SecureNoise

    # From here on OpenDP is loaded in the background, while the tables are read.
    noise = SecureNoise()
    with progress() as show:
        return run_release(
            private,
            synthetic,
            queries,
            terms,
            noise,
            show,
            options=mechanism_options,
            isotonic=isotonic,
            accountant=accountant,
            unit=unit,
            table=table,
        )


def _read(path: Path) -> Spec:
    from pqd.spec import read_spec

    return read_spec(path)


def _beside_spec(targets: Targets, spec: Spec, ledger: LedgerOptions) -> Targets:
    """Targets, after a check that no target is a file that a spec names."""
    from pqd.spec.sources import ledger_of

    queries = [spec.release.queries] if spec.release else []
    sources = (spec.private, *spec.synthetic.values(), *queries)
    read = (source.path for source in sources)
    return targets.beside(spec.path, *read, ledger=ledger_of(spec, ledger.ledger))


def _of_spec(
    spec: Spec, ledger: LedgerOptions, table: Path | None, *, replaying: bool
) -> ReleaseReport:
    from pqd.cli.progress import progress
    from pqd.commands.release import run_release_spec
    from pqd.deciders import SecureNoise

    # From here on OpenDP is loaded in the background, while the tables are read.
    noise = SecureNoise()
    with progress() as show:
        return run_release_spec(
            spec,
            noise,
            show,
            ledger=ledger.ledger,
            dataset=ledger.dataset,
            fresh=ledger.fresh,
            replaying=replaying,
            table=table,
        )
