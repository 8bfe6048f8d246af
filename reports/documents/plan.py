"""Document of a plan: a row per query; the queries that need the most epsilon come first."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from pqd.deciders.options import option
from pqd.reports.blocks import (
    NO_BADGE,
    PAGE,
    Block,
    Cell,
    Closing,
    Code,
    Column,
    Definitions,
    Document,
    Group,
    Interval,
    Line,
    Lines,
    Row,
    Section,
    Shares,
    Table,
)
from pqd.reports.documents.queries import (
    UNKNOWN,
    answer_cells,
    curves,
    deciders,
    grouping_of,
    omitted_queries,
    question,
    reliable_cell,
)
from pqd.reports.documents.shared import first_names, lines, on_page
from pqd.reports.models.standings import PLANS, Standing, passes_first
from pqd.reports.text.cost import year_sentence
from pqd.reports.text.notes import refused_lead
from pqd.reports.text.numbers import (
    EACH_ITS_OWN,
    budget_text,
    counted,
    epsilon_text,
    limit_text,
    number_text,
    rounded_up,
    share_text,
    spaced,
)
from pqd.reports.text.query import (
    amount_text,
    coin_sentences,
    decider_text,
    few_rows_text,
    likely_sentence,
    persons_sentences,
    proof_sentence,
    tolerance,
    undecided_parts,
    worth_sentence,
)

if TYPE_CHECKING:
    from pqd.reports.models.plan import PlannedQuery, PlanReport

_THRESHOLD = "reliable from: the smallest tolerance at which errors are at most alpha"
_NEEDS = "needs: the epsilon at which nine runs of ten decide it, and rightly"


def document(plan: PlanReport) -> Document:
    """Document of ``plan``."""
    title, lead = _headline(plan)
    answers = counted(len(plan.queries), "answer")
    level = f"alpha {number_text(float(plan.alpha) * 100, 3)} %"
    subject = f"{answers} of {plan.synthetic}, tolerance {spaced(plan.tolerance)}, {level}"
    sizes = {each: len(_of(each, plan.queries, plan)) for each in passes_first(PLANS)}
    return Document(
        kind="plan",
        title=title,
        lead=lead,
        subject=_answer(plan) if plan.queries else subject,
        spent="nothing spent",
        opening=lines([f"{subject}.", *persons_sentences(plan.queries)], "detail")
        if plan.queries
        else [],
        facts=list(_facts(plan)),
        counts=Shares([(each, size, each.badge.tone) for each, size in sizes.items() if size])
        if plan.budgeted
        else None,
        body=[Section(title="Queries", blocks=[_queries(plan)], brief=False)],
        omitted=omitted_queries(plan.refused),
        notes=lines([*map(str, plan.notes), *coin_sentences(plan.queries)]),
        account=lines(_price_lines(plan)),
        reading=[
            Lines(lines(_reading(plan))),
            on_page(Definitions(_definitions(plan))),
        ],
        closing=_closing(plan),
        made=plan.day or "",
        unknown=UNKNOWN,
    )


def _facts(plan: PlanReport) -> Iterator[tuple[str, str]]:
    yield "Synthetic table", plan.synthetic
    yield "Tolerance", spaced(plan.tolerance)
    if plan.epsilon is not None:
        yield "Epsilon per query", epsilon_text(plan.epsilon)
    if plan.total_epsilon is not None:
        yield "Epsilon in all", epsilon_text(plan.total_epsilon)
    yield "Epsilon spent", "0"


def _definitions(plan: PlanReport) -> list[tuple[str, str]]:
    """Terms of the table, each with its meaning."""
    level = number_text(float(plan.alpha) * 100, 3)
    enough = (
        "Whether nine runs of ten at this epsilon are decided, and rightly, on test tables made "
        "from the copy: those whose answer is the copy's, and those whose answer is two tolerances "
        "away, in several shapes that the private table might have."
    )
    least = (
        f"The effectiveness threshold: the smallest tolerance at which the decider is wrong at "
        f"most {level} % of the time on those tables. To be decided as well takes more."
    )
    needs = (
        "The smallest epsilon at which this tolerance is OK; for an answer without a p-value, at "
        f"which it is wrong at most {level} % of the time. It is a forecast, no bound. None: no "
        "epsilon will do."
    )
    chance = (
        "A curve that is high left of the tolerance and low right of it tells the cases apart. "
        "The steeper, the better."
    )
    return [
        ("OK, LOW", enough),
        (
            Standing.PLAUSIBLE.badge.text,
            "The decider gives no p-value, but seldom errs: its answer would be likely right.",
        ),
        ("Reliable from", least),
        ("Needs", needs),
        ("Chance of a yes", chance),
    ]


def _queries(plan: PlanReport) -> Table:
    poor = _worst_planned(plan)
    rest = [query for query in plan.queries if query.decidable and query not in poor]
    ordered = [*poor, *rest]
    by_standing = [_of(each, ordered, plan) for each in PLANS]
    groups = [
        Group(
            name=standing if plan.budgeted else "",
            badge=standing.badge if plan.budgeted or standing is Standing.DECIDABLE else NO_BADGE,
            rows=[_row(query, plan) for query in queries],
            fate=standing.fate,
        )
        for standing, queries in zip(PLANS, by_standing, strict=True)
        if queries or standing is not Standing.PLAUSIBLE
    ]
    return Table(
        columns=_columns(budgeted=plan.budgeted),
        groups=groups,
        find="id or words of a query",
        in_full=True,
        empty="No query was planned.",
    )


def _of(
    standing: Standing, queries: Sequence[PlannedQuery], plan: PlanReport
) -> list[PlannedQuery]:
    return [query for query in queries if _planned(query, plan) is standing]


def _planned(query: PlannedQuery, plan: PlanReport) -> Standing:
    """Standing of a planned query; an undecided query counts as too little.

    So does every query without a budget that the caller states.
    """
    told = plan.budgeted and query.standing in PLANS
    return query.standing if told else Standing.TOO_LITTLE


def _columns(*, budgeted: bool) -> tuple[Column, ...]:
    badge = Column("budget", "badge"), Column("query", "name", fold=20)
    least = Column("reliable from", "number", drop=1, legend=_THRESHOLD)
    wrong = Column("wrong at most", "number", drop=PAGE)
    return (
        *(badge if budgeted else badge[1:]),
        Column("copy", "number"),
        Column("tolerance", "number", drop=2),
        *((least, wrong) if budgeted else ()),
        Column("needs", "number", legend=_NEEDS),
        Column("decider", drop=3),
    )


def _row(query: PlannedQuery, plan: PlanReport) -> Row:
    copy, amount = answer_cells(query)
    needs = _epsilon_needed(query)
    if query.likely and query.epsilon is None:
        needs = query.chosen.epsilon_needed
    wrong = None if query.chosen.false_no is None else query.chosen.worst
    figures = reliable_cell(query), Cell(share_text(wrong), wrong)
    badge = Cell(badge=query.standing.badge, sort=PLANS.index(_planned(query, plan)))
    cells = (
        *((badge,) if plan.budgeted else ()),
        Cell(query.id),
        Cell(copy, float(query.q_synthetic)),
        Cell(amount, float(query.tau)),
        *(figures if plan.budgeted else ()),
        Cell(budget_text(needs), needs),
        Cell(query.decider),
    )
    return Row(
        id=query.id,
        cells=cells,
        asks="; ".join(filter(None, [question(query), few_rows_text(query)])),
        aside=_said(query),
        names=(_planned(query, plan),) if plan.budgeted else (),
        grouping=grouping_of(query),
        member=query.group or query.id,
        details=lambda: _details(query, plan),
    )


def _said(query: PlannedQuery) -> str:
    needs = _epsilon_needed(query)
    if query.decidable is None or query.epsilon is not None:
        known = needs is not None and not math.isinf(needs)
        return f"needs epsilon {budget_text(needs)}" if known else ""
    if query.decidable:
        return ""
    return likely_sentence(query) or "; ".join(undecided_parts(query))


def _details(query: PlannedQuery, plan: PlanReport) -> Sequence[Block]:
    amount = tolerance(query.tau, query.tolerance or plan.tolerance, query.sign)
    candidates = [candidate for candidate in query.candidates if candidate.shown]
    return [
        _interval(query),
        Lines([Line(f"synthetic answer {number_text(query.q_synthetic)}{query.sign}, {amount}")]),
        on_page(Lines(list(_reasons(query)))),
        deciders(query, candidates, budgeted=plan.budgeted),
        *curves(query),
        Code("Query", query.sql),
    ]


def _reasons(query: PlannedQuery) -> Iterator[Line]:
    """Lines on whether the decider is reliable at this tolerance, and why it would be taken."""
    if query.chosen.tau_min is not None:
        text, enough = worth_sentence(query)
        yield Line(text, "plain" if enough else "warning")
    yield Line(f"{decider_text(query)} would decide: {query.reason}", "detail")


def _interval(query: PlannedQuery) -> Interval:
    """Picture of the tolerance around the copy's answer, without a claim on the private answer."""
    answer, tau, least = float(query.q_synthetic), float(query.tau), query.chosen.tau_min
    least_text = amount_text(query, least)
    return Interval(answer, answer - tau, answer + tau, least, "none", least_text)


