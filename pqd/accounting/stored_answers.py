"""Stored answers: the form in which a ledger keeps private outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pqd.accounting.hash_chain import Body
from pqd.deciders.estimators import EstimatorOutput
from pqd.deciders.single.base import Decision

if TYPE_CHECKING:
    from pqd.deciders.batch.base import BatchOutput

    Answer = Decision | EstimatorOutput | BatchOutput


def encode(answer: Answer) -> Body:
    """Answer in the form of an entry."""
    if isinstance(answer, EstimatorOutput):
        return {"released": list(answer.numbers)}
    if isinstance(answer, Decision):
        verdict = {"yes": answer.outcome, "p_value": answer.p_value, "margin": answer.margin}
        return {**verdict, "statistic": list(answer.released)} if answer.released else verdict
    ends = {"thresholds": answer.thresholds, "deviations": answer.deviations}
    return {"batch": answer.answers, **ends}


def decode(body: Body) -> Answer:
    """Answer from the form of an entry."""
    if "released" in body:
        return EstimatorOutput(tuple(map(int, body["released"])))
    if "batch" in body:
        from pqd.deciders.batch.base import BatchOutput  # noqa: PLC0415 - only where a batch is met

        return BatchOutput.of(body["batch"], body["thresholds"], body["deviations"])
    statistic = tuple(map(int, body.get("statistic", ())))
    return Decision(bool(body["yes"]), body["p_value"], body["margin"], statistic)
