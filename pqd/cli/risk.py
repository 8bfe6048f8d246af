"""``pqd risk``: whether the copy gives anybody away."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from pqd.cli import options
from pqd.cli.display import DisplayOptions
from pqd.cli.option_groups import option_group, with_groups
from pqd.cli.options import ColumnOptions, LedgerOptions, TextOptions, UnitOptions, with_threads
from pqd.cli.outputs import OutputOptions
from pqd.errors import ParameterError

if TYPE_CHECKING:
    from pqd.attacks.parameters import RiskParameters
    from pqd.stated.column_facts import Facts


@option_group
class RiskOptions:
    """Budget, tolerance and level of a risk report, and what an attacker knows."""

    held_out: options.HeldOut = None
    private_rows: Annotated[
        str | None,
        typer.Option(
            metavar="N",
            help="Number of private rows (with --unit of persons) that --dry-run takes for "
            "granted, where it may be published; else as many as the copy has.",
        ),
    ] = None
    held_out_rows: Annotated[
        str | None,
        typer.Option(
            metavar="N",
            help="Number of held-out rows (with --unit of persons) that --dry-run takes for "
            "granted; else as many as the copy has.",
        ),
    ] = None
    held_out_dataset: options.HeldOutDataset = None
    total_epsilon: Annotated[
        str,
        typer.Option(
            metavar="EPSILON",
            help="Privacy budget of the whole report, on the private table and on the held-out "
            "table.",
        ),
    ] = "1"
    tau: Annotated[
        str,
        typer.Option(
            metavar="TAU",
            help="Tolerance: how much more often an attack may succeed on private rows than on "
            "held-out rows; 1% is one percentage point.",
        ),
    ] = "1%"
    alpha: options.Alpha = "0.05"
    columns: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="Columns that attacks use, such as age,sex; may be given several times. Else all "
            "but identifiers and free text.",
        ),
    ] = None
    secret: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="Columns that an attacker guesses, at most 8; may be given several times. Else "
            "the three columns of texts that the copy's own rows give away most.",
        ),
    ] = None
    known: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="Columns that an attacker knows who guesses a secret; may be given several times. "
            "Else all other columns.",
        ),
    ] = None
    attacks: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="Attacks to try, such as copied,inference; may be given several times. Fewer have "
            "less noise at the same budget.",
        ),
    ] = None
    learner: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Way in which a secret is guessed: nearest, by the nearest row of the copy, or "
            "trees, by boosted trees that learn from the copy; trees need the extra learn.",
        ),
    ] = "nearest"
    copy_epsilon: Annotated[
        str | None,
        typer.Option(
            metavar="EPSILON",
            help="The epsilon with which the copy was made, if its generator is differentially "
            "private: the bound on what any attack gains stands beside.",
        ),
    ] = None

    def read(self, facts: Facts) -> RiskParameters:
        """Parameters of the risk report, with the public facts of columns."""
        from pqd.attacks.parameters import RiskParameters
        from pqd.sql.schema import listed_names

        return RiskParameters.parse(
            total_epsilon=self.total_epsilon,
            tau=self.tau,
            alpha=self.alpha,
            columns=listed_names(self.columns or []) or None,
            secrets=listed_names(self.secret or []) or None,
            known=listed_names(self.known or []) or None,
            attacks=listed_names(self.attacks or []) or None,
            copy_epsilon=self.copy_epsilon,
            learner=self.learner,
            private_rows=self.private_rows or None,
            held_out_rows=self.held_out_rows or None,
            facts=facts,
        )


@with_threads
@with_groups
def risk(
    private: options.Private,
    synthetic: options.Synthetic,
    stated: RiskOptions,
    columns: ColumnOptions,
    text: TextOptions,
    unit: UnitOptions,
    ledger: LedgerOptions,
    outputs: OutputOptions,
    display: DisplayOptions,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Exit with 1 unless each attack is established to gain at most TAU; needs "
            "--held-out.",
        ),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Say which attacks can be decided, what would decide the others, and the price; "
            "read no private row, spend nothing.",
        ),
    ] = False,
) -> None:
    """Say whether the copy gives anybody away: copied rows, linking, singling out, guessed secrets.

    Attacks see the copy alone and are tried on the private rows, and with --held-out on rows that
    the generator never saw: what an attack gains on private rows is a leak. Spends EPSILON (1 if
    left out) on the private table, and on the held-out table, in an account of its own; the same
    report again is replayed and costs nothing.

    Example: pqd risk private.csv copy.csv --held-out others.csv --html risk.html
    """
    if check and dry_run:
        raise ParameterError(
            "--check needs verdicts, and --dry-run has none; leave one of them out"
        )
    if check and stated.held_out is None:
        raise ParameterError(
            "--check needs held-out rows, since there are no verdicts without them; add --held-out "
            "TABLE, or leave --check out"
        )
    targets = outputs.targets(
        private, synthetic, stated.held_out, columns.metadata, ledger=ledger.ledger
    )
    targets = targets.checked(display, fresh=ledger.fresh)
    from pqd.engine.tables import opened_ahead

    facts = columns.facts(private, [synthetic], unit)
    # Open the table while the modules below are imported.
    formats = text.over(facts)
    secret = (
        formats.table(private, "private") if dry_run else opened_ahead(private, formats.private)
    )
    copy = formats.table(synthetic, "synthetic")
    held_out = formats.table(stated.held_out, "held-out")
    people = unit.read()
    parameters = stated.read(facts)
    explains, alone = display.explains, unit.row_is_person
    accountant = ledger.accountant(private, replaying=explains, row_is_person=alone)
    other = None
    if stated.held_out is not None:
        from dataclasses import replace

        apart = replace(ledger, dataset=stated.held_out_dataset)
        other = apart.accountant(stated.held_out, replaying=explains, row_is_person=alone)
    from pqd.cli.progress import progress

    if dry_run:
        from pqd.commands.risk import run_risk_plan

        with progress() as show:
            report = run_risk_plan(
                secret,
                copy,
                parameters,
                show,
                held_out=held_out,
                accountant=accountant,
                held_out_accountant=other,
                unit=people,
            )
        targets.finish(report, display)
        return
    from pqd.commands.risk import run_risk
    from pqd.deciders import SecureNoise

    # This starts to load OpenDP in the background, while the tables are read.
    noise = SecureNoise()
    with progress() as show:
        report = run_risk(
            secret,
            copy,
            parameters,
            noise,
            show,
            held_out=held_out,
            accountant=accountant,
            held_out_accountant=other,
            unit=people,
        )
    targets.finish(report, display)
    if check:
        raise typer.Exit(0 if explains else report.exit_code)