def _closing(plan: PlanReport) -> Closing:
    worst = _worst_planned(plan)
    low = [query.id for query in worst if query.standing is Standing.TOO_LITTLE]
    counts, step = _decided(plan), _next_step(plan)
    if plan.sure is None and not plan.budgeted:
        counts, step = f"{step or _answer(plan)}.", ""
    return Closing(
        failed=f"LOW: {first_names(low)}." if low else "",
        counts=counts,
        step=step,
        budget=" ".join(_price_lines(plan)),
    )


def _headline(plan: PlanReport) -> tuple[str, str]:
    """Title on the epsilon that decides the queries; lead on the terms and the price."""
    if not plan.queries:
        return "No query was planned", "There is nothing to tell."
    lead = f"{_terms(plan)}. {_price_sentence(plan)}{refused_lead(plan.refused)}"
    return _answer(plan), " ".join([lead, *persons_sentences(plan.queries)])


def _answer(plan: PlanReport) -> str:
    """Sentence on the epsilon that is needed, if any suffices, and on the planned budget."""
    return _needed_answer(plan) if plan.sure is None else _sure_answer(plan)


def _needed_answer(plan: PlanReport) -> str:
    """Sentence of a plan whose budget the caller states, or of a plan without one."""
    total = len(plan.queries)
    enough = sum(query.decidable is True for query in plan.queries)
    if plan.total_epsilon is not None:
        planned = f"Epsilon {epsilon_text(plan.total_epsilon)} in all"
        planned = f"{planned} decides {_some(enough, total)}"
        if enough == total or plan.total_needed is None:
            return planned
        return f"{planned}; about {budget_text(plan.total_needed)} would decide all"
    able, most = _able(plan)
    unknown = sum(_is_unknown(query) for query in plan.queries)
    if not able and unknown:
        return f"What {_all(total)} would need is not known"
    if not able:
        none = f"No epsilon decides {'the query' if total == 1 else f'any of {total:,} queries'}"
        likely = len(_of(Standing.PLAUSIBLE, plan.queries, plan))
        some = "the answer" if total == 1 else f"{likely:,} of the answers"
        right = f"; at {epsilon_text(plan.epsilon or 0)} {some} would be likely right"
        return none + right * bool(likely)
    title = f"Epsilon {budget_text(most)}{' per query' if total > 1 else ''}"
    title = f"{title} decides {_some(able, total)}"
    if left := total - able - unknown:
        title = f"{title}; no epsilon decides the other{f' {left:,}' if left > 1 else ''}"
    if plan.epsilon is None or most == plan.epsilon:
        return title
    some = "is not enough" if total == 1 else f"decides {enough or 'none'}"
    does = "is enough" if enough == total else some
    return f"{title}; the planned {epsilon_text(plan.epsilon)} {does}"


