"""Standings: the one table of outcomes, with their words, signs, colours and exit codes.

Every document and every format reads this table.  No other file defines signs, words, tones or
JUnit tags of outcomes.  A new standing needs one row here, and a rule by which a report takes it.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from enum import StrEnum
from typing import Literal, Self

from pqd.reports.blocks import Badge, Fate

# Answer of a verdict, answer without regard to evidence, and evidence for an answer.
Outcome = Literal["yes", "no", "undecided"]
Leaning = Literal["yes", "no"]
Evidence = Literal["proof", "likely", "none"]

_YES, _NO = Badge("yes", "yes"), Badge("NO", "no")
_INSIDE, _OUTSIDE = "within tolerance", "outside tolerance"
_BEYOND, _WITHIN = "beyond the tolerance", "within the tolerance"
_LIKELY_INSIDE, _LIKELY_OUTSIDE = f"likely {_INSIDE}", f"likely {_OUTSIDE}"


def _open(text: str) -> Badge:
    return Badge(text, "open")


class Standing(StrEnum):
    """Standing of a query, a distance, a column, a planned query or a check; its name in JSON.

    The standings of one subject are listed worst first.  ``badge`` says the standing in a word or
    two, and its tone gives the colour.  ``words`` say it in a sentence, and ``sign`` says it in one
    character.  ``fate`` decides how much is shown: everything that failed, little that passed.

    ``gate``, ``tag`` and ``exit_code`` are for checks.  ``gate`` is the name of the gate in JSON.
    ``tag`` is the element in JUnit XML, and is empty unless something is wrong.  ``exit_code`` is
    the least exit code of a command with a check of this standing.
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
        """Standing with the values of one row of the table."""
        row = str.__new__(cls, name)
        row._value_ = name
        row.subjects, row.badge, row.fate, row.sign, row.words = subjects, badge, fate, sign, words
        row.gate, row.tag, row.exit_code = gate, tag, exit_code
        return row

    # fmt: off
    #             name                 subjects  badge                fate      sign words
    MISSING     = "missing in the copy", "column", Badge("MISSING", "no"), "failed"
    NOT_JUDGED  = "not judged",        "column", _open("not judged"), "open"
    COPY_ALONE  = "only in the copy",  "column", _open("copy only"),  "open"
    SET_ASIDE   = "set aside",         "column", Badge("set aside"),  "passed"

    NOT_TRUSTED = "not trusted",       "query",  _NO,                 "failed", "✗", _OUTSIDE
    BEYOND      = "beyond",            "distance attack", _NO,        "failed", "✗", _BEYOND
    NO_WITHIN   = "no within bounds",  "query",  _open("NO within"),  "open",   "✗", _OUTSIDE
    NO_OR_BEYOND = "no or rows beyond", "query", _open("NO or beyond"), "open", "✗", _OUTSIDE
    LIKELY_NO   = "likely no",         "query",  _open("likely NO"),  "open",   "✗", _LIKELY_OUTSIDE
    LEANS_NO    = "leans no",          "query",  _open("leans NO"),   "open",   "✗", "undecided"
    UNDECIDED   = "undecided",         "query distance attack", _open("?"), "open", "?", "undecided"
    LEANS_YES   = "leans yes",         "query",  _open("leans yes"),  "open",   "✓", "undecided"
    LIKELY_YES  = "likely yes",        "query",  _open("likely yes"), "open",   "✓", _LIKELY_INSIDE
    YES_WITHIN  = "yes within bounds", "query",  _open("yes within"), "open",   "✓", _INSIDE
    TRUSTED     = "trusted",           "query",  _YES,                "passed", "✓", _INSIDE
    WITHIN      = "within",            "distance attack", _YES,       "passed", "",  _WITHIN

    BEYOND_CHANCE = "beyond chance", "chance", Badge("beyond", "no"), "failed"
    AT_CHANCE     = "at chance",     "chance", Badge("at", "yes"),    "passed"

    UNJUDGED    = "without a verdict", "attack", _open("rate"),       "open"

    DRAWN       = "closer than drawn",       "alarm", Badge("ERROR", "no"),  "failed"
    INDEPENDENT = "closer than independent", "alarm", Badge("NOTE", "open"), "open"

    FAULT = "fault",        "finding", Badge("FAULT", "no"), "failed"
    LOOK  = "worth a look", "finding", _open("LOOK"),        "open"

    OUT_OF_REACH = "out of reach", "outlook", Badge("CHANCE", "no"), "failed"
    TOO_LITTLE  = "too little", "plan outlook", _open("LOW"),       "failed"
    PLAUSIBLE   = "likely right", "plan", _open("LIKELY"),  "open"
    DECIDABLE   = "decidable",  "plan outlook", Badge("OK", "yes"), "passed"

    #         name       subject  badge                   fate      -   -   gate     tag        exit
    BROKEN  = "broken",  "check", Badge("ERROR", "no"),   "failed", "", "", "error", "error",   2
    FAILED  = "failed",  "check", Badge("FAIL", "no"),    "failed", "", "", "fail",  "failure", 1
    UNSURE  = "left undecided", "check", _open("UNDECIDED"), "failed", "", "", "", "failure", 1
    NARROW  = "not decidable", "check", Badge("LOW", "open"), "failed", "", "", "", "skipped"
    WARNED  = "warned",  "check", _open("WARN"),          "open",   "", "", "warn"
    KNOWN   = "known",   "check", _open("KNOWN"),         "open",   "", "", "known"
    UNTOLD  = "not told", "check", Badge("not told", "none"), "passed", "", "", "untold", "skipped"
    PLANNED = "planned", "check", Badge("PLAN", "none"),  "passed", "", "", "pass",  "skipped"
    PASSED  = "passed",  "check", Badge("PASS", "yes"),   "passed", "", "", "pass"
    # fmt: on

    @property
    def answer(self) -> str:
        """Answer, ``yes`` or ``no``, of a standing that holds without a condition; else empty."""
        return self.badge.tone if self.badge.tone in {"yes", "no"} else ""

    @property
    def is_open(self) -> bool:
        """Whether the fate is open: neither passed nor failed."""
        return self.fate == "open"

    @property
    def level(self) -> str:
        """Level of a build remark: error if a check fails, warning if it is open, else empty."""
        if self.exit_code:
            return "error"
        return "warning" if self.badge.tone == "open" else ""


