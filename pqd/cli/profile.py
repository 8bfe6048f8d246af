"""``pqd profile``: the quality of a whole synthetic copy, without a query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from pqd.cli import options
from pqd.cli.display import DisplayOptions
from pqd.cli.option_groups import option_group, with_groups
from pqd.cli.options import (
    AttackOptions,
    ColumnOptions,
    LedgerOptions,
    TextOptions,
    UnitOptions,
    with_threads,
)
from pqd.cli.outputs import OutputOptions
from pqd.deciders.errors import ParameterError
from pqd.progress import is_strict

if TYPE_CHECKING:
    from pqd.marginals.profile_parameters import ProfileParameters
    from pqd.planning.gate import GateTerms
    from pqd.stated.column_facts import Facts
    from pqd.stated.text_formats import TextFormats


@option_group
class MarginalOptions:
    """Options of marginals: the columns, the distances and the cells to compare."""

    columns: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="Columns, such as age,sex; may be given several times. Else all but identifiers "
            "and free text.",
        ),
    ] = None
    ways: Annotated[
        str,
        typer.Option(
            metavar="N", help="1: columns; 2: columns and pairs; 3: also up to 100 triples."
        ),
    ] = "2"
    cells: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=CELLS",
            help="What counts as one value of a column: a number of bins (age=20), their edges "
            "(age=0,18,65,120) or values (job=cook|smith); else from the synthetic table. May be "
            "given several times.",
        ),
    ] = None
    cells_from: Annotated[
        str | None,
        typer.Option(
            metavar="TABLE",
            help="A public table that is no copy, such as an older release: it gives columns, "
            "kinds and cells, so that figures of several copies have one measure.",
        ),
    ] = None
    distance: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="tv (total variation, always measured), ks (Kolmogorov-Smirnov) or emd (earth "
            "mover's) of numbers and times; may be given several times. Else tv and ks.",
        ),
    ] = None

    @property
    def stated(self) -> list[str]:
        """Names of the options that differ from their defaults."""
        given = {
            "--columns": self.columns,
            "--ways": self.ways != "2",
            "--cells": self.cells,
            "--cells-from": self.cells_from,
            "--distance": self.distance,
        }
        return [name for name, is_given in given.items() if is_given]


@option_group
class ProfileOptions:
    """Budget, tolerance and level of a profile, its zoom and its target."""

    total_epsilon: Annotated[
        str,
        typer.Option(metavar="EPSILON", help="Privacy budget of the whole profile."),
    ] = "1"
    tau: Annotated[
        str,
        typer.Option(metavar="TAU", help="Tolerance of each distance, a share of the rows."),
    ] = "5%"
    alpha: options.Alpha = "0.05"
    zoom: Annotated[
        str,
        typer.Option(
            metavar="N",
            help="Measure each cell of the N worst marginals, with a fifth of the budget.",
        ),
    ] = "0"
    target: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Try a classifier of this column, trained on the copy, on the private table, with "
            "a tenth of the budget (needs pqd[learn]).",
        ),
    ] = None
    delta: Annotated[
        str | None,
        typer.Option(
            metavar="DELTA",
            help="Use Gaussian noise, which is smaller for many columns. The guarantee may then "
            "fail with this probability, such as 1e-6; without this option it never fails.",
        ),
    ] = None

    relations: Annotated[
        str,
        typer.Option(
            metavar="SHARE",
            help="Share of the relations between columns that the copy must keep; 0% is what "
            "columns shuffled one by one keep.",
        ),
    ] = "50%"
    copy_epsilon: Annotated[
        str | None,
        typer.Option(
            metavar="EPSILON",
            help="The epsilon under which the copy was made, if its generator is differentially "
            "private: a copy that is very near is then no error but a note.",
        ),
    ] = None
    private_rows: options.PrivateRows = None
    gate: options.GateOption = None
    names: options.NamesOption = None
    anyway: Annotated[
        bool,
        typer.Option(
            "--anyway",
            help="Measure even if less than a fifth of the distances can be decided; else such a "
            "run is refused before it spends anything.",
        ),
    ] = False

    def gate_terms(self) -> GateTerms:
        """Terms of a gate; ParameterError for options of a profile that a gate does not have."""
        from pqd.commands.gate import gate_terms

        if self.gate is None:
            raise ParameterError("--names names the worst condition of a gate; state --gate too")
        given = {
            "--total-epsilon": self.total_epsilon != "1",
            "--zoom": self.zoom != "0",
            "--target": self.target,
            "--delta": self.delta,
        }
        if stated := [name for name, is_given in given.items() if is_given]:
            raise ParameterError(
                f"--gate is the whole budget of one test, without figures; leave "
                f"{', '.join(stated)} out"
            )
        return gate_terms(self.gate, self.names, self.alpha, self.private_rows or None)

    def read(
        self, marginals: MarginalOptions, facts: Facts, formats: TextFormats
    ) -> ProfileParameters:
        """Parameters of the profile."""
        from pqd.marginals.profile_parameters import ProfileParameters
        from pqd.sql.schema import listed_names
        from pqd.stated.cells import parse_all_cells

        return ProfileParameters.parse(
            total_epsilon=self.total_epsilon,
            tau=self.tau,
            ways=marginals.ways,
            columns=listed_names(marginals.columns or []) or None,
            cells=parse_all_cells(marginals.cells or []),
            distances=marginals.distance or ("tv", "ks"),
            zoom=self.zoom,
            target=self.target,
            delta=self.delta,
            alpha=self.alpha,
            facts=facts,
            copy_epsilon=self.copy_epsilon,
            anyway=self.anyway,
            private_rows=self.private_rows or None,
            relations=self.relations,
            cells_from=formats.table(marginals.cells_from, "synthetic"),
        )


@with_threads
@with_groups
def profile(
    private: options.Private,
    synthetic: options.Synthetic,
    marginals: MarginalOptions,
    stated: ProfileOptions,
    attacks: AttackOptions,
    columns: ColumnOptions,
    text: TextOptions,
    unit: UnitOptions,
    ledger: LedgerOptions,
    outputs: OutputOptions,
    display: DisplayOptions,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Say what can be told at which price; spend nothing."),
    ] = False,
) -> None:
    """Say how far the whole copy is from the private table: every column, every pair, one score.

    No query is needed. Spends EPSILON (1 if left out) on the private table in all, and with --risk
    that epsilon too; the same profile again is replayed from the ledger and costs nothing.

    With --gate, one test for that epsilon in place of figures: at least 95 % of all columns and
    pairs within TAU and what chance adds, all within three times that, no value too rare or lost,
    half of the relations kept, no alarm. Exit code 1 if this is not shown.

    The exit code of a profile is 0, whatever it says; with --strict it is 1 if the copy must not be
    handed out: an ERROR of the alarm, or an attack of --risk that is shown to gain.

    Example: pqd profile private.csv copy.csv --html profile.html
    """
    inputs = private, synthetic, attacks.held_out, columns.metadata
    targets = outputs.targets(*inputs, ledger=ledger.ledger)
    targets = targets.checked(display, fresh=ledger.fresh)
    from pqd.engine.tables import opened_ahead

    facts = columns.facts(private, [synthetic], unit)
    # Open the table while the modules below are imported.
    formats = text.over(facts)
    secret = (
        formats.table(private, "private") if dry_run else opened_ahead(private, formats.private)
    )
    copy = formats.table(synthetic, "synthetic")
    people = unit.read()
    parameters = stated.read(marginals, facts, formats)
    accountant = ledger.accountant(
        private, replaying=display.explains, row_is_person=unit.row_is_person
    )
    risk = attacks.read(
        formats, ledger, replaying=display.explains, row_is_person=unit.row_is_person
    )
    from pqd.cli.progress import progress

    if stated.gate or stated.names:
        if risk:
            raise ParameterError(
                "--gate is one test without figures, and --risk has figures; leave one of them out"
            )
        terms = stated.gate_terms()
        from pqd.commands.gate import run_table_gate
        from pqd.deciders import SecureNoise

        noise = SecureNoise()
        with progress() as show:
            result = run_table_gate(
                secret,
                copy,
                parameters,
                terms,
                noise,
                show,
                accountant=accountant,
                unit=people,
                dry_run=dry_run,
            )
        targets.finish(result, display)
        raise typer.Exit(0 if display.explains else result.exit_code)
    if dry_run:
        from pqd.commands.profile import run_profile_plan

        with progress() as show:
            report = run_profile_plan(
                secret, copy, parameters, show, accountant=accountant, unit=people, risk=risk
            )
    else:
        from pqd.commands.profile import run_profile
        from pqd.deciders import SecureNoise

        # This starts to load OpenDP in the background, while the tables are read.
        noise = SecureNoise()
        with progress() as show:
            report = run_profile(
                secret,
                copy,
                parameters,
                noise,
                show,
                accountant=accountant,
                unit=people,
                risk=risk,
            )
    targets.finish(report, display)
    if is_strict() and not display.explains:
        raise typer.Exit(report.exit_code)
