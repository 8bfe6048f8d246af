"""``pqd check``: the checks of a spec as a gate for a build."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deciders.errors import ParameterError
from pqd.cli import options, outputs
from pqd.paths import unlinked, usable, writable

if TYPE_CHECKING:
    from pqd.spec import Spec
    from reports.models.check import CheckReport


def check(
    spec: Annotated[Path, typer.Argument(help="The spec, such as audit.toml.", show_default=False)],
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="Run this check alone; may be given several times."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Plan and price; decide nothing, spend nothing.")
    ] = False,
    output: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND=FILE",
            help="Also write json=FILE, junit=FILE, markdown=FILE or html=FILE (- for standard "
            "output), or github: annotations, and the step summary. May be given several times.",
        ),
    ] = None,
    html: options.Html = None,
    baseline: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Fail only on what did not fail in this baseline."),
    ] = None,
    update_baseline: Annotated[
        bool, typer.Option("--update-baseline", help="Write the results to the baseline.")
    ] = False,
    ledger: options.LedgerFile = None,
    fresh: options.Fresh = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show every verdict in full.")
    ] = False,
) -> None:
    """Run the checks of a spec: each says whether a query is expected to be trustworthy.

    Plans first, pays for all checks in one step or refuses (exit code 4, nothing spent), then
    decides. What was asked before is replayed from the ledger and costs nothing.

    Exit codes: 0 all as expected, 1 a check failed, 2 an error in the spec or a check, 3 the run
    broke, 4 budget refused, 5 nothing selected.

    Example: pqd check audit.toml --output junit=pqd.xml --output github
    """
    asked = [*(output or []), *([f"html={html}"] if html else [])]
    targets = outputs.parsed(asked, spec, *([baseline] if baseline else []))
    if update_baseline and baseline is None:
        raise ParameterError("--update-baseline needs --baseline FILE to write to")
    if update_baseline and dry_run:
        raise ParameterError("--update-baseline needs results, and --dry-run has none")
    if baseline is not None:
        # Here, and not only when it is written: that comes after the charge.
        usable(baseline)
        if update_baseline:
            writable(unlinked(baseline))
    from pqd.spec import read_spec

    with outputs.stopping(targets, spec):
        read = read_spec(spec)
    # Not rendered if refused: an output may name what it must not overwrite.
    _check_targets(targets, read, ledger)
    with outputs.stopping(targets, spec):
        report = _run(
            read,
            only or [],
            ledger,
            baseline,
            update_baseline,
            fresh,
            dry_run,
            detailed=outputs.has_page(targets),
        )
    if not outputs.takes_stdout(targets):
        from reports.terminal import TerminalReport

        options.show(TerminalReport(report, verbose=verbose))
    if update_baseline and baseline is not None:
        from pqd.commands.baseline import read_baseline, write_baseline

        write_baseline(baseline, report, read_baseline(baseline) if baseline.exists() else None)
    # Last, so that a verdict is seen even where this fails.
    outputs.write(targets, report, spec)
    raise typer.Exit(report.exit_code)


def _check_targets(targets: Sequence[outputs.Output], spec: Spec, ledger: Path | None) -> None:
    from pqd.spec.sources import place_of_ledger

    tables = (spec.private, *spec.synthetic.values())
    outputs.check(targets, *(table.path for table in tables), place_of_ledger(spec, ledger))


def _run(
    spec: Spec,
    only: list[str],
    ledger: Path | None,
    baseline: Path | None,
    update: bool,
    fresh: bool,
    dry_run: bool,
    *,
    detailed: bool,
) -> CheckReport:
    from deciders import SecureNoise

    # OpenDP loads in the background from here on, while the tables are read.
    noise = SecureNoise()
    from pqd.cli.progress import progress
    from pqd.commands.check import run_check

    known = baseline if baseline is not None and (not update or baseline.exists()) else None
    with progress() as show:
        return run_check(
            spec,
            noise,
            only=only,
            ledger=ledger,
            fresh=fresh,
            dry_run=dry_run,
            baseline=known,
            detailed=detailed,
            progress=show,
        )
