"""Sentences on attacks that a risk report and a check of a spec share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from pqd.deciders.names import names_and_more
from pqd.reports.models.standings import Standing
from pqd.reports.text.distances import digits_of, level_text
from pqd.reports.text.numbers import (
    counted,
    listed,
    number_text,
    p_value_text,
    percent_text,
    points_text,
    rounded_up,
)

# Attacks that a warning names.
_MOST_NAMED = 4
CONTROL_STEP = (
    "give held-out rows of the same population, which the generator never saw and which do not "
    "stand in the copy"
)

if TYPE_CHECKING:
    from pqd.reports.models.figure import Figure
    from pqd.reports.models.risk import AttackFacts, RiskReport


# Title of a report on a copy that is shown to give private rows away.
WITHHOLD = "Do not hand the copy out"


def gain_sentence(attack: AttackFacts, known: Sequence[str] | None, persons: str) -> str:
    """What an attacker gains, in one sentence; empty without held-out rows.

    ``known`` are the columns that the attacker is stated to know, and ``persons`` is the word for
    what was counted: rows or persons.
    """
    facts = attack.held_out
    if facts is None:
        return ""
    rate, other = rate_text(attack.rate), rate_text(facts.rate)
    low, high = facts.persons.low, facts.persons.high
    many = f"{number_text(max(0, math.floor(low)))} to {number_text(max(0, math.ceil(high)))}"
    beyond = f"that is about {number_text(max(0, round(facts.persons.value)))} {persons} ({many})"
    knows = f"who knows {listed([*known])}" if known else "who knows all else"
    words = {
        "copied": f"{rate} of the private {persons} are rare rows of the copy, of others {other}",
        "near": f"{rate} of the private {persons} are near copies, of others {other}",
        "membership": (
            f"An attacker takes {rate} of the private {persons} for members, of others {other}"
        ),
        "linkability": f"What two attackers know is joined for {rate}, of others for {other}",
        "singling-out": f"The copy points to {rate} of the private {persons}, of others to {other}",
        "inference": (
            f"An attacker {knows} guesses {attack.column} right for {rate}, of others for {other}"
        ),
    }
    return f"{words[attack.id]}; {beyond}."


def excess_text(attack: AttackFacts, alpha: Fraction) -> str:
    """Excess of an attack in points with its interval; empty without held-out rows."""
    facts = attack.held_out
    if facts is None:
        return ""
    digits = max(1, digits_of(facts.excess))
    low, high = (points_text(each, digits) for each in (facts.excess.low, facts.excess.high))
    value = points_text(facts.excess.value, digits)
    odds = p_value_text(facts.p_value, alpha)
    return f"excess {value} points ({level_text(alpha)}: {low} to {high}), {odds}"


def leak_warning(report: RiskReport, name: str = "The copy") -> str:
    """Warning of the leaks that are established, judged all at once; empty if there are none."""
    leaks, number = report.leaks, counted(len(report.attacks), "attack")
    if not leaks:
        return ""
    verb = "gains" if len(leaks) == 1 else "gain"
    names = listed([each.name for each in leaks])
    gives = f"{name} gives private rows away: {len(leaks)} of {number} {verb} from them"
    return f"{gives} ({names})."


def given_away_sentence(report: RiskReport) -> str:
    """Sentence on whether the copy gives anybody away, where no leak is established.

    It is empty for a plan, and where a leak is established: a warning says that.
    """
    if report.dry or report.leaks:
        return ""
    known = "Whether the copy gives anybody away is not known"
    if not report.held_out:
        return f"{known}: attacks need held-out rows for verdicts."
    number = counted(len(report.attacks), "attack")
    gains = f"more than {tolerance_points(report)}"
    if beyond := [each.name for each in report.attacks if each.standing is Standing.BEYOND]:
        verb, names = "gains" if len(beyond) == 1 else "gain", names_and_more(beyond, _MOST_NAMED)
        return (
            f"The copy may give private rows away: {len(beyond)} of {number} {verb} {gains} "
            f"({names}), each judged by itself."
        )
    if report.below_zero:
        return f"{known}: the held-out rows are no control."
    if words := undecided_words([report]):
        return f"{known}: {words}."
    return f"None of {number} gains {gains}, each judged by itself."


def undecided_words(reports: Sequence[RiskReport]) -> str:
    """Clause on how many attacks of ``reports`` are undecided; empty if all are decided."""
    attacks = [each for report in reports for each in report.attacks]
    number = sum(each.standing is Standing.UNDECIDED for each in attacks)
    verb = "is" if number == 1 else "are"
    return f"{number:,} of {counted(len(attacks), 'attack')} {verb} undecided" if number else ""


def tolerance_points(report: RiskReport) -> str:
    """Tolerance in words, such as ``1 percentage point``."""
    facts = next(told for each in report.attacks if (told := each.held_out or each.outlook))
    share = number_text(100 * facts.tau, 3)
    return f"{share} percentage point" if share == "1" else f"{share} percentage points"


def control_title(below_zero: Sequence[str]) -> str:
    """Statement that the held-out rows are no control, by the attacks that show it."""
    verb = "succeeds" if len(below_zero) == 1 else "succeed"
    names = names_and_more(below_zero, _MOST_NAMED)
    return f"The held-out rows are no control: {names} {verb} more often on them"


def control_warning(below_zero: Sequence[str]) -> str:
    """Warning that the held-out rows are no control; empty if nothing shows it."""
    if not below_zero:
        return ""
    return (
        f"{control_title(below_zero)} than on private rows. They stand in the copy, are of another "
        "population, or the generator dropped rows that are near private ones; no yes counts."
    )


def tau_text(tau: float) -> str:
    """Tolerance in per cent, rounded up as an option takes it; ``none`` if it would be all rows."""
    return "none" if tau >= 1 else number_text(float(rounded_up(Fraction(100 * tau))))


def rate_text(figure: Figure) -> str:
    """Share of rows in per cent, with as many digits as its interval allows."""
    return percent_text(figure.value, max(1, digits_of(figure)))
