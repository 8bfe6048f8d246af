"""``pqd release SPEC``: what the ``[release]`` of a spec file says, answered."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from deciders.errors import ParameterError
from pqd.accounting.accountant import Accountant
from pqd.accounting.accounts import Budget
from pqd.commands.release import check_unit, run_release
from pqd.parameters import Parameters
from pqd.progress import Progress, silent
from pqd.spec.sources import ledger_of, open_source, paths_as_written
from pqd.sql.workload_files import read_queries

if TYPE_CHECKING:
    from deciders import Noise
    from pqd.spec import Spec
    from reports.models.release import ReleaseReport


def run_publication(
    spec: Spec,
    noise: Noise,
    progress: Progress = silent,
    *,
    ledger: Path | None = None,
    fresh: bool = False,
    table: Path | None = None,
) -> ReleaseReport:
    """Release what ``spec`` says, within its budget; see ``pqd.release``.

    Raises
    ------
    PqdError
        As ``pqd.release``, and if the spec has no ``[release]``.
    """
    said = spec.release
    if said is None:
        raise ParameterError(
            f"{spec.path.name} has no [release]; add [release] with total_epsilon = 1, "
            'queries = "queries.sql"'
        )
    check_unit(spec.unit)
    terms = Parameters.parse(
        tau=1,
        epsilon=said.total_epsilon,
        alpha=said.alpha,
        mechanism=said.mechanism,
        columns=spec.columns,
    )
    accountant = Accountant(ledger_of(spec, ledger), Budget(spec.epsilon, spec.delta), fresh=fresh)
    with paths_as_written(spec):
        tables = (
            open_source(spec.private, "private"),
            open_source(spec.synthetic[said.synthetic], "synthetic"),
        )
        asked = read_queries(said.queries.path, tables)
        return run_release(
            *tables, asked, terms, noise, progress, accountant=accountant, table=table
        )
