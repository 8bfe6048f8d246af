"""Stored answers: what a ledger keeps of private outputs, and how they are read again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deciders.estimators import Released
from deciders.single.base import Decision

if TYPE_CHECKING:
    from pqd.accounting.hash_chain import Body


@dataclass(frozen=True, slots=True)
class Batched:
    """The private output of one batch of queries, in units of what is summed up.

    ``thresholds`` are where the sums were truncated: one, or one for each query, or both again for
    the negative side; ``deviations`` of the noise, given those.  None where the mechanism has none.
    """

    answers: tuple[float, ...]
    thresholds: tuple[int, ...] | None = None
    deviations: tuple[float, ...] | None = None


Answer = Decision | Released | Batched


def encode(answer: Answer) -> Body:
    """Return an answer as an entry holds it."""
    if isinstance(answer, Released):
        return {"released": list(answer.numbers)}
    if isinstance(answer, Batched):
        found = {"thresholds": answer.thresholds, "deviations": answer.deviations}
        return {"batch": answer.answers, **found}
    said = {"yes": answer.outcome, "p_value": answer.p_value, "margin": answer.margin}
    return {**said, "statistic": list(answer.released)} if answer.released else said


def decode(body: Body) -> Answer:
    """Return the answer that an entry holds."""
    if "released" in body:
        return Released(tuple(map(int, body["released"])))
    if "batch" in body:
        thresholds, deviations = body["thresholds"], body["deviations"]
        return Batched(
            tuple(map(float, body["batch"])),
            None if thresholds is None else tuple(map(int, thresholds)),
            None if deviations is None else tuple(map(float, deviations)),
        )
    statistic = tuple(map(int, body.get("statistic", ())))
    return Decision(bool(body["yes"]), body["p_value"], body["margin"], statistic)
