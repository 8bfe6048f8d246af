"""``pqd.check``: the checks of a spec, planned as one, charged in one step, then decided."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pqd.api.cell_progress import cell_progress
from pqd.commands.check import run_check
from pqd.deciders import SecureNoise
from pqd.spec import read_spec

if TYPE_CHECKING:
    from pqd.reports.models.check import CheckReport


def check(
    spec: str | Path,
    *,
    only: str | Sequence[str] = (),
    ledger: str | Path | None = None,
    fresh: bool = False,
    dry_run: bool = False,
    baseline: str | Path | None = None,
    detailed: bool = False,
) -> CheckReport:
    """Run the checks of a spec file (docs/ci.md), with what they mean for a build.

    Parameters
    ----------
    spec
        The path of an ``audit.toml``.
    only
        The id of the check to run, or several ids; all checks by default.
    ledger
        Where the budget is kept, rather than where the spec says.
    fresh
        Measure and pay again what the ledger could replay.
    dry_run
        Plan and quote alone: nothing is decided and nothing spent.
    baseline
        A file of earlier results: what failed there already is ``known`` and fails no more.
    detailed
        Also give every decider's operating characteristic; it costs time only.

    Returns
    -------
    CheckReport
        ``report.exit_code`` is 0 if all is as expected.  The verdicts of this run are
        ``report.cost.epsilon``-differentially private together (with ``report.cost.delta``).

    Raises
    ------
    PqdError
        SpecError, TableError, NothingSelectedError, LedgerError and BudgetError before anything
        is spent; RunError if reading breaks.  A check that is wrong by itself is an entry of the
        report, not an error.
    """
    with cell_progress() as told:
        return run_check(
            read_spec(spec),
            SecureNoise(),
            only=only,
            ledger=ledger,
            fresh=fresh,
            dry_run=dry_run,
            baseline=baseline,
            detailed=detailed,
            progress=told,
        )
