"""Headline of a profile: what the copy can be used for, and what not, by decided verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pqd.deciders.names import names_and_more
from pqd.reports.models.standings import Standing
from pqd.reports.text.cost import rows_noun
from pqd.reports.text.distances import INDEPENDENT, tolerance_text, ways_text
from pqd.reports.text.numbers import counted, listed, number_text
from pqd.reports.text.risk import WITHHOLD, given_away_sentence

if TYPE_CHECKING:
    from pqd.reports.models.profile import DistanceFacts, ProfileReport

# Names that the headline lists.
_MOST_NAMED = 4
_RELATIONS = "what relates columns to each other"


def use_sentences(report: ProfileReport) -> Iterator[str]:
    """Yield what to do with the copy, what attacks found, then what not to use the copy for.

    A plan has nothing of this.

    A column or a pair counts if its verdict is conclusive.  A pair that only repeats a wrong column
    is not named beside it.  If the relations are lost, no pair is recommended; if the copy gives
    private rows away, nothing is.  What is beyond the tolerance, but not shown to be beyond chance,
    is counted in sentences of its own.
    """
    if report.dry:
        return
    used, unused = " and ".join(_used(report)), list(_unused(report))
    if report.withhold:
        yield f"{WITHHOLD}."
    elif used:
        yield f"Use it for {used}."
    elif not unused:
        pairs = " or pair of columns" if report.ways > 1 else ""
        tau = tolerance_text(report.marginals[0].tau)
        yield f"No column{pairs} is shown to be within {tau}."
    if report.risk is not None and not report.withhold:
        yield from filter(None, [given_away_sentence(report.risk)])
    if unused:
        yield f"Do not use it for {names_and_more(unused, _MOST_NAMED)}."
    if report.relations is not None and report.relations.is_unjudged:
        rows = number_text(report.copy_rows)
        yield f"Whether it keeps {_RELATIONS} cannot be judged with {rows} rows in these cells."
    yield from _by_chance(report)


def _by_chance(report: ProfileReport) -> Iterator[str]:
    """Sentences on what is beyond the tolerance, but not shown to be farther off than chance.

    Of a marginal with very many cells, chance alone is beyond the tolerance: that is public.
    """
    found = [
        each
        for each in (*report.of_ways(1), *report.of_ways(2))
        if each.standing is Standing.BEYOND
        and not each.is_fault
        and each.columns not in report.repeats
    ]
    crowded = [each for each in found if each.is_out_of_reach]
    others = [each for each in found if not each.is_out_of_reach]
    if crowded:
        tau = tolerance_text(crowded[0].tau)
        rows = f"{number_text(report.copy_rows)} {rows_noun(report.cost)}"
        verb = "has" if len(crowded) == 1 else "have"
        yield (
            f"{_counted(crowded)} {verb} too many values for {rows}: {INDEPENDENT} would be "
            f"beyond {tau} on average, too."
        )
        unsure = sum(each.chance is not Standing.AT_CHANCE for each in crowded)
        if unsure:
            them = "it" if len(crowded) == 1 else f"{unsure:,} of them"
            verb = "is" if unsure == 1 else "are"
            yield f"Whether {them} {verb} farther off than that is undecided."
    if others:
        verb, tau = "is" if len(others) == 1 else "are", tolerance_text(others[0].tau)
        yield f"{_counted(others)} {verb} beyond {tau}, but not shown to be beyond chance."


def _counted(distances: Sequence[DistanceFacts]) -> str:
    """Numbers of columns and of pairs, such as ``1 column and 10 pairs``."""
    sizes = [len(each.columns) for each in distances]
    return listed(
        [counted(sizes.count(ways), ways_text(ways, 1), ways_text(ways))
         for ways in sorted(set(sizes))]
    )  # fmt: skip


def _used(report: ProfileReport) -> Iterator[str]:
    """Parts with the numbers of columns and of pairs that are within the tolerance."""
    is_lost = report.relations is not None and report.relations.is_lost
    aside = any(each.standing is Standing.NOT_JUDGED for each in report.left_out)
    column = "judged column" if aside else "column"
    for ways, nouns in ((1, (column,)), (2, ("pair of columns", "pairs of columns"))):
        every = report.of_ways(ways)
        number = len(every) + (len(_missing(report)) if ways == 1 else 0)
        within = sum(each.standing is Standing.WITHIN for each in every)
        if within and not (ways == 2 and is_lost):
            single = " by themselves" if ways == 1 and is_lost else ""
            yield f"{within:,} of {counted(number, *nouns)}{single}"


def _missing(report: ProfileReport) -> list[str]:
    """Names of the columns that the copy lacks."""
    found = (each for each in report.left_out if each.standing is Standing.MISSING)
    return [each.columns[0] for each in found]


def _unused(report: ProfileReport) -> Iterator[str]:
    """Names of faults, the worst first; columns come before pairs."""
    yield from (f"{name} (missing)" for name in _missing(report))
    if report.relations is not None and report.relations.is_lost:
        yield _RELATIONS
    for ways in (1, 2):
        for each in report.of_ways(ways):
            if each.is_fault and each.columns not in report.repeats:
                yield " with ".join(each.columns)
        if ways == 1:
            yield from _of_values(report)


def _of_values(report: ProfileReport) -> Iterator[str]:
    """Names of columns that lost values or have far too few or many of them, if nothing else."""
    wrong = {each.columns for each in report.of_ways(1) if each.is_fault}
    for each in report.values:
        if each.standing is Standing.BEYOND and (each.column,) not in wrong:
            yield f"rare values of {each.column}"
