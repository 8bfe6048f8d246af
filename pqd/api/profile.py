"""``pqd.profile``: the quality of a whole synthetic copy, without a query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pqd.accounting.accountant import Accountant
from pqd.accounting.ledger_location import ledger_path
from pqd.api.cell_progress import cell_progress
from pqd.commands.profile import run_profile, run_profile_plan
from pqd.deciders import ParameterError, SecureNoise
from pqd.distances.profile_parameters import ProfileParameters
from pqd.parameters import privacy_unit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pqd.deciders.exact import Number
    from pqd.reports.models.profile import ProfileReport


def profile(  # noqa: PLR0913 - the facts of a profile, all but two by keyword
    private: object | None,
    synthetic: object,
    *,
    total_epsilon: Number = 1,
    tau: Number = "5%",
    ways: int = 2,
    columns: Sequence[str] | None = None,
    cells: Mapping[str, Any] | None = None,
    distances: Sequence[str] = ("tv", "ks"),
    zoom: int = 0,
    target: str | None = None,
    delta: Number | None = None,
    alpha: Number = 0.05,
    facts: Mapping[str, Mapping[str, Any]] | None = None,
    unit: str | None = None,
    max_rows: int = 1,
    ledger: str | Path | None = None,
    fresh: bool = False,
    dry_run: bool = False,
) -> ProfileReport:
    """Distance of every column and every pair of columns, and one score of the whole copy.

    Parameters
    ----------
    private, synthetic
        As for ``pqd.audit``: the synthetic table, and all other arguments, are public.  For a plan
        of a copy alone (``dry_run``) the private table may be None.
    total_epsilon
        Privacy budget of the whole profile: 1 if nothing else is stated.
    tau
        The tolerance of each distance, a share of the rows below 1: ``"5%"`` or ``0.05``.
    ways
        1: columns; 2: columns and pairs; 3: also up to 100 triples, chosen by their names.
    columns
        Names of the columns; by default all but identifiers and free text.
    cells
        What counts as one value, by column: ``{"age": 20}`` (bins between quantiles of the copy, or
        its most frequent values), ``{"age": [0, 18, 65, 120]}`` (edges), ``{"job": ["cook"]}``.
    distances
        Total variation is always measured; ``"ks"`` (Kolmogorov-Smirnov) and ``"emd"`` (earth
        mover's) are of numbers and times too.
    zoom
        Number of marginals, the worst, of which each cell is measured; that takes a fifth of the
        budget.
    target
        A column: a classifier that is trained on the copy is tried on the private table, for a
        tenth of the budget.  It needs ``pip install "pqd[learn]"``.
    delta
        Take Gaussian noise for the distances, which is smaller where there are many, and protects
        but with this probability; by default there is no such chance.
    alpha
        The error probability that the caller accepts: of each interval, each p-value, and of all
        that holds at once.
    facts
        Public facts of columns, as ``columns`` of ``pqd.audit``: ``{"zip": {"type": "text"}}``.
    unit, max_rows
        A column of the private table: all rows with one value are one person, of whom at most
        ``max_rows`` count.  By default one row is one person.
    ledger, fresh
        As for ``pqd.audit``.
    dry_run
        Plan and price alone: which distances can be told from ``tau``; nothing is spent.

    Returns
    -------
    ProfileReport
        All of it is ``report.cost.epsilon``-differentially private together (with
        ``report.cost.delta``): one release of all distances with the number of rows, one of the
        cells of each marginal that is looked into, and one of the confusion matrix.

    Raises
    ------
    PqdError
        As ``pqd.audit``.
    """
    parameters = ProfileParameters.parse(
        total_epsilon=total_epsilon,
        tau=tau,
        ways=ways,
        columns=columns,
        cells=cells,
        distances=distances,
        zoom=zoom,
        target=target,
        delta=delta,
        alpha=alpha,
        facts=facts,
    )
    people = privacy_unit(unit, max_rows)
    if private is None:
        if not dry_run:
            raise ParameterError("the private table is missing; give it, or take dry_run=True")
        with cell_progress() as told:
            return run_profile_plan(None, synthetic, parameters, told, unit=people)
    accountant = Accountant(ledger_path(private, ledger), fresh=fresh)
    with cell_progress() as told:
        if dry_run:
            return run_profile_plan(
                private, synthetic, parameters, told, accountant=accountant, unit=people
            )
        return run_profile(
            private, synthetic, parameters, SecureNoise(), told, accountant=accountant, unit=people
        )
