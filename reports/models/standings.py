"""Standings: the one table of outcomes with their words, marks, colours and exit codes.

Every document and every format reads this table; no other file has marks, words, tones or tags of
a build of its own.  A new standing is one row here, and the rule by which a report takes it.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from enum import StrEnum
from typing import Self

from pqd.reports.blocks import Badge, Fate

_YES, _NO = Badge("yes", "yes"), Badge("NO", "no")
_INSIDE, _OUTSIDE = "within tolerance", "outside tolerance"
_BEYOND, _WITHIN = "beyond the tolerance", "within the tolerance"
_LIKELY_INSIDE, _LIKELY_OUTSIDE = f"likely {_INSIDE}", f"likely {_OUTSIDE}"


def _open(text: str) -> Badge:
    return Badge(text, "open")


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
    #             name                 subjects  badge                fate      sign words
    NOT_TRUSTED = "not trusted",       "query",  _NO,                 "failed", "✗", _OUTSIDE
    BEYOND      = "beyond",            "distance", _NO,               "failed", "✗", _BEYOND
    NO_WITHIN   = "no within bounds",  "query",  _open("NO within"),  "open",   "✗", _OUTSIDE
    NO_OR_BEYOND = "no or rows beyond", "query", _open("NO or beyond"), "open", "✗", _OUTSIDE
    LIKELY_NO   = "likely no",         "query",  _open("likely NO"),  "open",   "✗", _LIKELY_OUTSIDE
    LEANS_NO    = "leans no",          "query",  _open("leans NO"),   "open",   "✗", "undecided"
    UNDECIDED   = "undecided",         "query distance", _open("?"),  "open",   "?", "undecided"
    LEANS_YES   = "leans yes",         "query",  _open("leans yes"),  "open",   "✓", "undecided"
    LIKELY_YES  = "likely yes",        "query",  _open("likely yes"), "open",   "✓", _LIKELY_INSIDE
    YES_WITHIN  = "yes within bounds", "query",  _open("yes within"), "open",   "✓", _INSIDE
    TRUSTED     = "trusted",           "query",  _YES,                "passed", "✓", _INSIDE
    WITHIN      = "within",            "distance", _YES,              "passed", "",  _WITHIN

    BEYOND_CHANCE = "beyond chance", "chance", Badge("beyond", "no"), "failed"
    AT_CHANCE     = "at chance",     "chance", Badge("at", "yes"),    "passed"

    DRAWN       = "closer than drawn",       "alarm", Badge("ERROR", "no"),  "failed"
    INDEPENDENT = "closer than independent", "alarm", Badge("NOTE", "open"), "open"

    TOO_LITTLE  = "too little", "plan", _open("LOW"),       "failed"
    PLAUSIBLE   = "likely right", "plan", _open("LIKELY"),  "open"
    DECIDABLE   = "decidable",  "plan", Badge("OK", "yes"), "passed"

    #         name       subject  badge                   fate      -   -   gate     tag        exit
    BROKEN  = "broken",  "check", Badge("ERROR", "no"),   "failed", "", "", "error", "error",   2
    FAILED  = "failed",  "check", Badge("FAIL", "no"),    "failed", "", "", "fail",  "failure", 1
    UNSURE  = "left undecided", "check", _open("UNDECIDED"), "failed", "", "", "", "failure", 1
    WARNED  = "warned",  "check", _open("WARN"),          "open",   "", "", "warn"
    KNOWN   = "known",   "check", _open("KNOWN"),         "open",   "", "", "known"
    PLANNED = "planned", "check", Badge("PLAN", "none"),  "passed", "", "", "pass",  "skipped"
    PASSED  = "passed",  "check", Badge("PASS", "yes"),   "passed", "", "", "pass"
    # fmt: on

    @property
    def answer(self) -> str:
        """Verdict, yes or no, that holds as it stands; empty of all other standings."""
        return self.badge.tone if self.badge.tone in {"yes", "no"} else ""

    @property
    def is_open(self) -> bool:
        """Whether it neither passed nor failed."""
        return self.fate == "open"

    @property
    def level(self) -> str:
        """Level of a remark on a build: error where it fails, warning where somebody must look."""
        if self.exit_code:
            return "error"
        return "warning" if self.badge.tone == "open" else ""


def _of(subject: str) -> tuple[Standing, ...]:
    return tuple(each for each in Standing if subject in each.subjects.split())


VERDICTS, DISTANCES, PLANS, CHECKS = map(_of, ("query", "distance", "plan", "check"))
CHANCES, ALARMS = map(_of, ("chance", "alarm"))


# Standings of verdicts that a legend lists even where no verdict has them.
LEGEND = (Standing.NOT_TRUSTED, Standing.UNDECIDED, Standing.TRUSTED)


def legend(present: Container[str]) -> list[Standing]:
    """Standings of verdicts that are ``present`` or always listed, worst first."""
    return [each for each in VERDICTS if each in present or each in LEGEND]


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


def conditional(answer: str, *, counts_beyond: bool) -> Standing:
    """Standing of an answer that is proven for values within bounds that nobody stated.

    Where the rows beyond were counted too, a no does not tell which of the two claims failed.
    """
    if answer == "yes":
        return Standing.YES_WITHIN
    return Standing.NO_OR_BEYOND if counts_beyond else Standing.NO_WITHIN


def unproven(answer: str, *, likely: bool) -> Standing:
    """Standing of the answer of a decider that cannot prove it: likely, or a lean alone."""
    if likely:
        return Standing.LIKELY_YES if answer == "yes" else Standing.LIKELY_NO
    return Standing.LEANS_YES if answer == "yes" else Standing.LEANS_NO