def _sure_answer(plan: PlanReport) -> str:
    """Sentence on what all queries cost, each at the epsilon that the plan chose for it.

    The promise is of each query by itself: of many, some stay undecided in most runs.
    """
    total = len(plan.queries)
    every = "the query" if total == 1 else f"each of {total:,} queries"
    if plan.refused:
        every = f"{total:,} of {counted(total + len(plan.refused), 'query', 'queries')}"
    own = ", each at its own" if total > 1 else ""
    return (
        f"Epsilon {epsilon_text(_price(plan))} in all decides {every} in nine runs of ten, "
        f"{_sure(plan)} % sure{own}"
    )


def _sure(plan: PlanReport) -> str:
    return number_text(float(plan.sure or 0) * 100, 6)


def _able(plan: PlanReport) -> tuple[int, float]:
    """Number of queries that some epsilon decides, and the largest epsilon that they need."""
    poor = (_needed(query, plan) for query in _poor(plan))
    able = [needed for needed in poor if not math.isinf(needed)]
    enough = [query for query in plan.queries if query.decidable]
    most = max(able, default=0.0)
    # A decidable query needs at most the planned epsilon.  What it needs matters only if the other
    # queries need less than the planned epsilon.
    if enough and most < float(plan.epsilon or math.inf):
        most = max(most, *(_needed(query, plan) for query in enough))
    return len(able) + len(enough), most


