"""The main job: one verdict per query on a private table and its synthetic copy."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from deciders import SecureNoise
from pqd.accounting.ledger_location import ledger_path
from pqd.batches.mechanisms import check_sharing
from pqd.batches.shared_budget import SharedBudget, shared
from pqd.budgets import RunBudget
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import open_table
from pqd.errors import LedgerError
from pqd.execution import Accountant, Outputs, Part, Quote, measure
from pqd.parameters import Parameters, privacy_unit
from pqd.planning.binding import Made, Maker, prepare
from pqd.planning.budget_split import Beside, waits
from pqd.planning.choose_decider import AUTO
from pqd.planning.decisions import QueryRequest, Question, asks
from pqd.planning.table_separation import check_separation
from pqd.progress import Progress, silent
from pqd.sql.workload_files import as_queries
from reports.models.audit import AuditReport, CompositionGroup, Cost, Verdict
from reports.text.numbers import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from deciders import Noise
    from deciders.exact import Number
    from pqd.columns import Facts
    from pqd.engine.scan_plan import PrivacyUnit
    from pqd.sql.query import Query


def audit(  # noqa: PLR0913 - the facts of an audit, all but three by keyword
    private: object,
    synthetic: object,
    queries: str | Query | Iterable[str | Query],
    *,
    tau: Number,
    epsilon: Number | None = None,
    total_epsilon: Number | None = None,
    sharing: str | None = None,
    alpha: Number = 0.05,
    decider: str = AUTO,
    columns: Mapping[str, Mapping[str, Any]] | None = None,
    ledger: str | Path | None = None,
    fresh: bool = False,
    unit: str | None = None,
    max_rows: int = 1,
    detailed: bool = False,
) -> AuditReport:
    """Decide, per query, whether ``|q(private) - q(synthetic)| < tau``.

    Parameters
    ----------
    private, synthetic
        A path (``.csv``, ``.tsv``, ``.parquet``), a pandas DataFrame or a pyarrow Table.  The
        synthetic table, and all other arguments, are taken as public.
    queries
        One SQL text, several, or ``pqd.Query`` objects.
    tau
        The tolerance: an amount in the query's unit, or text such as ``"3.2%"`` of the synthetic
        answer.
    epsilon, total_epsilon
        Privacy budget of each query, or of all queries together: one of the two.
    sharing
        How queries share ``total_epsilon``: ``"alone"`` (each by itself at its share), the id of a
        mechanism that answers COUNT or SUM queries together (``workload``, ``identity``,
        ``numerical``, ``numerical_two``, ``dyadic``, ``normalization``, ``global_truncation``,
        ``clipped_composition``, ``ranges``), or ``"auto"`` (whichever errs least on public data),
        which is taken if it is left out.
    alpha
        The error probability that the caller accepts: the level of the p-value and of the
        effectiveness thresholds.
    decider
        ``"auto"`` (errs least on public data), ``"paper"`` (Patwa 2023, Table 4), or an id.
    columns
        Public facts of columns, such as ``{"age": {"bounds": (0, 120), "step": 1}}``; what is not
        stated comes from the synthetic table.
    ledger
        The file that keeps account of the private table's budget and replays what was asked before;
        by default the one that the variable ``PQD_LEDGER`` names, else ``pqd-ledger.sqlite`` beside
        the table, for a frame in the working folder.
    fresh
        Ask again, and pay again, what the ledger could replay.
    unit, max_rows
        A column of the private table: all rows with one value are one person, of whom at most
        ``max_rows`` count (COUNT and SUM count a person once).  By default one row is one person.
    detailed
        Also give every decider's operating characteristic and needed epsilon; it costs time only.

    Returns
    -------
    AuditReport
        The verdicts of this run are ``report.spent``-differentially private together, persons added
        or removed one at a time: each is one run of an epsilon-DP decider, composed as
        ``report.cost`` says, and all else in the report is a function of public data and of what
        the ledger holds.

    Raises
    ------
    PqdError
        QueryError, TableError, ParameterError, DeciderError before the private table is read;
        LedgerError or BudgetError before anything is spent; RunError if reading breaks.
    """
    budget = RunBudget.parse(epsilon, total_epsilon, sharing)
    terms = Parameters.parse(
        tau=tau,
        epsilon=budget.epsilon,
        alpha=alpha,
        decider=decider,
        columns=columns,
        detailed=detailed,
    )
    accountant = Accountant(ledger_path(private, ledger), fresh=fresh)
    people = privacy_unit(unit, max_rows)
    asked, noise = as_queries(queries), SecureNoise()
    return run(
        private,
        synthetic,
        asked,
        terms,
        noise,
        accountant=accountant,
        unit=people,
        sharing=budget.sharing,
    )


def run(  # noqa: PLR0913 - those of an audit, read
    private: object,
    synthetic: object,
    queries: tuple[Query, ...],
    terms: Parameters,
    noise: Noise,
    progress: Progress = silent,
    *,
    accountant: Accountant | None = None,
    unit: PrivacyUnit | None = None,
    sharing: str | None = None,
) -> AuditReport:
    """Verdicts on ``queries`` drawn with ``noise``; see ``audit``.

    With ``sharing`` the epsilon of ``terms`` is that of all queries together.  Without an
    accountant no account is kept.
    """
    secret, public = open_table(private, "private"), open_table(synthetic, "synthetic")
    tables = SyntheticTables([public], secret)
    check_separation(tables, accountant)
    progress("Reading the synthetic table")
    if sharing is None:
        part = part_of(tables, [QueryRequest(q, terms) for q in queries], terms.facts, asks, unit)
    else:
        asked = [QueryRequest(query, terms.wanted) for query in queries]
        waiting = part_of(tables, asked, terms.facts, waits, unit)
        waiting.prepared.demand()
        progress("Weighing what to ask together")
        budget = SharedBudget(terms.epsilon, check_sharing(sharing))
        (part,) = shared([Beside(waiting, tables.tables[0])], budget)
    part.prepared.demand()
    answers = measure([part], accountant, noise, progress)
    notes = part.prepared.notes if answers.recorded else (*part.prepared.notes, UNRECORDED)
    return AuditReport(
        verdicts_of(part, public.label, answers, noise, set()),
        part.private.label,
        public.label,
        terms.tolerance.text,
        cost_of(answers.quote, accountant, unit),
        notes,
        part.prepared.left_out,
    )


UNRECORDED = (
    "These verdicts were paid for but could not be written to the ledger; see that it is whole "
    "(pqd ledger verify) and keep this report: asked again, they are drawn and paid for again."
)


def part_of(
    tables: SyntheticTables,
    asked: Sequence[QueryRequest],
    facts: Facts,
    make: Maker[Made],
    unit: PrivacyUnit | None = None,
    others: Sequence[Query] = (),
    *,
    whole: bool = False,
) -> Part[Made]:
    """Prepare what is asked (see ``prepare``); the private table is not read."""
    if tables.private is None:
        raise TypeError("nothing can be drawn without a private table")
    prepared = prepare(tables, asked, facts, make, unit=unit, others=others, whole=whole)
    return Part(tables.engine, tables.private, prepared)


def verdicts_of(
    part: Part[Question], synthetic: str, answers: Outputs, noise: Noise, shown: set[str]
) -> tuple[Verdict, ...]:
    """Return a verdict per question; one that stands in ``shown`` already counts as replayed."""
    verdicts = []
    for question in part.prepared.questions:
        known = all(drawn.key in answers.quote.known for drawn in question.draws)
        replayed = known or question.key in shown
        verdicts.append(_verdict(question, answers, synthetic, noise, replayed=replayed))
        if not question.settled:
            shown.add(question.key)
    return tuple(verdicts)


def _verdict(
    question: Question, answers: Outputs, synthetic: str, noise: Noise, *, replayed: bool
) -> Verdict:
    facts, scale, decision = question.facts(), question.scale, question.decided(answers)
    p_value, estimate = decision.p_value, question.estimated(decision)
    value, low, high = (None if x is None else plain(x * scale) for x in estimate)
    if question.settled:
        facts["reason"] = "no table within the bounds can answer otherwise"
    return Verdict(
        **facts,
        lower=plain(question.interval.lower * scale),
        upper=plain(question.interval.upper * scale),
        epsilon=question.cost,
        outcome="yes" if decision.outcome else "no",
        p_value=p_value,
        margin=decision.margin,
        conclusive=p_value is not None and p_value <= question.terms.alpha,
        estimate=value,
        low=low,
        high=high,
        tau_min=question.taken.tau_min,
        synthetic=synthetic,
        replayed=replayed,
        simulated=noise.simulated,
    )


def cost_of(quote: Quote, accountant: Accountant | None, unit: PrivacyUnit | None) -> Cost:
    """Return what a report says of a bill, with what the ledger now holds."""
    charge = quote.charge
    cost = Cost(
        charge.epsilon,
        charge.delta,
        charge.rule,
        tuple(CompositionGroup(g.names, g.epsilon, g.proof()) for g in quote.groups),
        unit=unit.column if unit else None,
        max_rows=unit.max_rows if unit else None,
    )
    if accountant is None or quote.fingerprint is None:
        return cost
    try:
        account = accountant.ledger.account(quote.fingerprint)
        limit = accountant.ledger.allowed(quote.fingerprint, accountant.budget).epsilon
    except LedgerError:
        # It broke after the charge: the verdicts are paid for and shown all the same.
        return cost
    return replace(
        cost,
        ledger=accountant.ledger.path.name,
        total=account.epsilon if account else Fraction(0),
        total_delta=account.delta if account else Fraction(0),
        limit=limit,
    )
