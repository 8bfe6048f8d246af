"""Parts that documents of all kinds share: lines, the budget bar, the next step, and names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from pqd.deciders.options import by_reader
from pqd.reports.blocks import (
    NOTHING_OMITTED,
    PAGE,
    Block,
    Budget,
    Line,
    Omission,
    Omitted,
    Option,
    Role,
    Section,
    Shares,
    Text,
)
from pqd.reports.models.standings import COLUMNS, Standing
from pqd.reports.text.distances import names_text
from pqd.reports.text.numbers import counted, epsilon_text, listed

if TYPE_CHECKING:
    from pqd.reports.models.audit import Cost
    from pqd.reports.models.compare import LeaderboardRow
    from pqd.reports.models.profile import BudgetPart
    from pqd.reports.models.ranking import RankedCopy
    from pqd.reports.models.refusals import LeftOut

# Largest number of names in a sentence, and the most characters that they have together.
_NAMED, _LONG = 6, 120
# Largest number of names in a title.
_RIVALS = 4


def lines(texts: Iterable[str], role: Role = "plain") -> list[Line]:
    """Lines of the texts that are not empty."""
    return [Line(text, role) for text in texts if text]


def on_page(*blocks: Block, title: str = "") -> Section:
    """Section of blocks that only a page has room for."""
    return Section(title=title, blocks=blocks, brief=False, drop=PAGE)


def explain_step(command: str, name: str) -> Text:
    """Step that shows the result ``name`` of a report in full."""
    if page := by_reader("", f"report.open() shows {name} in full"):
        return page
    return f"{command} ", Option("explain", name)


def budget_bar(cost: Cost) -> Budget | None:
    """Shares of the limit that were spent before this run and by it; None without a limit."""
    if not cost.limit or cost.total is None:
        return None
    used = min(float(cost.total / cost.limit), 1.0)
    now = min(float(cost.epsilon / cost.limit), used)
    return Budget(used - now, now, epsilon_text(cost.total), epsilon_text(cost.limit))


def budget_shares(parts: Sequence[BudgetPart], texts: Iterable[str]) -> Shares:
    """Parts of a budget as shares of the whole, each with a text on what it paid for."""
    words = list(texts)
    sizes = [
        (text, float(part.epsilon), place)
        for place, (part, text) in enumerate(zip(parts, words, strict=True))
    ]
    return Shares(sizes, lines(words, "detail"))


def omitted_columns(left_out: Sequence[LeftOut]) -> Omitted:
    """Columns or marginals that are not judged, with the reasons."""
    if not left_out:
        return NOTHING_OMITTED
    omissions = [
        Omission(
            f"{names_text(each.columns)} is {each.standing or 'left out'}: {each.reason}",
            each.columns,
        )
        for each in left_out
    ]
    title = absences_text(left_out) or f"{counted(len(omissions), 'column')} set aside"
    return Omitted(title, omissions, [each.text for each in omissions])


def absences_text(left_out: Sequence[LeftOut]) -> str:
    """Numbers of columns without a verdict: ``2 columns are not judged, 1 is missing in the copy``.

    Columns that the caller set aside are not counted.
    """
    counts = Counter(
        each.standing or "left out" for each in left_out if each.standing is not Standing.SET_ASIDE
    )
    parts: list[str] = []
    for what, number in counts.items():
        noun = "" if parts else " column" if what in COLUMNS else " marginal"
        plural = "s" if noun and number > 1 else ""
        parts.append(f"{number:,}{noun}{plural} {'is' if number == 1 else 'are'} {what}")
    return ", ".join(parts)


def first_names(names: Iterable[str], between: str = ", ") -> str:
    """First few of several names, and the number of the others: ``a, b and 3 more``."""
    every = list(names)
    shown = max(1, sum(size <= _LONG for size in accumulate(map(len, every[:_NAMED]))))
    if len(every) <= shown + 1:
        return between.join(every)
    return f"{between.join(every[:shown])} and {len(every) - shown:,} more"


def undecided_title(names: Sequence[str]) -> str:
    """Title of a comparison in which none of ``names`` is established as the best."""
    candidates = list(names[:_RIVALS])
    if more := len(names) - len(candidates):
        candidates.append(counted(more, "other"))
    return f"Which is the best is undecided between {listed(candidates)}"


def rank_text(row: LeaderboardRow | RankedCopy) -> str:
    """Rank, or the ranks that a candidate may have, such as ``1\u20133``."""
    if row.best_rank == row.worst_rank:
        return str(row.best_rank)
    return f"{row.best_rank}\u2013{row.worst_rank}"