def _is_unknown(query: PlannedQuery) -> bool:
    """Whether the decider may decide at some epsilon that was never searched for."""
    chosen = query.chosen
    return not query.decidable and len(chosen.proves) == 2 and chosen.epsilon_needed is None


def _all(total: int) -> str:
    return "the query" if total == 1 else f"all {total:,} queries"


def _some(number: int, total: int) -> str:
    if number == total:
        return _all(total)
    return f"{number or 'none'} of {counted(total, 'query', 'queries')}"


def _terms(plan: PlanReport) -> str:
    """Tolerance and level for which the title holds."""
    own = "" if plan.tolerance == EACH_ITS_OWN else "of "
    return (
        f"At a tolerance {own}{spaced(plan.tolerance)} and alpha "
        f"{number_text(float(plan.alpha) * 100, 3)} %"
    )


def _decided(plan: PlanReport) -> str:
    """Sentence on how many queries the planned budget decides; empty without a budget."""
    if not plan.budgeted:
        return ""
    total, enough = len(plan.queries), sum(query.decidable is True for query in plan.queries)
    some = "All" if enough == total > 1 else f"{enough:,} of" if enough else "None of"
    if total == 1:
        epsilon = epsilon_text(plan.epsilon or plan.total_epsilon or 0)
        return f"The query can{'' if enough else 'not'} be decided at epsilon {epsilon}."
    at = (
        f"epsilon {epsilon_text(plan.epsilon)} each"
        if plan.epsilon is not None
        else f"epsilon {epsilon_text(plan.total_epsilon or 0)} in all"
    )
    return f"{some} {counted(total, 'query', 'queries')} can be decided at {at}."


def _poor(plan: PlanReport) -> list[PlannedQuery]:
    """Queries that cannot be decided; without a stated budget, all queries."""
    return [query for query in plan.queries if not (plan.budgeted and query.decidable)]


def _worst_planned(plan: PlanReport) -> list[PlannedQuery]:
    """Queries of ``_poor``, sorted by the epsilon that they need, the largest first."""
    return sorted(_poor(plan), key=lambda query: _needed(query, plan), reverse=True)


