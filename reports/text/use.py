"""Headline of a profile: what the copy can be used for, and what not, by decided verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pqd.deciders.names import names_and_more
from pqd.reports.models.standings import Standing
from pqd.reports.text.numbers import counted

if TYPE_CHECKING:
    from pqd.reports.models.profile import DistanceFacts, ProfileReport

# Names that the headline lists.
_MOST_NAMED = 4
_RELATIONS = "what relates columns to each other"


def use_sentence(report: ProfileReport) -> str:
    """What the copy can be used for and what not; empty in a plan, or if nothing is decided.

    A column or a pair counts if its verdict is conclusive.  A pair that only repeats a wrong column
    is not named beside it.  If the relations are lost, no pair is recommended.
    """
    if report.dry:
        return ""
    used, unused = " and ".join(_used(report)), list(_unused(report))
    parts = [f"Use it for {used}." if used else ""]
    if unused:
        parts.append(f"Do not use it for {names_and_more(unused, _MOST_NAMED)}.")
    return " ".join(filter(None, parts))


def _used(report: ProfileReport) -> Iterator[str]:
    """Parts with the numbers of columns and of pairs that are within the tolerance."""
    is_lost = report.relations is not None and report.relations.is_lost
    for ways, nouns in ((1, ("column",)), (2, ("pair of columns", "pairs of columns"))):
        every = report.of_ways(ways)
        within = sum(each.standing is Standing.WITHIN for each in every)
        if within and not (ways == 2 and is_lost):
            single = " by themselves" if ways == 1 and is_lost else ""
            yield f"{within:,} of {counted(len(every), *nouns)}{single}"


def _unused(report: ProfileReport) -> Iterator[str]:
    """Names of what is beyond the tolerance, the worst first; columns come before pairs."""
    if report.relations is not None and report.relations.is_lost:
        yield _RELATIONS
    for ways in (1, 2):
        for each in _beyond(report.of_ways(ways)):
            if each.columns not in report.repeats:
                yield " with ".join(each.columns)
        if ways == 1:
            yield from _of_values(report)


def _of_values(report: ProfileReport) -> Iterator[str]:
    """Names of columns that lost values or have far too few or many of them, if nothing else."""
    wrong = {each.columns for each in _beyond(report.of_ways(1))}
    for each in report.values:
        if each.standing is Standing.BEYOND and (each.column,) not in wrong:
            yield f"rare values of {each.column}"


def _beyond(distances: Sequence[DistanceFacts]) -> list[DistanceFacts]:
    return [each for each in distances if each.standing is Standing.BEYOND]
