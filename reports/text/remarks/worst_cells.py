"""Worst cells of a marginal: which of them differ by more than noise makes any cell differ.

Of thousands of cells noise alone makes some look wrong, and a list of the worst ones would show
just those.  So a cell counts as different only beyond what the noise of all cells together stays
below with probability 1 - alpha.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pqd.reports.text.numbers import number_text
from pqd.reports.text.words import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pqd.reports.models.profile import CellFacts, ProfileReport, ZoomedMarginal


def noise_bound(report: ProfileReport, marginal: ZoomedMarginal) -> float:
    """Share of the rows that the noise of no cell exceeds, with probability 1 - alpha.

    By the union bound over the tails of discrete Laplace noise, whose deviation is the budget's
    ``scale``: Pr[abs(noise) >= t] = 2 p^t / (1 + p), p = exp(-1 / b), for whole t; the variance is
    1 / (2 sinh(1 / (2 b))^2).
    """
    scales = [part.scale for part in report.budget if part.part == "cells"]
    if not scales or report.rows is None:
        return 0.0
    spread = 0.5 / math.asinh(1 / (math.sqrt(2) * max(scales)))
    tail = 2 / (1 + math.exp(-1 / spread))
    rows = spread * math.log(tail * max(1, len(marginal.cells)) / float(report.alpha))
    return rows / max(1.0, report.rows.low)


def differs(cell: CellFacts, bound: float) -> bool:
    """Whether noise alone does not account for a cell's difference, also not as the worst cell."""
    value, low, high = cell.difference
    return abs(value) > bound and not low <= 0 <= high


def different_cells(report: ProfileReport, marginal: ZoomedMarginal) -> Sequence[CellFacts]:
    """Cells that differ by more than noise, the worst first."""
    bound = noise_bound(report, marginal)
    return [cell for cell in marginal.cells if differs(cell, bound)]


def noise_sentence(report: ProfileReport, marginal: ZoomedMarginal) -> str:
    """How many cells differ by more than noise makes any of them differ."""
    found, number = len(different_cells(report, marginal)), len(marginal.cells)
    points = number_text(100 * noise_bound(report, marginal), 2)
    which = {0: "None", number: "All"}.get(found, f"{found:,}")
    verb = "differs" if found < 2 else "differ"
    return (
        f"{which} of {counted(number, 'cell')} {verb} by more than {points} points, which noise "
        "alone may do to the worst."
    )
