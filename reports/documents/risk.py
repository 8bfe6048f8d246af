"""Document of a risk report: attacks from the worst on, and distances of rows from the copy."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from pqd.deciders.options import option
from pqd.deciders.risk.bounds import excess_bound
from pqd.reports.blocks import (
    NO_BADGE,
    PAGE,
    Block,
    Cell,
    Closing,
    Column,
    Definitions,
    Document,
    Group,
    Key,
    Line,
    Lines,
    Picture,
    Plot,
    Row,
    Section,
    Table,
    Tone,
    Trace,
)
from pqd.reports.documents.shared import (
    absences_text,
    budget_bar,
    first_names,
    lines,
    omitted_columns,
)
from pqd.reports.models.figure import Figure
from pqd.reports.models.standings import ATTACKS, PLANNED_ATTACKS, Standing
from pqd.reports.text.cost import (
    account_sentences,
    budget_sentence,
    cost_sentences,
    meaning_sentence,
    persons_facts,
    persons_lines,
    promise,
    rows_noun,
    spent_cell,
    spent_text,
)
from pqd.reports.text.distances import digits_of, level_text
from pqd.reports.text.numbers import (
    counted,
    epsilon_option,
    epsilon_text,
    interval_text,
    listed,
    number_text,
    p_value_text,
    percent_text,
    points_text,
    spaced,
)
from pqd.reports.text.query import SIMULATED
from pqd.reports.text.risk import (
    CONTROL_STEP,
    WITHHOLD,
    control_title,
    control_warning,
    gain_sentence,
    leak_warning,
    rate_text,
    tau_text,
    tolerance_points,
)

if TYPE_CHECKING:
    from pqd.reports.models.audit import Cost
    from pqd.reports.models.risk import AttackFacts, AttackOutlook, ExcessFacts, RiskReport

SILENCE = (
    "A small excess does not prove that the copy is safe: a stronger attack may succeed. Only a "
    "generator with differential privacy bounds every attack."
)
_CHOICE = "For a choice of attacks, of secrets or of the tolerance, run pqd risk."
CUSTOMARY = "The held-out rows must be of the same population as the private rows, and of others."
_SAMPLING = "The sampling error of both tables stays, whatever the epsilon."
_EXCESS = (
    "The rate on private rows less the rate on held-out rows, in percentage points. Its interval "
    "holds the noise and the sampling error of both."
)
_ATTACKS = {
    "copied": (
        "The row stands in the copy as it is, in all columns, and is rare there: for each column, "
        "the number of the copy's other rows that agree in all other columns, times the share of "
        "those that have its value, is at most 0.1."
    ),
    "near": (
        "The row is as near to some row of the copy as only 1 of 100 of the copy's own rows are to "
        "another: Gower's distance, the mean over the columns of 1 for texts that differ, and for "
        "numbers of the share of the copy's values between them."
    ),
    "membership": (
        "The row is closer to some row of the copy than is usual at its place, as only 1 of 100 of "
        "the copy's own rows are: its distance over the median distance to 16 parts of the copy."
    ),
    "linkability": (
        "The columns are dealt in turn to two attackers. One row of the copy is nearest to what "
        "each of them knows, so they can join it."
    ),
    "singling-out": (
        "The columns are dealt in turn into two halves. In one of them exactly one row of the copy "
        "has the values of the row, so they point to one person."
    ),
    "inference": (
        "The secret is guessed as it is in the row of the copy that is nearest to what is known of "
        "the person."
    ),
}
_TREES = (
    "The secret is guessed from what is known of the person, by boosted trees ({}) that learn from "
    "the copy alone."
)
# What to do about the generator, or the columns, if an attack gains from the private rows.
_LESS = "train the generator for fewer epochs or with less capacity"
_CURES = {
    "copied": _LESS,
    "near": _LESS,
    "membership": _LESS,
    "linkability": _LESS,
    "singling-out": "make rare values coarser",
    "inference": "make {} coarser or leave it out",
}
# Steps name no epsilon above this, no more held-out rows than so many times those of the report,
# and no larger tolerance.
_MUCH, _MANY, _WIDEST = 10, 10, 0.1
# Least share of a logarithmic scale, and its marks with their digits.
_LEAST, _MARKS = 5e-4, ((0.001, 1), (0.01, 0), (0.1, 0), (1.0, 0))


def document(report: RiskReport) -> Document:
    """Document of ``report``, which is measured or planned."""
    title, lead = _headline(report)
    answers = [report.replayed] if report.replayed else []
    dry = report.dry
    price = f"nothing spent; a run costs epsilon {epsilon_text(report.cost.epsilon)}"
    return Document(
        kind="risk",
        title=title,
        lead=lead,
        subject=_subject(report),
        spent=price if dry else spent_text(report.cost, answers, report.held_out_cost),
        opening=persons_lines(report.cost) if dry else [],
        banner=[
            Line(text, "warning")
            for text in (
                leak_warning(report),
                control_warning(report.below_zero),
                SIMULATED if report.simulated else "",
            )
            if text
        ],
        facts=[
            ("Private table", report.private),
            *([("Held-out table", report.held_out)] if report.held_out else []),
            ("Synthetic table", report.synthetic),
            ("Columns", f"{len(report.columns):,}"),
            *([("Secrets are guessed", _learner(report))] if _guesses(report) else []),
            *persons_facts(report.cost),
            *([("Tolerance", _tolerance(report))] if report.held_out or dry else []),
            ("Price" if dry else "Epsilon spent", spent_cell(report.cost)),
        ],
        meaning="" if dry else meaning_sentence(report.cost),
        body=list(_body(report)),
        omitted=omitted_columns(report.left_out),
        notes=lines(map(str, report.notes)),
        account=lines(_accounts(report, answers)),
        budget=None if dry else budget_bar(report.cost),
        cost=[] if dry else [Lines(lines(_cost_lines(report)))],
        reading=[Definitions(list(_definitions(report))), Lines(lines([SILENCE]))],
        closing=_closing(report),
        made=report.cost.day or "",
        replays="figures" if report.cost.ledger is not None and not dry else "",
        unknown="there is no attack {}; write it as in the table, such as copied",
    )


def _subject(report: RiskReport) -> str:
    attacks = counted(len(report.attacks), "attack")
    against = f" against {report.held_out}" if report.held_out else ""
    return f"{attacks} on {report.private} by {report.synthetic}{against}"


def _guesses(report: RiskReport) -> bool:
    """Whether secrets are guessed."""
    return any(each.column for each in report.attacks)


def _learner(report: RiskReport) -> str:
    return f"by boosted trees, {report.model}" if report.model else "by the nearest row of the copy"


def _meaning(report: RiskReport, kind: str) -> str:
    """Sentence on when an attack succeeds."""
    return _TREES.format(report.model) if kind == "inference" and report.model else _ATTACKS[kind]


def _tolerance(report: RiskReport) -> str:
    return f"{tolerance_points(report)} more than on held-out rows"


def _headline(report: RiskReport) -> tuple[str, str]:
    """Title, and the lead: how many attacks gain from the private rows, and what they gain."""
    number = counted(len(report.attacks), "attack")
    if report.dry:
        enough = len(_of(report, Standing.DECIDABLE))
        some = f"{enough} of" if enough else "None of"
        some = "All" if enough == len(report.attacks) > 1 else some
        at = f"at a tolerance of {tolerance_points(report)}"
        return f"{some} {number} can be decided {at}", _price(report)
    if not report.held_out:
        return (
            f"{number} tried, without held-out rows",
            f"{_tables(report)} {no_verdicts_sentence()}",
        )
    leaks = report.leaks
    gains = " ".join(_gain(report, each) for each in leaks[:1])
    if leaks:
        return WITHHOLD, f"{gains} {_counts(report)}"
    failed = [each for each in report.attacks if each.standing.fate == "failed"]
    if failed:
        title = f"{len(failed)} of {number} beyond the tolerance, each judged by itself"
        return title, f"{_gain(report, failed[0])} {_counts(report)} {SILENCE}"
    if report.below_zero:
        title = control_title(report.below_zero)
        return title, f"{_tables(report)} {_counts(report)} {SILENCE}"
    title = f"None of {number} is shown to gain from the private rows, judged all at once"
    return title, f"{_tables(report)} {_counts(report)} {SILENCE}"


def _tables(report: RiskReport) -> str:
    """Sentence on the sizes of the tables."""
    noun = rows_noun(report.cost)
    held = f", the held-out table {_about(report.held_out_rows)}" if report.held_out_rows else ""
    return (
        f"The private table has {_about(report.rows)} {noun}{held}, the copy "
        f"{report.copy_rows:,} rows."
    )


def _about(rows: Figure) -> str:
    low, high = number_text(math.floor(rows.low)), number_text(math.ceil(rows.high))
    return f"about {number_text(round(rows.value))} ({low} to {high})"


def _counts(report: RiskReport) -> str:
    """Sentence on the verdicts."""
    parts = [
        f"{standing}: {first_names(each.name for each in told)}"
        for standing in ATTACKS
        if (told := _of(report, standing))
    ]
    return f"At a tolerance of {tolerance_points(report)}, {'; '.join(parts)}."


def _of(report: RiskReport, *standings: Standing) -> list[AttackFacts]:
    return [each for each in report.attacks if each.standing in standings]


def _body(report: RiskReport) -> Iterator[Block]:
    table = _plan_table(report) if report.dry else _table(report)
    yield Section(title="Attacks", blocks=[table], brief=False)
    if report.model and _guesses(report):
        yield Lines(lines([f"Secrets are guessed {_learner(report)}."]))
    yield Lines(lines(plan_sentences(report) if report.dry else _sentences(report)))
    if step := risk_step(report):
        # A terminal shows the step in its last lines.
        yield Section(title="", blocks=[Lines(lines([f"Next: {step}."]))], brief=False, drop=2)
    yield from _curves(report)


def risk_sections(report: RiskReport) -> Iterator[Section]:
    """Sections on a risk report that is a part of another report."""
    title = "Does the copy give anybody away?"
    table = _plan_table(report) if report.dry else _table(report)
    if report.dry:
        own = [*plan_sentences(report), rows_sentence(report)]
    else:
        own = [*_sentences(report), SILENCE]
    yield Section(title=title, blocks=[table, Lines(lines([*own, _CHOICE]))])
    yield from _curves(report)


def _curves(report: RiskReport) -> Iterator[Section]:
    if report.roc:
        yield Section(title="Membership", blocks=[_roc(report)], drop=1)
    if report.curve:
        yield Section(title="Distance to the copy", blocks=[_curve(report)], drop=1)


def _sentences(report: RiskReport) -> Iterator[str]:
    """Sentences on what the table means."""
    if report.held_out:
        told = (e for e in report.attacks if e in report.leaks or e.standing.fate == "failed")
        yield from (_gain(report, each) for each in told)
        yield f"{CUSTOMARY} Each verdict errs in at most {_alpha(report)} of runs."
    else:
        yield no_verdicts_sentence()
    if report.copy_epsilon is not None:
        yield from declared_sentences(report, report.copy_epsilon)


def rows_sentence(report: RiskReport) -> str:
    """Sentence on the command that plans with the number of rows that the caller has.

    Only ``pqd risk`` takes this number: in the plan of another command it is the copy's.
    """
    epsilon = epsilon_option(report.total_epsilon)
    planned = option(f"pqd risk ... --total-epsilon {epsilon} --held-out-rows N --dry-run")
    return (
        f"A held-out table is mostly smaller: {planned} plans with the number of its "
        f"{rows_noun(report.cost)}, and says what would decide each attack."
    )


def plan_sentences(report: RiskReport) -> Iterator[str]:
    """Sentences on what a plan takes for granted."""
    noun = rows_noun(report.cost)
    own, others = (f"{round(e.value):,}" for e in (report.rows, report.held_out_rows) if e)
    yield (
        f"The plan is of {own} private and {others} held-out {noun} on which each attack succeeds "
        "as often as on the copy's own rows, so nobody is given away."
    )
    low = _of(report, Standing.TOO_LITTLE)
    hopeless = [e.name for e in low if e.outlook and e.outlook.needed_epsilon is None]
    if hopeless:
        yield (
            f"No epsilon decides {first_names(hopeless)} at this tolerance: the sampling error of "
            f"so few {noun} is too large."
        )
    if not report.held_out:
        yield f"Without {option('--held-out TABLE')} a run would have rates, and no verdicts."
    if report.copy_epsilon is not None:
        yield from declared_sentences(report, report.copy_epsilon)


def _price(report: RiskReport) -> str:
    """Sentence on what a planned run would spend."""
    prices = [f"{epsilon_text(report.cost.epsilon)} on the private table"]
    if report.held_out_cost:
        other = epsilon_text(report.held_out_cost.epsilon)
        prices.append(f"{other} on the held-out table, in an account of its own")
    return f"A run would spend epsilon {listed(prices)}; this one spent nothing."


def _plan_table(report: RiskReport) -> Table:
    """Table of what decides each attack, the least decidable first."""
    groups = [
        Group(
            name=standing,
            badge=standing.badge,
            rows=[_plan_row(report, each) for each in _of(report, standing)],
            fate=standing.fate,
            most=len(report.attacks),
        )
        for standing in PLANNED_ATTACKS
    ]
    columns = (
        Column("budget", "badge"),
        Column("attack", "name", fold=12),
        Column("decided from", "number", legend="decided from: the least tolerance, in points"),
        Column(
            "epsilon",
            "number",
            legend=f"epsilon, held-out {rows_noun(report.cost)}, alone: "
            "what decides this tolerance, each by itself",
        ),
        Column(f"held-out {rows_noun(report.cost)}", "number"),
        Column("alone"),
        Column("known to", "number", drop=2, legend="known to: the rate, to so many points"),
        Column("copy", "number", drop=1, legend="copy: its own rows, each left out in turn"),
    )
    return Table(columns=columns, groups=groups)


def _plan_row(report: RiskReport, attack: AttackFacts) -> Row:
    badge, told = attack.standing.badge, attack.outlook
    error = (attack.rate.high - attack.rate.low) / 2
    cells: list[Cell] = []
    if told:
        low, rows = attack.standing is Standing.TOO_LITTLE, told.needed_held_out_rows
        cells = [
            Cell(tau_text(told.tau_decided), told.tau_decided),
            Cell(_needed_text(told) if low else "", told.needed_epsilon or math.inf),
            Cell(("none" if rows is None else f"{rows:,}") if low else "", rows or math.inf),
            Cell(("yes" if told.alone else "no") if low else ""),
        ]
    return Row(
        id=attack.name,
        cells=(
            Cell(badge=badge, sort=PLANNED_ATTACKS.index(attack.standing)),
            Cell(attack.name),
            *cells,
            Cell(f"±{number_text(100 * error, 2)}", error),
            Cell(percent_text(attack.copy_rate, 1), attack.copy_rate),
        ),
        names=(badge.text,),
        aliases=(attack.id,) if not attack.column else (attack.column,),
        details=lambda: [Lines(lines(_details(report, attack), "detail"))],
    )


def _needed_text(told: AttackOutlook) -> str:
    return "none" if told.needed_epsilon is None else epsilon_text(told.needed_epsilon)


def _outlook(attack: AttackFacts) -> Iterator[str]:
    """Sentences on what decides one attack that is not decided."""
    told = attack.outlook
    if told is None or attack.standing is Standing.DECIDABLE:
        return
    ways = []
    if told.needed_epsilon is not None:
        ways.append(f"about epsilon {epsilon_text(told.needed_epsilon)}")
    if told.needed_held_out_rows is not None:
        ways.append(f"about {told.needed_held_out_rows:,} held-out rows")
    if told.alone:
        ways.append(f"a report of this attack alone ({option(f'--attacks {attack.id}')})")
    if told.tau_decided < 1:
        ways.append(f"a tolerance of {tau_text(told.tau_decided)} percentage points")
    yield f"What would decide it, each by itself: {'; '.join(ways) or 'nothing of this'}."


def risk_step(report: RiskReport, *, beside: bool = False) -> str:
    """What to do next; empty if there is nothing to do.

    ``beside``: the attacks are a part of another command's report, so each way names its own.
    """
    if report.dry:
        given = "" if report.held_out else f" with {option('--held-out TABLE')} and"
        again = [f"the same{given} without {option('--dry-run')}"]
        low = _of(report, Standing.TOO_LITTLE)
        # A run that decides nothing is no step.
        return "; ".join(
            [*_remedies(report, low), *(again if len(low) < len(report.attacks) else [])]
        )
    if not report.held_out:
        return f"{option('pqd risk ... --held-out TABLE')} gives verdicts"
    told = [e for e in report.attacks if e in report.leaks or e.standing.fate == "failed"]
    cures = list(dict.fromkeys(_CURES[each.id].format(each.column) for each in told))
    if cures:
        # If a leak is established, the title says so.
        ahead = "" if report.leaks else "do not hand the copy out; "
        return f"{ahead}{listed(cures)}, or train with differential privacy, and ask again"
    if report.below_zero:
        return CONTROL_STEP
    return "; ".join(_remedies(report, _of(report, Standing.UNDECIDED), beside=beside))


def _remedies(
    report: RiskReport, attacks: Sequence[AttackFacts], *, beside: bool = False
) -> Iterator[str]:
    """Clauses on what decides ``attacks``; each way is enough by itself."""
    total = f"--total-epsilon {epsilon_option(report.total_epsilon)}"
    command, same = ("pqd risk ... ", f"pqd risk ... {total} ") if beside else ("", "")
    whole = "all that is LOW" if report.dry else "all that is undecided"
    told = [(each, each.outlook) for each in attacks if each.outlook]

    def decided(names: Iterable[AttackFacts]) -> str:
        every = list(names)
        return whole if len(every) == len(attacks) > 1 else first_names(e.name for e in every)

    if alone := [each for each, outlook in told if outlook.alone]:
        one = option(f"{same}--attacks {alone[0].id}")
        kinds = {each.id for each in alone}
        way = f"{one} alone" if len(kinds) == 1 else f"a single kind of attack, such as {one},"
        yield f"{way} decides {decided(alone)} at the same epsilon"
    many = _MANY * (report.held_out_rows.value if report.held_out_rows else 0)
    if rows := {e: n for e, o in told if (n := o.needed_held_out_rows) and n <= many}:
        yield f"{max(rows.values()):,} held-out {rows_noun(report.cost)} decide {decided(rows)}"
    if paid := {e: x for e, o in told if (x := o.needed_epsilon) and x <= _MUCH}:
        more = option(f"{command}--total-epsilon {epsilon_text(max(paid.values()))}")
        yield f"{more} decides {decided(paid)}"
    if wide := {e: o.tau_decided for e, o in told if o.tau_decided <= _WIDEST}:
        tau = option(f"{same}--tau {tau_text(max(wide.values()))}%")
        free = report.cost.ledger is not None and not report.dry
        how = "is proven by the same numbers, for nothing, for" if free else "decides"
        yield f"{tau} {how} {decided(wide)}"


def declared_sentences(report: RiskReport, epsilon: Fraction) -> Iterator[str]:
    """Sentences on what the declared epsilon of the copy bounds."""
    told, most = (percent_text(excess_bound(epsilon / parts), 1) for parts in (2, 1))
    yield (
        f"The copy is declared to be made with epsilon {number_text(epsilon)}. Then no attack "
        f"tells with an advantage above {told} whether one person was in the private table, and no "
        f"excess is above {most} on average; the details of each attack have its own bound."
    )
    broken = [each.name for each in report.attacks if each.held_out and each.held_out.breaks_bound]
    if broken:
        yield (
            f"{first_names(broken)}: an excess beyond its own bound is established. Either the "
            "copy was not made with this epsilon, or the held-out rows are of another population."
        )


def _alpha(report: RiskReport) -> str:
    return f"{number_text(100 * report.alpha, 3)} %"


def _gain(report: RiskReport, attack: AttackFacts) -> str:
    """What an attacker gains, in one sentence."""
    return gain_sentence(attack, report.known, rows_noun(report.cost))


def _table(report: RiskReport) -> Table:
    """Table of the attacks, the worst first."""
    compared = report.held_out is not None
    ends = [each.held_out.excess for each in report.attacks if each.held_out]
    least, most = min((e.low for e in ends), default=0.0), max((e.high for e in ends), default=1.0)
    scale = (min(0.0, least), max(most, 0.0) or 1.0)
    groups = [
        Group(
            name=standing,
            badge=standing.badge if compared else NO_BADGE,
            rows=[_row(report, e, scale) for e in report.attacks if e.standing is standing],
            fate=standing.fate,
            most=len(report.attacks),
        )
        for standing in ATTACKS
    ]
    level = level_text(report.alpha)
    # Where room is short, the held-out rate goes first: it is the private rate less the excess.
    against = (
        Column("held out", "number", drop=3),
        Column("excess", "number"),
        Column(f"{level} interval", "number", below=True),
        Column("sure?"),
        Column("leak?", drop=1),
    )
    alone = (Column(f"{level} interval", "number"), Column("majority", "number"))
    columns = (
        *([Column("verdict", "badge")] if compared else []),
        Column("attack", "name", fold=12),
        *([Column("excess, in points", "picture", drop=PAGE)] if compared else []),
        Column("private", "number", drop=2 if compared else 0),
        *(against if compared else alone),
        Column("copy", "number", drop=4, legend="copy: its own rows, each left out in turn"),
    )
    keys = [
        Key([("dot", "")], f"excess over held-out rows and its {level} interval"),
        Key([("limit", "")], "tolerance"),
        Key([("fresh", "")], "no excess"),
    ]
    return Table(columns=columns, groups=groups, keys=keys if compared else ())


def _row(report: RiskReport, attack: AttackFacts, scale: tuple[float, float]) -> Row:
    badge, facts = attack.standing.badge, attack.held_out
    digits = max(1, digits_of(attack.rate))
    rate = Cell(percent_text(attack.rate.value, digits), attack.rate.value, strong=facts is None)
    copy = Cell(percent_text(attack.copy_rate, 1), attack.copy_rate)
    cells: tuple[Cell, ...]
    if facts is None:
        ends = interval_text(attack.rate.low, attack.rate.high, digits)
        often = "" if attack.majority is None else percent_text(attack.majority, 1)
        cells = (Cell(attack.name), rate, Cell(ends), Cell(often, attack.majority), copy)
    else:
        verdict = Cell(badge=badge, sort=ATTACKS.index(attack.standing))
        picture = _picture(report, facts, scale, badge.tone)
        cells = (verdict, Cell(attack.name), picture, rate, *_compared(report, facts), copy)
    return Row(
        id=attack.name,
        cells=cells,
        marks=("SIMULATED",) if report.simulated else (),
        names=(badge.text,),
        aliases=(attack.id,) if not attack.column else (attack.column,),
        details=lambda: [Lines(lines(_details(report, attack), "detail"))],
    )


def _picture(
    report: RiskReport, facts: ExcessFacts, scale: tuple[float, float], tone: Tone
) -> Cell:
    value, low, high = facts.excess
    label = f"excess {points_text(value, 2)}, between {points_text(low, 2)} and "
    label += f"{points_text(high, 2)} points, tolerance {spaced(report.tolerance)}"
    picture = Picture(scale, value, low, high, limit=facts.tau, mark=0.0, label=label)
    return Cell(picture=picture._replace(tone=tone), sort=value)


def _compared(report: RiskReport, facts: ExcessFacts) -> tuple[Cell, ...]:
    """Cells of the held-out rate, the excess, its interval, its verdict and the leak."""
    digits = max(1, digits_of(facts.excess))
    value, low, high = facts.excess
    ends = f"{points_text(low, digits)} to {points_text(high, digits)}"
    odds = p_value_text(facts.p_value, report.alpha)
    return (
        Cell(percent_text(facts.rate.value, max(1, digits_of(facts.rate))), facts.rate.value),
        Cell(points_text(value, digits), value, strong=True),
        Cell(ends, high - low),
        # A yes that does not count has no p-value beside it.
        Cell("" if facts.below_zero and facts.outcome == "yes" else odds, facts.p_value),
        Cell("yes" if facts.leaks else "?", facts.leak_p_value),
    )


def _details(report: RiskReport, attack: AttackFacts) -> Iterator[str]:
    """Sentences on one attack."""
    yield _meaning(report, attack.id)
    digits, level = max(1, digits_of(attack.rate)), level_text(report.alpha)
    ends = interval_text(attack.rate.low, attack.rate.high, digits)
    if report.dry:
        yield f"A run would know the rate to {ends} %, if it is as on the copy's own rows."
    else:
        yield (
            f"It succeeds on {percent_text(attack.rate.value, digits)} of the private rows, {ends} "
            f"% with probability {level}."
        )
    yield from _outlook(attack)
    if attack.held_out is not None:
        facts = attack.held_out
        yield _gain(report, attack)
        of = "of" if attack.standing is not Standing.UNDECIDED else "at a tolerance of"
        why = p_value_text(facts.p_value, report.alpha)
        if facts.below_zero and facts.outcome == "yes":
            why = "the held-out rows are no control"
        yield f"The excess is {attack.standing.words} {of} {tolerance_points(report)}: {why}."
        yield f"More than nothing: {p_value_text(facts.leak_p_value, report.alpha)}."
        if facts.bound is not None:
            yield (
                f"A copy made with the declared epsilon has an excess of at most "
                f"{points_text(facts.bound, 2)} points here, on average."
            )
    yield (
        f"On {report.tried:,} of the copy's own rows, {_left_out(report, attack)}: "
        f"{percent_text(attack.copy_rate, 1)}."
    )
    if attack.majority is not None:
        yield f"The most frequent value alone: {percent_text(attack.majority, 1)} of the copy."


def _left_out(report: RiskReport, attack: AttackFacts) -> str:
    if attack.column and report.model:
        return "each guessed by trees that learnt without the row"
    return "each left out in turn"


def _curve(report: RiskReport) -> Plot:
    """Shares of rows up to some distances from the copy: one curve for each table."""
    words, most = [], max(point.distance for point in report.curve) or 1.0
    for point in report.curve:
        text = f"up to {percent_text(point.distance, 1)}: private {rate_text(point.private)}"
        text += f", held out {rate_text(point.held_out)}" if point.held_out else ""
        words.append(f"{text}, the copy's own {percent_text(point.copy, 0)}")
    places = [point.distance / most for point in report.curve]
    tables = [("private rows", [point.private for point in report.curve])]
    if report.held_out:
        own = [point.held_out for point in report.curve if point.held_out]
        tables.append(("held-out rows", own))
    else:
        own = [Figure(point.copy, point.copy, point.copy) for point in report.curve]
        tables.append(("the copy's own rows", own))
    top = max(figure.high for _, figures in tables for figure in figures) or 1.0
    lines_ = [
        Trace(
            name,
            [
                (x, f.low / top, f.value / top, f.high / top)
                for x, f in zip(places, own, strict=True)
            ],
        )
        for name, own in tables
    ]
    return Plot(
        lines=lines_,
        titles=("distance to the nearest row of the copy", "share of the rows up to the distance"),
        across=[(share, percent_text(share * most, 1)) for share in (0.0, 0.5, 1.0)],
        up=[(share, percent_text(share * top, 0)) for share in (0.0, 0.5, 1.0)],
        label="; ".join(words),
        band=f"{level_text(report.alpha)} of the noise, at once",
        meaning="Each line says how many rows have a row of the copy within a distance. If the "
        f"line of the private rows lies above that of {tables[1][0]}, mostly at the left, the copy "
        "has come too near to the private rows.",
        words=lines(words, "detail"),
    )


def _roc(report: RiskReport) -> Plot:
    """Rate of true positives by the rate of false positives, on logarithmic scales.

    The band is the interval of the advantage, so it holds the noise and the sampling error of both
    tables.
    """
    words, points = [], []
    for point in report.roc:
        text = f"at {number_text(100 * point.copy, 3)} % of the copy's own rows: "
        text += f"{rate_text(point.private)} of the private rows are taken for members"
        other, gain = point.held_out, point.advantage
        if other and gain:
            digits = max(1, digits_of(gain))
            ends = f"{points_text(gain.low, digits)} to {points_text(gain.high, digits)}"
            text += f", {rate_text(other)} of held-out rows"
            text += f"; advantage {points_text(gain.value, digits)} points ({ends})"
            values = (other.value + gain.low, other.value + gain.value, other.value + gain.high)
            points.append((other.value, *values))
        else:
            points.append((point.copy, *point.private))
        words.append(text)
    against = "held-out rows" if report.held_out else "the copy's own rows"
    marks = [(_log(share), percent_text(share, digits)) for share, digits in _MARKS]
    traced = [(_log(x), _log(low), _log(value), _log(high)) for x, low, value, high in points]
    return Plot(
        lines=[Trace("attacker who sees the copy alone", traced)],
        titles=(
            f"{against} that are taken for members",
            "private rows that are taken for members",
        ),
        across=marks,
        up=marks,
        label="; ".join(words),
        band=f"{level_text(report.alpha)}, at all points at once",
        diagonal="an attacker who guesses at random",
        meaning="An attacker with the copy guesses who is in the private table. A line on the "
        "dotted line means that the copy does not help. The higher the line lies above it, the "
        "more private rows are found for the same share of wrong guesses.",
        words=lines(words, "detail"),
    )


def _log(share: float) -> float:
    """Place of a share on a logarithmic scale."""
    return max(0.0, math.log(max(share, _LEAST) / _LEAST) / -math.log(_LEAST))


def _accounts(report: RiskReport, answers: Sequence[bool]) -> Iterator[str]:
    yield from account_sentences(report.cost, report.private, answers, dry=report.dry)
    yield from held_out_sentences(report)


def held_out_account(report: RiskReport | None) -> Iterator[tuple[Cost, str]]:
    """Cost and name of the held-out table, if there is one."""
    if report is not None and report.held_out_cost and report.held_out:
        yield report.held_out_cost, report.held_out


def held_out_sentences(report: RiskReport) -> Iterator[str]:
    """Sentences on the account of the held-out table; none without one, or in a plan."""
    if report.held_out_cost and report.held_out and not report.dry:
        yield f"The held-out table has an account of its own: {spent_text(report.held_out_cost)}."
        if total := budget_sentence(report.held_out_cost, report.held_out):
            yield total


def _cost_lines(report: RiskReport) -> Iterator[str]:
    yield from cost_sentences(report.cost, f"{report.private}, attacked by {report.synthetic}")
    yield from held_out_cost_lines(report)
    if report.replayed:
        yield "All of this was paid for before."


def held_out_cost_lines(report: RiskReport) -> Iterator[str]:
    """Sentences on what the held-out table was charged; none without one."""
    if report.held_out_cost and report.held_out:
        yield from cost_sentences(report.held_out_cost, report.held_out, public=False)


def no_verdicts_sentence() -> str:
    """Sentence on what rates without held-out rows cannot tell."""
    return (
        "Without held-out rows nobody can tell learning from leaking: a good copy lets everybody "
        f"guess well, whoever is in the private table. Give {option('--held-out TABLE')}, rows of "
        "other persons that the generator never saw, for verdicts."
    )


def _closing(report: RiskReport) -> Closing:
    failed = [each.name for each in report.attacks if each.standing.fate == "failed"]
    gains = [each.name for each in report.leaks if each.name not in failed]
    title = Standing.TOO_LITTLE.badge.text if report.dry else "Beyond the tolerance"
    parts = [f"{title}: {first_names(failed)}."] if failed else []
    parts += [f"More than nothing: {first_names(gains)}."] if gains else []
    absent = absences_text(report.left_out)
    counts = _counts(report) if report.held_out and not report.dry else f"{_headline(report)[0]}."
    counts = f"{WITHHOLD}. {counts}" if report.leaks else counts
    return Closing(
        failed=" ".join(parts),
        counts=f"{counts} {absent}." if absent else counts,
        step=risk_step(report),
        budget=_price(report)
        if report.dry
        else budget_sentence(report.cost, report.private, *held_out_account(report)),
    )


def _definitions(report: RiskReport) -> Iterator[tuple[str, str]]:
    """Terms of the report, each with its meaning."""
    yield from risk_terms(report)
    yield (
        "What is promised",
        promise(report.total_epsilon, report.cost.delta, simulated=report.simulated),
    )


def risk_terms(report: RiskReport) -> Iterator[tuple[str, str]]:
    """Terms of attacks, each with its meaning."""
    for kind in dict.fromkeys(each.id for each in report.attacks):
        yield kind.replace("-", " ").capitalize(), _meaning(report, kind)
    if report.dry:
        most = f"nine runs of ten prove that the excess is at most {tolerance_points(report)}"
        yield "OK, LOW", f"Whether {most}, if there is none."
        yield "Held-out table", f"{CUSTOMARY} {_SAMPLING}"
    elif report.held_out:
        yield "Excess", _EXCESS
        most = f"Whether the excess is at most {tolerance_points(report)}."
        why = f"p is above {_alpha(report)}"
        if report.below_zero:
            why += ", or it would be a yes, which does not count: the held-out rows are no control"
        yield "yes, NO, ?", f"{most} ? is undecided: {why}."
        most = f"Whether the excess is surely above 0, by itself: p is at most {_alpha(report)}."
        yield "Leak", f"{most} ? is undecided."
