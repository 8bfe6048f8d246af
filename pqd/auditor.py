"""The main job: one verdict per query on a private table and its synthetic copy."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

from deciders import SecureNoise
from deciders.exact import Number, budget_of
from pqd.dispatch import AUTO
from pqd.engines.duckdb import DuckDBEngine
from pqd.parameters import Terms
from pqd.queries import as_queries
from pqd.questions import Question, prepare
from pqd.tables import open_table
from reports.model import AuditReport, Verdict
from reports.numbers import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from deciders import Noise
    from deciders.decider import Decision
    from pqd.query import Query


class Progress(Protocol):
    """Told what an audit is at; it must show nothing of the private table, not even its size."""

    def __call__(self, stage: str, done: int = 0, total: int = 0) -> None:
        """Note that ``done`` of ``total`` public steps of ``stage`` are done."""
        ...


def _silent(stage: str, done: int = 0, total: int = 0) -> None:
    pass


def audit(  # noqa: PLR0913 - the facts of an audit, all but three by keyword
    private: object,
    synthetic: object,
    queries: str | Query | Iterable[str | Query],
    *,
    tau: Number,
    epsilon: Number,
    alpha: Number = 0.05,
    decider: str = AUTO,
    columns: Mapping[str, Mapping[str, Any]] | None = None,
    detailed: bool = False,
) -> AuditReport:
    """Decide, per query, whether ``|q(private) - q(synthetic)| < tau``.

    Parameters
    ----------
    private, synthetic
        A path (``.csv``, ``.tsv``, ``.parquet``), a pandas DataFrame or a pyarrow Table.  One row
        is one person.  The synthetic table, and all other arguments, are taken as public.
    queries
        One SQL text, several, or ``pqd.Query`` objects.
    tau
        The tolerance: an amount in the query's unit, or text such as ``"3.2%"`` of the synthetic
        answer.
    epsilon
        Privacy budget per query; the report shows the total.
    alpha
        The error probability that the caller accepts: the level of the p-value and of the
        effectiveness thresholds.
    decider
        ``"auto"`` (errs least on public data), ``"paper"`` (Patwa 2023, Table 4), or an id.
    columns
        Public facts of columns, such as ``{"age": {"bounds": (0, 120), "step": 1}}``; what is not
        stated comes from the synthetic table.
    detailed
        Also give every decider's operating characteristic and needed epsilon; it costs time only.

    Returns
    -------
    AuditReport
        The whole report is ``n * epsilon``-differentially private for n queries, rows added or
        removed one at a time: each verdict is one run of an epsilon-DP decider, and all else in
        the report is a function of public data.

    Raises
    ------
    PqdError
        QueryError, TableError, ParameterError, DeciderError before the private table is read and
        so before anything is spent; RunError if reading breaks.
    """
    terms = Terms.parse(
        tau=tau,
        epsilon=epsilon,
        alpha=alpha,
        decider=decider,
        columns=columns,
        detailed=detailed,
    )
    return run(private, synthetic, as_queries(queries), terms, SecureNoise())


def run(
    private: object,
    synthetic: object,
    queries: tuple[Query, ...],
    terms: Terms,
    noise: Noise,
    progress: Progress = _silent,
) -> AuditReport:
    """Answer ``queries`` with ``noise``; see ``audit``."""
    budget = budget_of(terms.epsilon or 0)
    tables = open_table(synthetic, "synthetic"), open_table(private, "private")
    engine = DuckDBEngine(*tables)
    synthetic_table, private_table = (engine.described(table) for table in tables)
    progress("Reading the synthetic table")
    prepared = prepare(engine, synthetic_table, queries, terms)
    progress("Reading the private table")
    histograms = engine.histograms(private_table, prepared.schema, prepared.workload)
    verdicts: list[Verdict] = []
    for question, histogram in zip(prepared.questions, histograms, strict=True):
        progress("Deciding", len(verdicts), len(queries))
        decision = question.choice.decider.decide(histogram, question.interval, budget, noise)
        verdicts.append(_verdict(question, decision, budget, synthetic_table.label, noise))
    return AuditReport(
        tuple(verdicts),
        private_table.label,
        synthetic_table.label,
        terms.tolerance.text,
        prepared.notes,
    )


def _verdict(
    question: Question, decision: Decision, budget: Fraction, synthetic: str, noise: Noise
) -> Verdict:
    facts, unit = question.facts(), question.unit
    p_value = decision.p_value
    settled = question.settled
    if settled:
        facts["reason"] = "no table within the bounds can answer otherwise"
    return Verdict(
        **facts,
        lower=plain(question.interval.lower * unit),
        upper=plain(question.interval.upper * unit),
        epsilon=Fraction(0) if settled else budget,
        outcome="yes" if decision.outcome else "no",
        p_value=p_value,
        margin=decision.margin,
        conclusive=None if p_value is None else p_value <= question.alpha,
        tau_min=question.taken.tau_min,
        synthetic=synthetic,
        simulated=noise.simulated,
    )
