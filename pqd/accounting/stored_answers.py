"""Stored answers: what a ledger keeps of private outputs, and how they are read again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deciders.estimators import EstimatorOutput
from deciders.single.base import Decision

if TYPE_CHECKING:
    from deciders.batch.base import BatchOutput
    from pqd.accounting.hash_chain import Body

    Answer = Decision | EstimatorOutput | BatchOutput


def encode(answer: Answer) -> Body:
    """Return an answer as an entry holds it."""
    if isinstance(answer, EstimatorOutput):
        return {"released": list(answer.numbers)}
    if isinstance(answer, Decision):
        said = {"yes": answer.outcome, "p_value": answer.p_value, "margin": answer.margin}
        return {**said, "statistic": list(answer.released)} if answer.released else said
    rest = {"thresholds": answer.thresholds, "deviations": answer.deviations}
    return {"batch": answer.answers, **rest}


def decode(body: Body) -> Answer:
    """Return the answer that an entry holds."""
    if "released" in body:
        return EstimatorOutput(tuple(map(int, body["released"])))
    if "batch" in body:
        from deciders.batch.base import BatchOutput  # noqa: PLC0415 - only where a batch is met

        return BatchOutput.of(body["batch"], body["thresholds"], body["deviations"])
    statistic = tuple(map(int, body.get("statistic", ())))
    return Decision(bool(body["yes"]), body["p_value"], body["margin"], statistic)