def _of(subject: str) -> tuple[Standing, ...]:
    return tuple(each for each in Standing if subject in each.subjects.split())


VERDICTS, DISTANCES, PLANS, CHECKS = map(_of, ("query", "distance", "plan", "check"))
CHANCES, ALARMS, FINDINGS, COLUMNS = map(_of, ("chance", "alarm", "finding", "column"))
ATTACKS = _of("attack")
# What a plan foretells of a distance, and of an attack.
OUTLOOKS = _of("outlook")
PLANNED_ATTACKS = (Standing.TOO_LITTLE, Standing.DECIDABLE)


# Standings of verdicts that a legend always lists, even if no verdict has them.
LEGEND = (Standing.NOT_TRUSTED, Standing.UNDECIDED, Standing.TRUSTED)


def legend(present: Container[str]) -> list[Standing]:
    """Standings of verdicts for a legend, worst first: those ``present`` and those of LEGEND."""
    return [each for each in VERDICTS if each in present or each in LEGEND]


def passes_first(standings: Sequence[Standing]) -> list[Standing]:
    """Standings in the same order, except that those that passed come first."""
    return sorted(standings, key=lambda each: each.badge.tone != "yes")


def standing_of(
    answer: str | None, standings: Sequence[Standing], *, conclusive: bool = True
) -> Standing:
    """Standing of an answer, yes or no; undecided unless the answer is ``conclusive``."""
    if not conclusive:
        return Standing.UNDECIDED
    return next(each for each in standings if each.answer == answer)


def conditional(answer: str, *, counts_beyond: bool) -> Standing:
    """Standing of an answer that is proven for values cut to bounds that nobody stated.

    If the rows beyond the bounds were counted too, a no does not tell which of two claims is false.
    """
    if answer == "yes":
        return Standing.YES_WITHIN
    return Standing.NO_OR_BEYOND if counts_beyond else Standing.NO_WITHIN


def unproven(answer: str, *, likely: bool) -> Standing:
    """Standing of an answer that its decider cannot prove: likely, or only a lean."""
    if likely:
        return Standing.LIKELY_YES if answer == "yes" else Standing.LIKELY_NO
    return Standing.LEANS_YES if answer == "yes" else Standing.LEANS_NO


def chance_of(low: float | None, high: float | None, mark: float | None) -> Standing | None:
    """Standing of a distance between ``low`` and ``high``, compared with the mark of chance."""
    if low is None or high is None or mark is None:
        return None
    if low > mark:
        return Standing.BEYOND_CHANCE
    return Standing.AT_CHANCE if high < mark else None
