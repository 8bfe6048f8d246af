"""``pqd check``: the checks of a spec as a gate for a build."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pqd.cli.display import DisplayOptions
from pqd.cli.option_groups import option_group, with_groups
from pqd.cli.options import GateOption, LedgerOptions, NamesOption, path, with_threads
from pqd.cli.outputs import CheckOutputOptions, check_place, failures_of, standing
from pqd.deciders.errors import ParameterError
from pqd.paths import told_as_unwritten, usable

if TYPE_CHECKING:
    from pqd.reports.models.check import CheckReport
    from pqd.spec import Spec


@option_group
class BaselineOptions:
    """Options of the baseline: compare with earlier results, or write new results."""

    baseline: Annotated[
        Path | None,
        typer.Option(
            parser=path, metavar="FILE", help="Fail only on what did not fail in this baseline."
        ),
    ] = None
    update_baseline: Annotated[
        bool, typer.Option("--update-baseline", help="Write the results to the baseline.")
    ] = False

    def check(self, *, dry_run: bool) -> None:
        """Refuse an unreadable file and contradictory options, before anything is spent."""
        if self.update_baseline and self.baseline is None:
            raise ParameterError("--update-baseline needs --baseline FILE to write to")
        if self.update_baseline and dry_run:
            raise ParameterError("--update-baseline needs results, and --dry-run has none")
        if self.baseline is not None:
            usable(self.baseline)

    def check_place(self, *inputs: str | Path, ledger: Path | None = None) -> None:
        """Refuse a baseline that the run would write to a place not writable or not free."""
        if self.update_baseline:
            check_place(str(self.baseline), *inputs, ledger=ledger)

    @property
    def known(self) -> Path | None:
        """Baseline to compare with; None if the baseline is only written."""
        fresh = self.update_baseline and self.baseline and not self.baseline.exists()
        return None if fresh else self.baseline

    def update(self, report: CheckReport, check_place: Callable[[], None]) -> None:
        """Write the results of a run as a baseline, if an option asks for it."""
        if not self.update_baseline or self.baseline is None:
            return
        from pqd.commands.baseline import read_baseline, write_baseline

        with told_as_unwritten(self.baseline):
            check_place()
        known = read_baseline(self.baseline) if self.baseline.exists() else None
        write_baseline(self.baseline, report, known)


# Spec that ``pqd init`` writes, and that a check takes if none is named.
_USUAL_SPEC = Path("audit.toml")


@with_threads
@with_groups
def check(
    baseline: BaselineOptions,
    ledger: LedgerOptions,
    outputs: CheckOutputOptions,
    display: DisplayOptions,
    spec: Annotated[
        Path,
        typer.Argument(
            parser=path, help="The spec; audit.toml here, if left out.", show_default=False
        ),
    ] = _USUAL_SPEC,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="Run this check alone; may be given several times."),
    ] = None,
    gate: GateOption = None,
    names: NamesOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Plan and price; read no private row, spend nothing.")
    ] = False,
) -> None:
    """Run the checks of a spec: each says whether a query is expected to be trustworthy.

    With a gate, in the spec or by --gate, one test tells whether all of them hold, for one epsilon.

    Plans first, pays for all checks in one step or refuses (exit code 4, nothing spent), then
    decides. Repeated checks are replayed from the ledger and cost nothing.

    Exit codes: 0 all as expected, 1 a check failed, 2 an error in the spec or a check, 3 the run
    broke, 4 budget refused, 5 nothing selected.

    Example: pqd check audit.toml --output junit=pqd.xml --output github
    """
    if spec == _USUAL_SPEC and not spec.exists():
        raise ParameterError(
            "there is no audit.toml here; name the spec, such as pqd check checks/audit.toml, or "
            "write one with pqd init PRIVATE COPY"
        )
    targets = outputs.targets(baseline.baseline, spec=spec)
    baseline.check(dry_run=dry_run)
    targets = targets.checked(display, fresh=ledger.fresh)
    if display.explain is not None:
        if dry_run or only or baseline.update_baseline:
            raise ParameterError(
                "--explain shows one check of an earlier run; leave --only, --dry-run and "
                "--update-baseline out"
            )
        only = [display.explain]
    from pqd.commands.check import check_baseline_fits, read_gated_spec
    from pqd.spec.sources import ledger_of

    with targets.stopping():
        read = read_gated_spec(spec, gate, names)
        if baseline.baseline is not None:
            check_baseline_fits(read)
    # If an output is refused, nothing is rendered: the output may be a file that must not be
    # overwritten.
    sources = [read.private, *read.synthetic.values()]
    sources += [read.held_out.source] if read.held_out else []
    tables = [table.path for table in sources]
    account = ledger_of(read, ledger.ledger)
    targets = targets.beside(*tables, ledger=account)
    check_baseline = partial(baseline.check_place, spec, *tables, ledger=account)
    check_baseline()
    with targets.stopping(read.unit):
        report = _run(
            read,
            # Checks that share a budget can be replayed only together.
            [] if display.explains and (read.shared_budget or read.gate) else only or [],
            ledger,
            baseline.known,
            dry_run=dry_run,
            detailed=targets.has_curves(len(read.checks)),
            explained=display.explain,
        )

    failed = failures_of(partial(standing, partial(baseline.update, report, check_baseline)))
    targets.finish(report, display, *failed)
    # If an earlier verdict is only shown again, the build does not fail.
    raise typer.Exit(0 if display.explains else report.exit_code)


def _run(
    spec: Spec,
    only: list[str],
    ledger: LedgerOptions,
    baseline: Path | None,
    *,
    dry_run: bool,
    detailed: bool,
    explained: str | None,
) -> CheckReport:
    from pqd.cli.progress import progress
    from pqd.commands.check import run_check
    from pqd.deciders import SecureNoise

    # This starts to load OpenDP in the background, while the tables are read.
    noise = SecureNoise()
    with progress() as tell:
        return run_check(
            spec,
            noise,
            only=only,
            ledger=ledger.ledger,
            dataset=ledger.dataset,
            fresh=ledger.fresh,
            dry_run=dry_run,
            baseline=baseline,
            detailed=detailed,
            explained=explained,
            replaying=explained is not None,
            progress=tell,
        )
