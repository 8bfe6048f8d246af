"""Rows of queries and verdicts with their details, which several documents share."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pqd.reports.blocks import (
    NOTHING_OMITTED,
    PAGE,
    Badge,
    Block,
    Cell,
    Code,
    Column,
    Curves,
    Group,
    Grouping,
    Interval,
    Line,
    Lines,
    Omission,
    Omitted,
    Role,
    Row,
    Table,
)
from pqd.reports.documents.shared import first_names
from pqd.reports.models.standings import VERDICTS, Standing
from pqd.reports.text.notes import refused_lines, refused_sentence
from pqd.reports.text.numbers import (
    bound_text,
    budget_text,
    end_text,
    in_millions,
    number_text,
    p_value_text,
    rounded_text,
    share_text,
    to_digits_of,
)
from pqd.reports.text.query import (
    amount_text,
    estimate_text,
    few_rows_text,
    grouped_text,
    instead_sentence,
    marks,
    proof_sentence,
    query_text,
    sentences,
    signed_gap,
    thresholds_sentence,
    verdict_words,
)

if TYPE_CHECKING:
    from pqd.reports.models.audit import Verdict
    from pqd.reports.models.query import CandidateFacts, QueryFacts
    from pqd.reports.models.refusals import QueryRefusal

# Columns of numbers in a row of a verdict; a badge and a name stand before them.
NUMBERS = (
    Column("copy", "number"),
    Column("tolerance", "number", drop=3),
    Column("reliable from", "number", drop=4),
    Column("off by", "number", fold=12),
    Column("sure?", fold=13, term="p"),
)
DECIDER = Column("decider", drop=PAGE)
UNKNOWN = "there is no query {}; its id stands in the report's lines"
TERMS = (
    (
        "yes, NO, ?",
        (
            "The verdict: whether the private answer lies within the tolerance of the synthetic "
            "one. ? is undecided: noise could have decided; the lean is given."
        ),
    ),
    (
        "yes within, NO within, NO or beyond",
        (
            "A SUM or an AVG whose bounds nobody stated is decided for private values cut to the "
            "copy's bounds. The details say how many rows may lie beyond. State bounds to be sure."
        ),
    ),
    (
        "likely, leans",
        (
            "The answer of a decider that gives no p-value. It is likely right if the decider is "
            "wrong at most alpha of the time on all test tables made from the copy, else it leans."
        ),
    ),
    (
        "In place of a NO",
        (
            "The private answer itself, where the details hold it: it is noisy, and its "
            "interval says how much. Else a coarser query, with fewer conditions; or whoever "
            "holds the private table can release the answer with noise (pqd release, of COUNT "
            "and SUM), or look for a better copy (pqd compare)."
        ),
    ),
    (
        "p",
        (
            "How often noise alone would give a verdict this clear if the opposite were true. "
            "Small is sure."
        ),
    ),
    (
        "Off by",
        (
            "How far the private answer is from the copy's, and which way. With ± it comes from "
            "a noisy answer, and the exact gap lies so near to it with probability 1 - 2 alpha, "
            "each end by itself with 1 - alpha, as sure as the verdict; else it is a bound."
        ),
    ),
    (
        "Margin",
        "How many people, or rows, the private table is away from the opposite verdict.",
    ),
    (
        "Reliable from",
        (
            "The effectiveness threshold: the smallest tolerance that is reliable at this "
            "epsilon. Below it a close case can often not be decided."
        ),
    ),
    (
        "False no, false yes",
        (
            "How often a decider is wrong on test tables made from the copy: those whose answer "
            "is the copy's, and those whose answer is two tolerances away."
        ),
    ),
    (
        "Chance of a yes",
        (
            "A curve that is high left of the tolerance and low right of it tells the cases "
            "apart. The steeper, the better."
        ),
    ),
)
# A bound of the gap has fewer digits than this.
_MOST_DIGITS = 7
# From this tolerance on, the copy's answer and the tolerance are given in millions.
_IN_MILLIONS = 10**8
# Number of curves: that of the chosen decider, and those of the two others that err least.
_CURVES = 3
_ROLES: dict[str, Role] = {"plain": "plain", "warning": "warning", "detail": "detail"}


def verdict_row(verdict: Verdict, stated: str, *, mixed: bool) -> Row:
    """Row of a verdict; ``mixed`` says that only some verdicts of the report were replayed."""
    standing = verdict.standing
    copy, tolerance = answer_cells(verdict)
    sure = ", ".join([_sure(verdict), *_price_marks(verdict, mixed=mixed)])
    gap = None if verdict.gap is None else abs(float(verdict.gap))
    cells = (
        Cell(badge=standing.badge, sort=VERDICTS.index(standing)),
        Cell(verdict.id),
        Cell(copy, float(verdict.q_synthetic)),
        Cell(tolerance, float(verdict.tau)),
        reliable_cell(verdict),
        Cell(in_millions(off_by_text(verdict)), gap),
        Cell(sure, verdict.p_value),
    )
    return Row(
        id=verdict.id,
        cells=(*cells, Cell(verdict.decider)),
        asks="; ".join(filter(None, [question(verdict), few_rows_text(verdict)])),
        said=Badge(verdict_words(verdict)[1], standing.badge.tone),
        aside=p_value_text(verdict.p_value, verdict.alpha),
        marks=tuple(marks(verdict)),
        names=(standing,),
        grouping=grouping_of(verdict),
        member=verdict.group or verdict.id,
        details=lambda: verdict_details(verdict, stated),
    )


def reliable_cell(facts: QueryFacts) -> Cell:
    """Effectiveness threshold of the decider, with the sign of a tolerance."""
    least = facts.chosen.tau_min
    text = in_millions(amount_text(facts, least))
    signed = least is not None and math.isfinite(least) and not facts.is_distance
    return Cell(f"±{text}" if signed else text, least)


def answer_cells(facts: QueryFacts) -> tuple[str, str]:
    """Answer of the copy and tolerance, rounded to digits that the tolerance makes meaningful."""
    if facts.is_distance:
        return "", amount_text(facts, facts.tau)
    if facts.tau >= _IN_MILLIONS and math.isfinite(facts.tau):
        copy = facts.q_synthetic
        # An answer far smaller than its tolerance would read as 0 in millions.
        text = number_text(int(round(copy, -6))) if abs(copy) >= _IN_MILLIONS else number_text(copy)
        return in_millions(text), f"±{in_millions(number_text(int(round(facts.tau, -6))))}"
    tau = f"±{number_text(facts.tau, 3)}{facts.sign}"
    return f"{to_digits_of(facts.q_synthetic, facts.tau)}{facts.sign}", tau


def _sure(verdict: Verdict) -> str:
    """P-value of a verdict; for an undecided verdict, the epsilon that would decide it."""
    p_value = p_value_text(verdict.p_value, verdict.alpha)
    needed = verdict.chosen.epsilon_needed
    if verdict.is_withheld and verdict.outside:
        return f"> {verdict.outside.low - 1:,} beyond"
    if verdict.conclusive or proof_sentence(verdict.chosen):
        return p_value
    if verdict.decidable is not False or needed is None:
        return p_value
    return "no epsilon would do" if math.isinf(needed) else f"needs epsilon {budget_text(needed)}"


def _price_marks(verdict: Verdict, *, mixed: bool) -> Iterator[str]:
    if verdict.simulated:
        yield "SIMULATED"
    if mixed and verdict.replayed:
        yield "replayed"
    if not verdict.epsilon and not verdict.replayed:
        yield "cost 0"


def off_by_text(verdict: Verdict) -> str:
    """Gap between the private answer and the copy's, as far as the output of the verdict tells it.

    If the answer was estimated, the gap has a sign and an interval, such as ``-339 ±12``.  Else the
    text is a bound without a sign, such as ``> 50``, or ``?`` if nothing is known.
    """
    if not verdict.is_distance and (gap := signed_gap(verdict)):
        return f"{gap}{verdict.sign}"
    if not verdict.conclusive or verdict.standing is Standing.NO_OR_BEYOND:
        return "?"
    if verdict.is_distance:
        return _by_distance(verdict)
    if bound := _by_interval(verdict):
        return f"{bound}{verdict.sign}"
    return _by_margin(verdict)


def _by_interval(verdict: Verdict) -> str:
    """Bound of the gap from the interval of the private answer; empty if there is none."""
    copy = verdict.q_synthetic
    low = None if verdict.low is None else verdict.low - copy
    high = None if verdict.high is None else verdict.high - copy
    # A yes gets an upper bound only, even if the interval excludes the copy's answer.
    if verdict.leans == "no":
        if low is not None and low > 0:
            return f"> {_bound(low, verdict, up=False)}"
        if high is not None and high < 0:
            return f"> {_bound(-high, verdict, up=False)}"
    if low is None or high is None:
        return ""
    return f"< {_bound(max(-low, high), verdict, up=True)}"


def _bound(gap: float, verdict: Verdict, *, up: bool) -> str:
    """Bound of the gap, with enough digits to keep it on its side of the tolerance."""
    tau = float(verdict.tau)
    text = ""
    for digits in range(2, _MOST_DIGITS):
        text = bound_text(gap, up=up, digits=digits)
        shown = float(text.replace(",", ""))
        if (gap > tau) if up else (gap < tau):
            break
        if (shown <= tau) if up else (shown >= tau):
            break
    return text


def _by_margin(verdict: Verdict) -> str:
    """Gap from the margin of a COUNT, where each person counts one; else the verdict as a bound."""
    inside = verdict.leans == "yes"
    if verdict.aggregate == "COUNT" and verdict.margin is not None and verdict.epsilon:
        gap = verdict.tau - verdict.margin if inside else verdict.tau + 1 - verdict.margin
        return f"about {rounded_text(max(gap, 0), math.sqrt(2) / float(verdict.epsilon))}"
    return _beyond_tolerance(verdict)


def _by_distance(verdict: Verdict) -> str:
    """Distance that the margin of a NO tells; else the verdict as a bound, which is proven."""
    if verdict.distance is None or verdict.leans == "yes":
        return _beyond_tolerance(verdict)
    value, low, high = verdict.distance
    return f"about {rounded_text(100 * value, 100 * (high - low) / 2)} %"


def _beyond_tolerance(verdict: Verdict) -> str:
    """Verdict as a bound of the gap, rounded so that the shown bound holds too."""
    near = verdict.leans == "yes"
    amount, unit = (100 * verdict.tau, " %") if verdict.is_distance else (verdict.tau, verdict.sign)
    digits = 4 if verdict.is_distance else 3
    return f"{'<' if near else '>'} {end_text(amount, digits, up=near)}{unit}"


def mixed_replays(verdicts: Sequence[Verdict]) -> bool:
    """Whether some verdicts were replayed and others were not."""
    return len({verdict.replayed for verdict in verdicts}) > 1


def question(facts: QueryFacts) -> str:
    """Question of a query in words."""
    return query_text(facts)


def grouping_of(facts: QueryFacts) -> Grouping | None:
    """Grouped query to which a query belongs as a group; None if there is none."""
    if facts.block is None:
        return None
    asks, line = grouped_text(facts, None), grouped_text(facts, facts.block_sql)
    return Grouping(facts.block, asks, line, facts.block_sql or "")


def verdict_details(verdict: Verdict, stated: str) -> Iterator[Block]:
    """Blocks on one verdict: its interval, sentences, deciders, curves and SQL."""
    if not verdict.is_distance:
        least = verdict.chosen.tau_min
        yield Interval(
            float(verdict.q_synthetic),
            float(verdict.lower),
            float(verdict.upper),
            least,
            verdict.standing.badge.tone,
            amount_text(verdict, least),
            verdict.estimate,
            verdict.low,
            verdict.high,
            estimate_text(verdict) or "",
        )
    facts = [Line(text, _ROLES[role]) for text, role in list(sentences(verdict, stated))[1:-1]]
    if instead := instead_sentence(verdict):
        facts.append(Line(instead, "advice"))
    yield Lines(facts)
    words = [Line(thresholds_sentence(verdict), "detail")]
    yield deciders(verdict, [each for each in verdict.candidates if each.shown], words)
    yield from curves(verdict)
    yield Code("Query", verdict.sql)


def deciders(
    facts: QueryFacts,
    candidates: Sequence[CandidateFacts],
    words: Sequence[Line] = (),
    *,
    budgeted: bool = True,
) -> Table:
    """Table of the deciders that fit a query, with the used decider marked."""
    titles = ("reliable from", "the paper's", "false no", "false yes") if budgeted else ()
    columns = [Column("decider", "name"), *(Column(title, "number") for title in titles)]
    rows = []
    for each in candidates:
        taken = each.decider == facts.decider
        numbers = (
            Cell(amount_text(facts, each.tau_min), each.tau_min),
            Cell(
                "" if each.tau_published is None else amount_text(facts, each.tau_published),
                each.tau_published,
            ),
            Cell(share_text(each.false_no), each.false_no),
            Cell(share_text(each.false_yes), each.false_yes),
        )
        needed = Cell(budget_text(each.epsilon_needed), each.epsilon_needed)
        cells = (Cell(each.decider, strong=taken), *(numbers if budgeted else ()), needed)
        rows.append(Row(id=each.decider, cells=cells, marks=("used",) if taken else ()))
    return Table(
        columns=(*columns, Column("epsilon needed, about", "number")),
        groups=[Group(rows=rows, fate="always")],
        label="Deciders that fit",
        words=words,
    )


def curves(facts: QueryFacts) -> Iterator[Curves]:
    """Curves of the decider and of the others that err least; nothing if none was computed."""
    candidates = [each for each in facts.candidates if each.curve]
    ranked = sorted(candidates, key=lambda each: (each.decider != facts.decider, each.worst))
    if ranked:
        lines = [(each.decider, each.curve or ()) for each in ranked[:_CURVES]]
        yield Curves(lines, _label(ranked[0]))


def _label(candidate: CandidateFacts) -> str:
    """Chances of a yes in words, for readers who do not see the curve."""
    curve = candidate.curve or ()
    places = (0, "at no gap"), (8, "at tau"), (16, "at 2 tau")
    parts = [
        f"{share_text(curve[at])} {name}"
        for at, name in places
        if at < len(curve) and curve[at] is not None
    ]
    return f"Chance of a yes with {candidate.decider}: {', '.join(parts) or 'not known'}"


def omitted_queries(refused: Sequence[QueryRefusal]) -> Omitted:
    """Queries that were refused; ``alike`` puts queries with the same reason on one line."""
    if not refused:
        return NOTHING_OMITTED
    lines: list[Omission] = []
    together: dict[tuple[str, str], list[QueryRefusal]] = {}
    for each in refused:
        together.setdefault((each.block or each.id, each.reason), []).append(each)
    for text, queries in zip(refused_lines(refused), together.values(), strict=True):
        names = {name for each in queries for name in (each.id, each.block) if name}
        lines.append(Omission(text, tuple(sorted(names))))
    return Omitted(refused_sentence(refused), lines, list(_reasons(refused)))


def _reasons(refused: Sequence[QueryRefusal]) -> Iterator[str]:
    """Line per reason: the refused queries with this reason, or the groups of a single query."""
    by_reason: dict[str, list[QueryRefusal]] = {}
    for each in refused:
        by_reason.setdefault(each.reason, []).append(each)
    for reason, queries in by_reason.items():
        names = dict.fromkeys(each.block or each.id for each in queries)
        if len(names) > 1:
            yield f"{first_names(names)}: {reason}"
        else:
            yield from refused_lines(queries)
