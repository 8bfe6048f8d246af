"""One budget for a whole workload: each query by itself at its share, or several as a batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from deciders.errors import ParameterError
from pqd.batches.mechanisms import ALONE, TOGETHER
from pqd.planning.budget_split import Beside, Sharers, Waiting, alone
from pqd.planning.choose_decider import AUTO
from pqd.planning.query_warnings import WARNING, budget_warnings
from reports.text.numbers import epsilon_text

if TYPE_CHECKING:
    from pqd.execution import Part
    from pqd.planning.decisions import Question


@dataclass(frozen=True, slots=True)
class SharedBudget:
    """A budget for all queries of a run that have none of their own, and how it is shared out.

    Guarantee: what those questions draw is ``epsilon``-DP in all.  Of all that are to be paid for,
    the queries that sum up one thing have their number's share of ``epsilon``.  A batch is DP at
    that share; questions asked alone have it between them, each as much as the others, where
    those that no row takes part in two of count once (McSherry 2009, Theorem 4).
    """

    epsilon: Fraction
    mode: str = AUTO


def shared(parts: Sequence[Beside], sharing: SharedBudget | None) -> list[Part[Question]]:
    """Return the parts with every query made a question, those that wait at their shares.

    What cannot be one is among the refused of its part, which also notes how it shares.  Without a
    ``sharing`` no query may wait.

    Raises
    ------
    PqdError
        If a mechanism that is named does not fit.
    """
    waiting = sum(isinstance(q, Waiting) for part, _ in parts for q in part.prepared.questions)
    if waiting and not sharing:
        raise ParameterError(
            "a query has no epsilon; give it one, or a total_epsilon for all to share"
        )
    epsilon = sharing.epsilon if sharing else Fraction(0)
    sharers = [Sharers(part, epsilon / max(1, waiting)) for part, _ in parts]
    number = sum(each.number for each in sharers)
    if sharing and number:
        batched = _batched(sharers, parts, epsilon / number, sharing.mode)
        if sharing.mode in TOGETHER and not batched:
            raise ParameterError(
                f"{sharing.mode} answers COUNT and SUM queries together, without a unit and "
                "without a named decider; these are none, so use alone"
            )
        for each in sharers:
            each.notes += [f"{WARNING}{slip}" for slip in budget_warnings(epsilon)]
            asked_alone(each, epsilon / number)
        if sum(each.price for each in sharers) > epsilon:
            raise RuntimeError
    return [each.part() for each in sharers]


def _batched(
    sharers: Sequence[Sharers], parts: Sequence[Beside], each: Fraction, mode: str
) -> bool:
    """Make batches where ``mode`` asks for them or they are better; say whether any could be."""
    if mode == ALONE:
        return False
    from pqd.batches.selection import into_batches  # noqa: PLC0415 - only where batches may be

    pairs = zip(sharers, parts, strict=True)
    batched = [into_batches(one, beside, each, mode) for one, beside in pairs]
    return any(batched)


def asked_alone(sharers: Sharers, each: Fraction) -> None:
    """Ask all that are left alone; ``each`` is the share of one of them."""
    ones = sharers.left
    found = alone(list(ones.values()), each * sharers.number)
    sharers.settle(dict(zip(ones, found, strict=True)))
    if found:
        number = f"{len(found):,} {'query' if len(found) == 1 else 'queries'}"
        sharers.notes.append(
            f"{number} asked alone, each at epsilon {epsilon_text(found[0].epsilon)}; "
            "an epsilon that would do is such a share."
        )
