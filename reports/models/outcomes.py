"""Outcomes: what each is called, how it is marked, and how early it is folded."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pqd.reports.blocks import Fate, Tone


class Outcome(NamedTuple):
    """Outcome by its ``name``; ``badge`` is its mark in a word, whose colour is the ``tone``.

    Of a ``fate`` that failed everything is shown, of one that passed little.
    """

    name: str
    badge: str
    tone: Tone
    fate: Fate


# Worst first.
VERDICTS = (
    Outcome("not trusted", "NO", "no", "failed"),
    Outcome("undecided", "?", "open", "open"),
    Outcome("trusted", "yes", "yes", "passed"),
)
DISTANCES = (
    Outcome("beyond", "NO", "no", "failed"),
    Outcome("undecided", "?", "open", "open"),
    Outcome("within", "yes", "yes", "passed"),
)
PLANS = (
    Outcome("too little", "LOW", "open", "failed"),
    Outcome("decidable", "OK", "yes", "passed"),
)
CHECKS = (
    Outcome("broken", "ERROR", "no", "failed"),
    Outcome("failed", "FAIL", "no", "failed"),
    Outcome("warned", "WARN", "open", "open"),
    Outcome("known", "KNOWN", "open", "open"),
    Outcome("planned", "PLAN", "none", "passed"),
    Outcome("passed", "PASS", "yes", "passed"),
)
BY_STANDING = {outcome.name: outcome for outcome in VERDICTS}
BY_BADGE = {outcome.badge: outcome for outcome in CHECKS}
