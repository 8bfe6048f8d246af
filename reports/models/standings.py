"""Standings: the one table of outcomes with their words, marks, colours and exit codes.

Every document and every format reads this table; no other file has marks, words, tones or tags of
a build of its own.  A new standing is one row here, and the rule by which a report takes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Self

from pqd.reports.blocks import Badge, Fate

_YES, _NO, _OPEN = Badge("yes", "yes"), Badge("NO", "no"), Badge("?", "open")


class Standing(StrEnum):
    """Standing of a query, a distance, a planned query or a check, by its name in JSON.

    The standings of one subject stand worst first.  ``badge`` is the standing in a word, whose
    colour is its tone; ``words`` say it in a sentence, ``sign`` in one character.  Of a ``fate``
    that failed everything is shown, of one that passed little.

    Of a check, ``gate`` is its word in JSON and ``tag`` its element in JUnit XML, empty where all
    is well; ``exit_code`` is the least that the command then ends with.
    """

    subjects: str
    badge: Badge
    fate: Fate
    sign: str
    words: str
    gate: str
    tag: str
    exit_code: int

    def __new__(  # noqa: PLR0913, PLR0917 - the columns of the table
        cls,
        name: str,
        subjects: str,
        badge: Badge,
        fate: Fate,
        sign: str = "",
        words: str = "",
        gate: str = "",
        tag: str = "",
        exit_code: int = 0,
    ) -> Self:
        """Row of the table."""
        row = str.__new__(cls, name)
        row._value_ = name
        row.subjects, row.badge, row.fate, row.sign, row.words = subjects, badge, fate, sign, words
        row.gate, row.tag, row.exit_code = gate, tag, exit_code
        return row

    # fmt: off
    #             name           subjects          badge  fate      sign words
    NOT_TRUSTED = "not trusted", "query",          _NO,   "failed", "✗", "outside tolerance"
    BEYOND      = "beyond",      "distance",       _NO,   "failed", "✗", "beyond the tolerance"
    UNDECIDED   = "undecided",   "query distance", _OPEN, "open",   "?", "undecided", "", "skipped"
    TRUSTED     = "trusted",     "query",          _YES,  "passed", "✓", "within tolerance"
    WITHIN      = "within",      "distance",       _YES,  "passed", "",  "within the tolerance"

    TOO_LITTLE = "too little", "plan", Badge("LOW", "open"), "failed"
    DECIDABLE  = "decidable",  "plan", Badge("OK", "yes"),   "passed"

    #         name       subject  badge                   fate      -   -   gate     tag        exit
    BROKEN  = "broken",  "check", Badge("ERROR", "no"),   "failed", "", "", "error", "error",   2
    FAILED  = "failed",  "check", Badge("FAIL", "no"),    "failed", "", "", "fail",  "failure", 1
    WARNED  = "warned",  "check", Badge("WARN", "open"),  "open",   "", "", "warn"
    KNOWN   = "known",   "check", Badge("KNOWN", "open"), "open",   "", "", "known"
    PLANNED = "planned", "check", Badge("PLAN", "none"),  "passed", "", "", "pass",  "skipped"
    PASSED  = "passed",  "check", Badge("PASS", "yes"),   "passed", "", "", "pass"
    # fmt: on

    @property
    def answer(self) -> str:
        """Verdict, yes or no; empty where noise may have decided, and of what is no verdict."""
        return self.badge.tone if self.badge.tone in {"yes", "no"} else ""

    @property
    def level(self) -> str:
        """Level of a remark on a build: error where it fails, warning where somebody must look."""
        if self.exit_code:
            return "error"
        return "warning" if self.badge.tone == "open" else ""


def _of(subject: str) -> tuple[Standing, ...]:
    return tuple(each for each in Standing if subject in each.subjects.split())


VERDICTS, DISTANCES, PLANS, CHECKS = map(_of, ("query", "distance", "plan", "check"))


def passes_first(standings: Sequence[Standing]) -> list[Standing]:
    """Standings that passed, then all others in their order, the worst first."""
    return sorted(standings, key=lambda each: each.badge.tone != "yes")


def standing_of(
    answer: str | None, standings: Sequence[Standing], *, conclusive: bool = True
) -> Standing:
    """Standing of an answer, yes or no; undecided unless it is ``conclusive``."""
    if not conclusive:
        return Standing.UNDECIDED
    return next(each for each in standings if each.answer == answer)