def _epsilon_needed(query: PlannedQuery) -> float | None:
    """Approximate epsilon at which the chosen decider decides the query.

    It is the query's own epsilon, if the plan chose one.  None if the decider cannot prove both
    verdicts, or if the epsilon was not computed.
    """
    if query.epsilon is not None:
        return float(query.epsilon)
    return None if proof_sentence(query.chosen) else query.chosen.epsilon_needed


def _needed(query: PlannedQuery, plan: PlanReport) -> float:
    needed = _epsilon_needed(query)
    least = math.inf if needed is None else needed
    # The needed epsilon is rounded up, so it may exceed the planned epsilon.
    return min(least, float(plan.epsilon)) if query.decidable and plan.epsilon else least


def _price_lines(plan: PlanReport) -> Iterator[str]:
    """Sentences on what an audit of all queries would cost, once and every night for a year."""
    yield _price_sentence(plan)
    price = _price(plan)
    if plan.sure is not None and price:
        # The exact sum of many epsilons has too many digits to be read.
        price = rounded_up(price)
    yield from filter(None, [year_sentence(price)])


def _price_sentence(plan: PlanReport) -> str:
    """Sentence on what an audit of all queries would cost; the plan itself costs nothing."""
    if plan.sure is not None and plan.queries:
        again = option(f"pqd audit ... --sure {_sure(plan)}% --at-most {limit_text(_price(plan))}")
        return (
            f"{again} would spend this, or less if it can replay; "
            "nothing was spent, and no private table was read."
        )
    if not plan.budgeted or not plan.queries:
        return "Nothing was spent, and no private table was read."
    return (
        f"An audit would cost epsilon {epsilon_text(_price(plan))} in total; nothing was spent, "
        "and no private table was read."
    )


def _price(plan: PlanReport) -> Fraction:
    """Epsilon that an audit of all queries would cost; 0 without a budget."""
    if plan.price is not None:
        return plan.price
    return (plan.epsilon or Fraction(0)) * len(plan.queries)


def _next_step(plan: PlanReport) -> str:
    """Advice: the epsilon that decides all decidable queries, or why no epsilon decides one.

    The text is empty if the planned budget is enough already.
    """
    if plan.sure is not None:
        return ""
    if plan.total_epsilon is not None:
        more = plan.total_needed
        total = option(f"--total-epsilon {budget_text(more)}") if more else ""
        return f"{total} would decide all of them" if more else ""
    poor = _poor(plan)
    needed = [_needed(query, plan) for query in poor]
    able = [epsilon for epsilon in needed if not math.isinf(epsilon)]
    if not able:
        return next(filter(None, map(likely_sentence, poor)), "")
    every = "it" if len(plan.queries) == 1 else "all of them"
    who = every if len(able) == len(needed) else "all that any epsilon can decide"
    return f"{option(f'--epsilon {budget_text(max(able))}')} would decide {who}"


def _reading(plan: PlanReport) -> Iterator[str]:
    """Sentences on how to read a plan."""
    yield (
        f"Planned on {plan.synthetic} alone: no private table was read, nothing was "
        "spent. > marks the decider that would be used."
    )
    level = number_text(float(plan.alpha) * 100, 3)
    threshold = (
        f"Reliable from: the smallest tolerance at which it is wrong at most {level} % of the time "
        "(false no, false yes) on those tables. "
    )
    yield (
        f"Decidable: nine runs of ten end right, with p at most {level} %, on test tables made "
        "from the copy: those whose answer is the copy's, and those whose answer is two "
        "tolerances away, in several shapes that the private table might have. "
        f"{threshold if plan.budgeted else ''}Epsilon needed: the least at which this tolerance "
        "is decidable; it may be more."
    )
    if not all(candidate.shown for query in plan.queries for candidate in query.candidates):
        every = option("--verbose")
        yield f"Deciders that cannot prove both verdicts are left out; {every} shows them."
