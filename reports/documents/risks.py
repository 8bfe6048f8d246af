"""Risks of the copies of a ranking: a table, a picture of quality against risk, and advice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pqd.deciders.options import option
from pqd.reports.blocks import Cell, Column, Dot, Group, Lines, Plot, Row, Section, Table
from pqd.reports.documents.risk import (
    CUSTOMARY,
    SILENCE,
    declared_sentences,
    no_verdicts_sentence,
    plan_sentences,
    risk_terms,
    rows_sentence,
)
from pqd.reports.documents.shared import first_names, lines, on_page
from pqd.reports.models.standings import Standing
from pqd.reports.text.cost import rows_noun
from pqd.reports.text.distances import digits_of, level_text
from pqd.reports.text.numbers import (
    counted,
    epsilon_option,
    interval_text,
    listed,
    number_text,
    percent_text,
    points_text,
)
from pqd.reports.text.risk import (
    CONTROL_STEP,
    gain_sentence,
    rate_text,
    tolerance_points,
    undecided_words,
)

if TYPE_CHECKING:
    from pqd.reports.models.ranking import RankedCopy, RankingReport
    from pqd.reports.models.risk import AttackFacts, RiskReport

# Least distance of two marks of an axis, and what a plot leaves free at its ends, as shares of it.
_APART, _FREE = 0.1, 0.06
_BAD = (
    "One that is too near, whose relations are lost or columns nearly independent, or on which an "
    "attack, judged by itself, gains more than the tolerance."
)


def risks_sections(report: RankingReport) -> Iterator[Section]:
    """Section on the risks of all copies; none if no attack was tried."""
    if not report.risks:
        return
    plot = [on_page(_plot(report))] if _compared(report) else []
    words = Lines(lines(_plan_sentences(report) if report.dry else _sentences(report)))
    table = _plan_table(report) if report.dry else _table(report)
    yield Section(title="Risk", blocks=[table, *plot, words])


def risks_advice(report: RankingReport) -> str:
    """Sentence on the copies that leak and the best other; empty without verdicts."""
    if not _compared(report):
        return ""
    leaking, number = report.leaking, len(report.copies)
    if not leaking and _doubted(report):
        return "Whether a copy gives private rows away cannot be told: no yes counts."
    if not leaking:
        none = "The copy is not" if number == 1 else f"None of {number} copies is"
        none = f"{none} shown to give private rows away, judged all at once"
        gain = f"; attacks on {listed(report.beyond)} gain more than the tolerance, each by itself"
        return f"{none}{gain if report.beyond else ''}.{_unknown(report, [*report.risks])}"
    bad = {*leaking, *report.beyond, *(c.candidate for c in report.copies if _is_bad(c))}
    rest = [copy for copy in report.copies if copy.candidate not in bad]
    names = [copy.candidate for copy in rest[:1]]
    verb = "give" if len(leaking) > 1 else "gives"
    if not rest:
        best = "No copy is left: each gives private rows away, fails an attack or is bad"
    elif len(rest) == 1:
        best = f"{names[0]} is the only copy that is shown neither to be bad nor to give "
        best += "private rows away"
    else:
        best = "Of the copies that are shown neither to be bad nor to give private rows away, "
        best += f"{names[0]} has the highest quality"
    if rest and rest[0].relations and rest[0].relations.is_undecided:
        best += ", but whether its relations are kept is undecided"
    elif rest and not rest[0].relations and len(rest[0].columns) > 1:
        best += ", but relations between columns are not judged"
    return f"{best}; {listed(leaking)} {verb} them away.{_unknown(report, names)}"


def _unknown(report: RankingReport, names: Sequence[str]) -> str:
    """Sentence on the attacks on the copies ``names`` that are undecided, after a blank."""
    words = undecided_words([report.risks[name] for name in names])
    whom = names[0] if len(names) == 1 else "one of them"
    return f" Whether {whom} gives anybody away is not known: {words}." if words else ""


def risks_step(report: RankingReport) -> str:
    """Next step after attacks: held-out rows, or a report on the first copy that leaks."""
    if report.risks and not _compared(report) and not report.dry:
        return f"{option('--held-out TABLE')} gives verdicts on the attacks"
    free = ", at no cost" if report.cost.ledger else ""
    if told := (*report.leaking, *report.beyond):
        return f"{_alone(report)} on {told[0]} says what to do{free}"
    if _doubted(report):
        return CONTROL_STEP
    if not _compared(report):
        return ""
    names = [copy.candidate for copy in report.copies]
    open_ = next((name for name in names if undecided_words([report.risks[name]])), "")
    return f"{_alone(report)} on {open_} says what decides its attacks{free}" if open_ else ""


def risks_terms(report: RankingReport) -> dict[str, str]:
    """Terms of attacks, each with its meaning."""
    # The terms of a copy on which no yes counts say the most.
    risks = sorted(report.risks.values(), key=lambda risk: bool(risk.below_zero))
    terms = {name: text for risk in risks for name, text in risk_terms(risk)}
    if terms.pop("Leak", ""):
        terms["Leaks"] = f"Attacks that surely gain from the private rows: {_at_once(report)}."
    if report.leaking:
        terms["Bad copy"] = _BAD
    return terms


def _is_bad(copy: RankedCopy) -> bool:
    return copy.is_too_near or (copy.relations is not None and copy.relations.may_be_lost)


def _compared(report: RankingReport) -> bool:
    """True if there are verdicts: held-out rows, in a run."""
    return not report.dry and any(risk.held_out for risk in report.risks.values())


def _doubted(report: RankingReport) -> bool:
    return any(risk.below_zero for risk in report.risks.values())


def _alone(report: RankingReport) -> str:
    """Command whose report on one copy has the same attacks at the same epsilon."""
    share = next(iter(report.risks.values())).total_epsilon
    return option(f"pqd risk ... --total-epsilon {epsilon_option(share)}")


def _at_once(report: RankingReport) -> str:
    number = counted(sum(len(risk.attacks) for risk in report.risks.values()), "attack")
    level = level_text(report.alpha)
    return f"established for all {number} on all copies at once, with probability {level}"


def _sentences(report: RankingReport) -> Iterator[str]:
    """Sentences on what the table means."""
    noun = rows_noun(report.cost)
    for name, risk in report.risks.items():
        for leak in risk.leaks[:1]:
            yield f"{name}: {gain_sentence(leak, risk.known, noun)}"
        if risk.copy_epsilon is not None:
            yield f"{name}: {' '.join(declared_sentences(risk, risk.copy_epsilon))}"
    if _compared(report):
        errs = f"errs in at most {number_text(100 * report.alpha, 3)} % of runs"
        points = tolerance_points(next(iter(report.risks.values())))
        yield f"Each verdict, at a tolerance of {points}, {errs}. Leaks are {_at_once(report)}."
        yield f"{CUSTOMARY} {SILENCE}"
    else:
        yield no_verdicts_sentence()
    yield f"{_alone(report)} has all attacks on one copy, and takes a choice of them."


def _table(report: RankingReport) -> Table:
    """Table with the worst attack on each copy, in the order of the ranking."""
    compared = _compared(report)
    level = f"{level_text(report.alpha)} interval"
    against = (
        Column("excess", "number"),
        Column(level, "number", below=True),
        Column("leaks", "number"),
    )
    own = "own rows: those of the copy, each left out in turn"
    alone = (
        Column("private", "number"),
        Column(level, "number"),
        Column("own rows", "number", legend=own),
    )
    columns = (
        *([Column("verdict", "badge")] if compared else []),
        Column("copy", "name", fold=14),
        Column("quality", "number", drop=1),
        Column("worst attack", fold=12),
        *(against if compared else alone),
    )
    digits = digits_of(*(copy.overall.estimate for copy in report.copies))
    rows = [_row(report, copy, digits) for copy in report.copies]
    return Table(columns=columns, groups=[Group(rows=rows, fate="always", most=len(rows))])


def _plan_sentences(report: RankingReport) -> Iterator[str]:
    """Sentences on what a plan takes for granted."""
    first = next(iter(report.risks.values()))
    yield f"Whether nine runs of ten prove that the excess is at most {tolerance_points(first)}."
    # Only the sentences on the tables are of all copies.
    yield next(iter(plan_sentences(first)))
    if not first.held_out:
        yield no_verdicts_sentence()
    yield rows_sentence(first)


def _plan_table(report: RankingReport) -> Table:
    """Table of the attacks on each copy that a run would decide, if nobody is given away."""
    rows = []
    for name, risk in report.risks.items():
        low = [each.name for each in risk.attacks if each.standing is Standing.TOO_LITTLE]
        decided = len(risk.attacks) - len(low)
        told = f"{decided} of {len(risk.attacks)}"
        cells = Cell(name, strong=True), Cell(told, decided), Cell(first_names(low))
        rows.append(Row(id=name, cells=cells))
    return Table(
        columns=(
            Column("copy", "name", fold=14),
            Column("decided", "number"),
            Column("not decided", fold=24),
        ),
        groups=[Group(rows=rows, fate="always", most=len(rows))],
    )


def _row(report: RankingReport, copy: RankedCopy, digits: int) -> Row:
    risk = report.risks[copy.candidate]
    worst, badge = risk.attacks[0], risk.attacks[0].standing.badge
    quality = copy.overall.value or 0.0
    return Row(
        id=copy.candidate,
        cells=(
            *([Cell(badge=badge)] if worst.held_out else []),
            Cell(copy.candidate, strong=True),
            Cell(percent_text(quality, digits), quality),
            Cell(worst.name),
            *_figures(risk, worst),
        ),
        marks=("SIMULATED",) if report.simulated else (),
        names=(badge.text,),
    )


def _figures(risk: RiskReport, worst: AttackFacts) -> tuple[Cell, ...]:
    """Cells of the excess of the worst attack and of all leaks; without held-out rows, of rates."""
    if (facts := worst.held_out) is None:
        digits = max(1, digits_of(worst.rate))
        own = Cell(rate_text(worst.rate), worst.rate.value, strong=True)
        ends = Cell(interval_text(worst.rate.low, worst.rate.high, digits))
        return own, ends, Cell(percent_text(worst.copy_rate, 1), worst.copy_rate)
    digits = max(1, digits_of(facts.excess))
    value, low, high = (points_text(each, digits) for each in facts.excess)
    leaks = len(risk.leaks)
    return (
        Cell(value, facts.excess.value, strong=True),
        Cell(f"{low} to {high}", facts.excess.high - facts.excess.low),
        Cell(f"{leaks} of {len(risk.attacks)}" if leaks else "none shown", leaks),
    )


def _plot(report: RankingReport) -> Plot:
    """Quality of each copy across, and the excess of the worst attack on it up."""
    told = [
        (copy.candidate, copy.overall.estimate, facts.excess)
        for copy in report.copies
        if copy.overall.estimate and (facts := report.risks[copy.candidate].attacks[0].held_out)
    ]
    tau = next(f.tau for risk in report.risks.values() if (f := risk.attacks[0].held_out))
    left, right = _span([end for _, quality, _ in told for end in (quality.low, quality.high)])
    low, high = _span([0.0, tau, *(end for *_, excess in told for end in excess)])

    def across(value: float) -> float:
        return (value - left) / (right - left)

    def up(value: float) -> float:
        return (value - low) / (high - low)

    digits = digits_of(*(quality for _, quality, _ in told))
    marks: list[float] = []
    for value in (0.0, tau, high, low):
        if all(abs(up(value) - up(other)) >= _APART for other in marks):
            marks.append(value)
    tolerance = number_text(100 * tau, 3)
    words = (
        f"{name}: quality {percent_text(quality.value, digits)}, excess "
        f"{points_text(excess.value, 1)} points"
        for name, quality, excess in told
    )
    return Plot(
        lines=(),
        titles=("quality", f"excess of the worst attack, in points (tolerance {tolerance})"),
        across=[(across(x), percent_text(x, digits)) for x in (left, (left + right) / 2, right)],
        up=[(up(value), points_text(value, 1)) for value in marks],
        dots=[
            Dot(
                name,
                (across(quality.low), across(quality.value), across(quality.high)),
                (up(excess.low), up(excess.value), up(excess.high)),
            )
            for name, quality, excess in told
        ],
        label="; ".join(words),
        band=f"{level_text(report.alpha)} intervals",
        meaning="A good copy lies at the right, and one that gives nobody away at the height of 0.",
    )


def _span(values: list[float]) -> tuple[float, float]:
    """Ends of an axis that shows all ``values``."""
    least, most = min(values), max(values)
    free = _FREE * (most - least) or _FREE
    return least - free, most + free
