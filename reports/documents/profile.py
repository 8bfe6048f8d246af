"""Document of a profile: overall quality, marginals from the worst on, cells, and a target."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from pqd.deciders.options import option
from pqd.reports.blocks import (
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
    Row,
    Section,
    Table,
)  # fmt: skip
from pqd.reports.documents.cells import cell_blocks, column_histogram, hides_cells
from pqd.reports.documents.marginals import (
    marginal_rows,
    marginals_table,
    pair_heat,
    report_tolerance,
)
from pqd.reports.documents.risk import (
    held_out_account,
    held_out_cost_lines,
    held_out_sentences,
    risk_sections,
    risk_step,
    risk_terms,
)
from pqd.reports.documents.shared import (
    absences_text,
    budget_bar,
    budget_shares,
    first_names,
    lines,
    omitted_columns,
    on_page,
)  # fmt: skip
from pqd.reports.documents.target import target_blocks
from pqd.reports.documents.values import RARE, values_section
from pqd.reports.models.profile import DistanceFacts
from pqd.reports.models.standings import DISTANCES, Standing, passes_first
from pqd.reports.text.cost import (
    account_sentences,
    budget_sentence,
    cost_sentences,
    meaning_sentence,
    persons_facts,
    persons_lines,
    price_text,
    promise,
    rows_noun,
    spent_cell,
    spent_text,
    year_sentence,
)  # fmt: skip
from pqd.reports.text.distances import (
    ALARM,
    INDEPENDENT,
    INDEPENDENT_SAMPLE,
    INTERVAL,
    RELATIONS,
    SHORT,
    TERMS,
    TOTAL_VARIATION,
    USEFULNESS,
    alarm_sentence,
    budget_lines,
    cells_text,
    chance_text,
    columns_sentence,
    digits_of,
    fewer_cells,
    figure_text,
    level_text,
    names_text,
    reference_text,
    remedies,
    tolerance_text,
    ways_text,
)  # fmt: skip
from pqd.reports.text.numbers import (
    counted,
    epsilon_option,
    epsilon_text,
    interval_text,
    listed,
    number_text,
    p_value_text,
    percent_text,
    share_digits,
    spaced,
)
from pqd.reports.text.query import SIMULATED, weights_words
from pqd.reports.text.relations import (
    BETWEEN,
    RELATIONS_KEPT,
    independence_sentence,
    relations_plan,
    relations_remark,
    relations_sentence,
)  # fmt: skip
from pqd.reports.text.risk import (
    WITHHOLD,
    control_warning,
    given_away_sentence,
    leak_warning,
)
from pqd.reports.text.use import use_sentences

if TYPE_CHECKING:
    from pqd.reports.models.figure import Figure
    from pqd.reports.models.profile import (
        ProfileReport,
        Score,
    )
    from pqd.reports.models.relations import RelationsFacts
    from pqd.reports.models.risk import RiskReport

# Findings in the copy alone that stand on top, and where the others are.
_MOST_FINDINGS = 3
# Largest tolerance that is proposed to be doubled.
_WIDEST = 0.2
_LINTED = "This is said of the copy alone; pqd lint says all that can be said of it at no cost."
_EXACT = "These tools read the private table as it is; their figures are exact and not protected."
_ZOOMED = (
    "All cells of the worst marginals: how many of a hundred rows they hold, in the copy and in "
    "the private table. A difference is the private share less the copy's, in percentage points."
)
_DRAWN = (
    "How many of a hundred rows each cell holds: exactly in the copy, and with noise in the "
    "private table. All these intervals hold at once, and cost nothing more."
)
_HOLDER = "Whoever holds the private table can take the next step: "
_MEANINGS = {
    "tv": TOTAL_VARIATION,
    "ks": "For ordered columns: the largest gap between the shares of rows up to one value.",
    "emd": "For bounded columns: how far values must move on average, in per cent of the range.",
}
_VERDICT = "The verdict: whether the true distance is below"
_P_VALUE = "How often noise alone would give a verdict this clear if the opposite were true."
_CELLS = (
    "Of many cells noise alone makes some look wrong. Those that are shaded, bold or listed differ "
    "by more than noise makes any of them differ, with probability"
)


def document(report: ProfileReport) -> Document:
    """Document of ``report``, which is measured or planned."""
    (title, *advice), lead = headline(report)
    risk = report.risk
    held_out = risk.held_out if risk is not None else None
    notes = dict.fromkeys([*report.notes, *(risk.notes if risk is not None else ())])
    answers = [report.replayed] if report.replayed else []
    price = f"nothing spent; a run costs epsilon {price_text(report.cost, report.held_out_cost)}"
    accounts = [*account_sentences(report.cost, report.private, answers, dry=report.dry)]
    if risk is not None:
        accounts += held_out_sentences(risk)
    return Document(
        kind="profile",
        title=title.removesuffix("."),
        advice=" ".join(advice),
        lead=lead,
        subject=_subject(report),
        spent=price if report.dry else spent_text(report.cost, answers, report.held_out_cost),
        opening=persons_lines(report.cost) if report.dry else [],
        banner=_banner(report),
        facts=[
            *([("Private table", report.private)] if report.private else []),
            *([("Held-out table", held_out)] if held_out else []),
            ("Synthetic table", report.synthetic),
            ("Columns", f"{len(report.columns):,}"),
            *persons_facts(report.cost),
            ("Tolerance", spaced(report.tolerance)),
            ("Price" if report.dry else "Epsilon spent", spent_cell(report.cost)),
        ],
        meaning="" if report.dry else meaning_sentence(report.cost),
        body=list(_body(report)),
        omitted=omitted_columns(report.left_out),
        # The banner has the note of a copy whose columns are nearly independent.
        notes=lines(str(each) for each in notes if each.code != "nearly-independent"),
        account=lines(accounts),
        budget=None if report.dry else budget_bar(report.cost),
        cost=[Lines(lines(_cost_lines(report))), budget_shares(report.budget, _paid_lines(report))],
        reading=_reading(report),
        closing=_closing(report),
        made=report.cost.day or "",
        replays="figures" if report.cost.ledger is not None and not report.dry else "",
        unknown="there is no column or pair {}; write a pair as its columns, such as age,sex",
    )


def _banner(report: ProfileReport) -> list[Line]:
    """Warnings at the head of every format: no relations, a copy too near, and seeded noise."""
    risk = report.risk
    attacked = [] if risk is None else [leak_warning(risk), control_warning(risk.below_zero)]
    # The headline says that the copy must not be handed out.
    near = alarm_sentence(report.alarm, report.overall, advice="") if report.alarm else ""
    simulated = SIMULATED if report.simulated else ""
    apart = independence_sentence(report.relations.independence) if report.relations else ""
    return [Line(text, "warning") for text in (*attacked, apart, near, simulated) if text]


def _reading(report: ProfileReport) -> list[Block]:
    columns = [f"{column.name}: {cells_text(column)}" for column in report.columns]
    attacks = list(risk_terms(report.risk)) if report.risk is not None else []
    return [
        Definitions(list(_definitions(report))),
        Lines(
            [*lines(columns, "detail"), Line(columns_sentence(report.columns, report.cells_from))]
        ),
        *([Section(title="Attacks", blocks=[Definitions(attacks)])] if attacks else []),
        on_page(Lines([Line(_EXACT)]), Definitions(RELATIONS), title="The same figures elsewhere"),
    ]


def _subject(report: ProfileReport) -> str:
    sizes = Counter(len(columns) for columns in {each.columns for each in report.marginals})
    number = listed([f"{sizes[ways]:,} {ways_text(ways, sizes[ways])}" for ways in sorted(sizes)])
    tau = report_tolerance(report)
    return f"{number or 'nothing'} of {report.synthetic}, tolerance {tau}"


def _findings(report: ProfileReport) -> Iterator[Block]:
    """Yield the first findings in the copy alone."""
    if report.findings:
        found = [Line(each.note.sentence, "warning") for each in report.findings[:_MOST_FINDINGS]]
        yield Lines([*found, Line(_LINTED, "detail")])


def _body(report: ProfileReport) -> Iterator[Block]:
    yield from _findings(report)
    if report.marginals:
        yield Section(title="Quality", blocks=[_scores(report)], brief=False)
    yield from _marginal_sections(report)
    if not report.dry and report.marginals:
        told = (*at_once_sentences(report), *_table_sentences(report), _usefulness(report))
        yield Lines(lines(filter(None, told)))
    if report.risk is not None:
        yield from risk_sections(report.risk)
    if report.zoomed:
        yield on_page(Lines([Line(_ZOOMED)]), title="Where it is wrong")
    for marginal in report.zoomed:
        title = f"{names_text(marginal.columns)}: worst cells"
        yield Section(title=title, blocks=list(cell_blocks(report, marginal)), folded=True)
    if (target := report.target) is not None:
        title = f"Target {target.column}"
        yield Section(title=title, blocks=list(target_blocks(target)), folded=True)
    if step := next_step(report):
        # A terminal shows the step in its last lines.  Other formats also reach readers without
        # the private table, so the sentence there says who can take the step.
        sentence = Lines([Line(step.replace("Next: ", _HOLDER, 1))])
        yield Section(title="", blocks=[sentence], brief=False, drop=2)


def _usefulness(report: ProfileReport) -> str:
    """Sentence that a profile does not judge risk; empty if attacks were tried."""
    return USEFULNESS if report.risk is None else ""


def _marginal_sections(report: ProfileReport) -> Iterator[Section]:
    """Sections of the columns, of their values, of the pairs, and so on."""
    for ways in range(1, report.ways + 1):
        if ways == 2 and (heat := pair_heat(report)):
            yield Section(title="Pairs", blocks=[heat], brief=False)
        if rows := marginal_rows(report, ways):
            title = counted(len(rows), ways_text(ways, 1), ways_text(ways))
            yield Section(title=title, blocks=[marginals_table(report, rows, ways)])
        if ways == 1:
            yield from _drawn_columns(report)
            yield from values_section(report)


def _drawn_columns(report: ProfileReport) -> Iterator[Section]:
    """Section that draws the columns beyond the tolerance, but those that are zoomed into."""
    zoomed = {marginal.columns for marginal in report.zoomed}
    drawn = [
        Section(title=names_text(each.columns), blocks=blocks)
        for each in report.histograms
        if each.columns not in zoomed and (blocks := list(column_histogram(report, each)))
    ]
    if drawn:
        yield on_page(Lines([Line(_DRAWN)]), *drawn, title="Columns that are off")


def _scores(report: ProfileReport) -> Table:
    """Table of the scores and of the relations; a terminal shows sentences instead.

    Bars run from what shuffled columns would score to what an independent real sample would, where
    this is known: else from 0 to 100 %.
    """
    several = report.scores if len(report.scores) > 1 else ()
    words = lines(_plan_sentences(report)) if report.dry else list(_score_lines(report))
    width = _scored_width(report)
    rows = [_score(score, width) for score in (report.overall, *several)]
    facts = report.relations
    if facts and facts.estimate and (facts.is_known or facts.is_lost):
        rows.append(_relations_row(facts, facts.estimate))
    fresh = Key([("fresh", "")], INDEPENDENT)
    full = Key([("full", "")], "quality: 100 % minus the mean distance")
    span = Key([("span", "")], f"its {level_text(report.alpha)} interval")
    return Table(
        columns=(
            Column("marginals", "name"),
            Column("shuffled to sampled" if width else "0 to 100 %", "picture", drop=PAGE),
            *([] if report.dry else [Column("quality", "number")]),
            Column("chance", "number"),
        ),
        groups=[Group(rows=rows, fate="always")],
        words=[line for line in words if line.text],
        keys=[*([] if report.dry else [full, span]), fresh, *([Key([], BETWEEN)] if width else [])],
    )


def _score_lines(report: ProfileReport) -> Iterator[Line]:
    """Lines on the scores and on relations, which come first if they are lost."""
    if use := " ".join(use_sentences(report)):
        yield Line(use, "strong")
    overall, facts = Line(overall_sentence(report), "strong"), report.relations
    if facts is None:
        yield overall
    else:
        relations = Line(relations_sentence(facts), "strong")
        yield from (relations, overall) if facts.is_lost else (overall, relations)
    if absent := absences_text(report.left_out):
        yield Line(f"{absent}.", "strong")
    yield Line(_scores_sentence(report))
    if facts is not None and (remark := relations_remark(facts, report.columns)):
        yield Line(remark)


def _scored_width(report: ProfileReport) -> float | None:
    """Quality of pairs that shuffled columns lose, beyond what chance loses; None if not known."""
    facts = report.relations
    if facts is None or not facts.reference:
        return None
    there = facts.independence.mean if facts.relations is None else facts.relations.value
    return there * facts.reference


def _relations_row(facts: RelationsFacts, estimate: Figure) -> Row:
    """Row of the relations kept, beside the scores."""
    digits = min(1, digits_of(estimate))
    value, low, high = estimate
    text, ends = percent_text(value, digits), interval_text(low, high, digits)
    chance = chance_text(facts.reference, None, digits)
    scale = (0.0, facts.reference or 1.0)
    label = f"Relations kept: {text}, between {ends}; chance {chance}"
    picture = Picture(scale, value, low, high, mark=facts.reference, style="bar", label=label)
    kept = Cell(text, value, under=ends, strong=True)
    return Row(
        id="Relations kept",
        cells=(Cell("Relations kept"), Cell(picture=picture), kept, Cell(chance)),
    )


def _score(score: Score, width: float | None) -> Row:
    name = "Overall" if score.ways is None else ways_text(score.ways).capitalize()
    digits = digits_of(score.estimate)
    chance = chance_text(score.reference, score.chance, digits)
    scale = (0.0, 1.0) if width is None else (score.reference - width, score.reference)
    picture = Picture(scale, mark=score.reference, style="bar")
    if score.estimate is None:
        picture = picture._replace(label=f"{name}: {INDEPENDENT} would score {chance}")
        return Row(id=name, cells=(Cell(name), Cell(picture=picture), Cell(chance)))
    value, low, high = score.estimate
    text, ends = percent_text(value, digits), interval_text(low, high, digits)
    label = f"{name}: {text}, between {ends}; chance {chance}"
    picture = picture._replace(value=value, low=low, high=high, label=label)
    quality = Cell(text, value, under=ends, strong=True)
    return Row(id=name, cells=(Cell(name), Cell(picture=picture), quality, Cell(chance)))


def _closing(report: ProfileReport) -> Closing:
    failed = [
        each
        for each in report.marginals
        if (each.planned is Standing.TOO_LITTLE if report.dry else each.standing.fate == "failed")
    ]
    repeats = {} if report.dry else report.repeats
    failed.sort(key=lambda each: not each.is_fault)
    names = dict.fromkeys(names_text(e.columns) for e in failed if e.columns not in repeats)
    beyond = [e.columns for e in report.marginals if report.dry and e.is_out_of_reach]
    values = (each for each in report.values if each.standing.fate == "failed")
    leaks = [each.name for each in report.risk.leaks] if report.risk is not None else []
    names |= dict.fromkeys(f"values of {each.column}" for each in values)
    title = Standing.TOO_LITTLE.badge.text if report.dry else "Beyond the tolerance"
    dry = list(_cost_lines(report)) if report.dry else []
    # The ways out of a run that would be refused are a list.
    budget, ways = (dry[:1], dry[1:]) if report.shortfall else (dry, [])
    missing = [e.columns[0] for e in report.left_out if e.standing is Standing.MISSING]
    lacking = f"Missing in the copy: {first_names(missing)}." if missing else ""
    chance = dict.fromkeys(map(names_text, beyond))
    word = Standing.OUT_OF_REACH.badge.text
    return Closing(
        failed=" ".join(
            (
                *([f"Given away: {first_names(leaks)}."] if leaks else []),
                *([lacking] if lacking else []),
                *([f"{word}: {first_names(chance, '; ')}."] if chance else []),
                *([f"{title}: {first_names(names, '; ')}."] if names else []),
            )
        ),
        counts=" ".join(filter(None, [f"{_counts(report)}.", _given_away(report)])),
        step=next_step(report).removeprefix("Next: ").removesuffix("."),
        budget=" ".join(budget)
        or budget_sentence(report.cost, report.private, *held_out_account(report.risk)),
        ways=ways,
    )


def _given_away(report: ProfileReport) -> str:
    """Sentence on whether the copy may be handed out, as far as attacks and the alarm tell."""
    if report.withhold:
        return f"{WITHHOLD}."
    return "" if report.risk is None else given_away_sentence(report.risk)


def _counts(report: ProfileReport) -> str:
    """Numbers of verdicts on all distances; a marginal may have several distances."""
    counts = _plan_counts(report.marginals) if report.dry else _counts_text(report.marginals)
    number = len(report.marginals)
    several = number > len({each.columns for each in report.marginals})
    of = f"Of {number:,} distances{_kinds_text(report.marginals)}" if several else ""
    judged = "each judged by itself" if number > 1 and not report.dry else ""
    lead = ", ".join(filter(None, (of, judged)))
    return f"{lead[:1].upper()}{lead[1:]}: {counts}" if lead else counts


def _kinds_text(distances: Sequence[DistanceFacts]) -> str:
    """What the distances are of, such as `` (10 columns, 45 pairs, 5 KS)``; empty if all are TV."""
    ways = Counter(len(each.columns) for each in distances if each.distance == "tv")
    others = Counter(SHORT[each.distance] for each in distances if each.distance != "tv")
    columns = [counted(n, ways_text(k, 1), ways_text(k)) for k, n in sorted(ways.items())]
    kinds = (*columns, *(f"{number:,} {name}" for name, number in others.items()))
    return f" ({', '.join(kinds)})" if others else ""


def headline(report: ProfileReport) -> tuple[list[str], str]:
    """What to do with the copy, the title first; and a lead with the scores and the verdicts."""
    score, count = report.overall, len(report.marginals)
    if not count:
        return ["Nothing was profiled"], "There is nothing to tell."
    if score.estimate is None:
        enough = sum(each.planned is Standing.DECIDABLE for each in report.marginals)
        some = "All" if enough == count > 1 else f"{enough:,} of" if enough else "None of"
        title = f"{some} {counted(count, 'distance')} can be decided"
        return [title], " ".join(filter(None, _plan_sentences(report)))
    parts, facts = [overall_sentence(report)], report.relations
    if facts:
        parts.insert(0 if facts.is_lost else 1, relations_sentence(facts))
    absent = absences_text(report.left_out)
    parts += [_counts_sentence(report), f"{absent}." if absent else ""]
    return list(use_sentences(report)), " ".join(filter(None, parts))


def overall_sentence(report: ProfileReport) -> str:
    """Sentence on the overall quality, its interval, and the score of an independent sample."""
    score = report.overall
    if score.estimate is None:
        return ""
    return f"Overall quality {figure_text(score.estimate)}; {_chance_words(report)}."


def _chance_words(report: ProfileReport) -> str:
    """Words on the score of an independent real sample, and on which side of it the copy lies."""
    score, near = report.overall, report.alarm is not None and report.alarm.standing is not None
    text = reference_text(score.reference, digits_of(score.estimate))
    # If the copy is nearer than such a sample, the banner says so.
    side = "" if score.chance is None or near else f", so this is {score.chance}"
    return f"{INDEPENDENT} would score {text}{side}"


def _plan_sentences(report: ProfileReport) -> Iterator[str]:
    """Sentences on what a profile would tell, and what it would cost."""
    tau, synthetic = report_tolerance(report), report.synthetic
    yield f"Planned on {synthetic} at a tolerance of {tau}; nothing was measured or spent."
    width = number_text(100 * report.overall.half_width, 2)
    yield (
        f"A profile would cost epsilon {epsilon_text(report.cost.epsilon)}; the overall quality "
        f"would be known to about {width} percentage points, and {INDEPENDENT} would score "
        f"{reference_text(report.overall.reference, share_digits(report.overall.half_width))}."
    )
    yield from _relations_plan(report)
    yield _out_of_reach(report)


def _out_of_reach(report: ProfileReport) -> str:
    """Sentence on marginals of which chance alone is beyond the tolerance; empty without any."""
    found = [each for each in report.marginals if each.is_out_of_reach]
    if not found:
        return ""
    wide = [each for each in report.columns if any(each.name in own.columns for own in found)]
    least = math.ceil(100 * max(each.reference or 0.0 for each in found))
    verb = "is" if len(found) == 1 else "are"
    return (
        f"{counted(len(found), 'distance')} {verb} out of reach: {INDEPENDENT} would itself be "
        f"beyond {report_tolerance(report)} on average. What would do: "
        f"{option(f'--tau {least}%')}, or "
        f"{fewer_cells(wide)}, or a larger copy."
    )


def _relations_plan(report: ProfileReport) -> Iterator[str]:
    """Sentences of a plan on relations."""
    if report.relations is not None:
        yield relations_plan(report.relations)
        yield relations_remark(report.relations, report.columns)


def _scores_sentence(report: ProfileReport) -> str:
    """Sentence on the separate scores of columns, pairs and so on; empty if there is only one."""
    if report.dry or len(report.scores) < 2:
        return ""
    parts = (f"of {ways_text(each.ways or 0)} {_score_words(each)}" for each in report.scores)
    return f"{'; '.join(parts).capitalize()}."


def _score_words(score: Score) -> str:
    """Score with its interval, and the score of an independent real sample."""
    chance = chance_text(score.reference, score.chance, digits_of(score.estimate))
    return f"{figure_text(score.estimate)}, chance {chance}" if score.estimate else chance


def _counts_text(distances: Sequence[DistanceFacts]) -> str:
    """Numbers of distances by standing, such as ``80 within, 3 beyond, 12 undecided``."""
    counts = Counter(each.standing for each in distances)
    order = passes_first(DISTANCES)
    return ", ".join(f"{counts[each]:,} {each}" for each in order if counts[each]) or "none"


def _counts_sentence(report: ProfileReport) -> str:
    """Sentence on the verdicts of all distances."""
    number = counted(len(report.marginals), "distance") + _kinds_text(report.marginals)
    tau = report_tolerance(report)
    each = ", each judged by itself" if len(report.marginals) > 1 else ""
    return f"Of {number}{each}, at a tolerance of {tau}: {_counts_text(report.marginals)}."


def at_once_sentences(report: ProfileReport) -> Iterator[str]:
    """Sentences on what holds for all distances at once."""
    sure = [each for each in report.marginals if each.at_once]
    level = level_text(report.alpha)
    if report.p_value_all_within is not None and report.p_value_all_within <= report.alpha:
        p_value = p_value_text(report.p_value_all_within, report.alpha)
        yield f"It is established that every distance is within the tolerance ({p_value})."
    elif len(report.marginals) > 1:
        yield f"These hold all together, with probability {level}: {_counts_text(sure)}."


def _table_sentences(report: ProfileReport) -> Iterator[str]:
    """Sentences on the number of private rows, and on those with a value that the copy lacks."""
    if report.unseen is not None:
        share = figure_text(report.unseen)
        never = report.cells_from or "the copy"
        yield f"Private rows with a value that {never} never has: {share}."
    if report.rows is not None:
        rows, least, most = report.rows
        value, low, high = map(number_text, (round(rows), math.floor(least), math.ceil(most)))
        copy = number_text(report.copy_rows)
        noun = rows_noun(report.cost)
        each = f": {weights_words(report.cost.max_rows)}" if report.cost.max_rows else ""
        yield (
            f"The private table has about {value} {noun} ({low} to {high}), the copy {copy}{each}."
        )
        if round(report.rows[1]) <= 0:
            yield "It may have no row at all, as far as this budget tells: is it the right file?"


def _plan_counts(distances: Sequence[DistanceFacts]) -> str:
    """Numbers of distances that can, and that cannot, be decided at the tolerance."""
    counts = Counter(each.planned for each in distances)
    text = f"{counts[Standing.DECIDABLE]:,} can be decided, {counts[Standing.TOO_LITTLE]:,} cannot"
    beyond = counts[Standing.OUT_OF_REACH]
    return f"{text}, {beyond:,} {'is' if beyond == 1 else 'are'} out of reach" if beyond else text


def _paid_lines(report: ProfileReport) -> Iterator[str]:
    """Lines on what each part of the budget pays for."""
    rows = float(report.copy_rows) if report.rows is None else report.rows.value
    named, count = {}, len(report.marginals)
    if any(part.numbers == count + 1 for part in report.budget):
        # The release holds one number more than there are distances: the share of unseen values.
        both = f"{counted(count, 'distance')} and the share of unseen values"
        named["distances"] = both
    if report.zoomed:
        named["cells"] = f"the cells of {counted(len(report.zoomed), 'marginal')}"
    if report.target is not None:
        named["target"] = f"the confusion matrix of {report.target.column}"
    return budget_lines(report.budget, rows, named)


def _cost_lines(report: ProfileReport) -> Iterator[str]:
    """Sentences on what the run spent, or on what a planned run would spend."""
    if not report.dry:
        tables = f"{report.private}, compared with {report.synthetic}"
        yield from cost_sentences(report.cost, tables)
        if report.risk is not None:
            yield from held_out_cost_lines(report.risk)
        if report.replayed:
            yield "All of this was paid for before."
        return
    if report.shortfall:
        yield "A run would be refused, and spend nothing."
        yield from remedies(report.shortfall)
        return
    price = price_text(report.cost, report.held_out_cost)
    yield f"A run would spend epsilon {price}; this one spent nothing."
    yield from filter(None, [year_sentence(report.cost.epsilon)])


def next_step(report: ProfileReport) -> str:
    """Sentence on what to do next; empty if there is nothing to do."""
    if report.shortfall:
        # The lines on the cost say what would do.
        return ""
    if report.dry:
        return f"Next: the same without {option('--dry-run')}." if report.private else (
            "Next: pqd profile PRIVATE COPY measures this."
        )  # fmt: skip
    if report.withhold:
        return f"Next: {_withheld_step(report.risk)}."
    attacks, failed = _attacks_step(report.risk)
    others = [] if failed else [_zoom_step(report), _wider_step(report)]
    if steps := "; ".join(filter(None, [attacks, *others])):
        return f"Next: {steps}."
    if any(each.standing.is_open for each in report.marginals):
        total, tau = option("--total-epsilon"), option("--tau")
        return f"Next: more {total}, or another {tau}, decides what is undecided."
    return ""


def _withheld_step(risk: RiskReport | None) -> str:
    """Words on what to do with a copy that must not be handed out."""
    ask = "ask its maker whether real rows are in it"
    if risk is None:
        return f"{ask}, or let pqd risk with {option('--held-out TABLE')} look for them"
    return risk_step(risk) if risk.leaks else ask


def _attacks_step(risk: RiskReport | None) -> tuple[str, bool]:
    """Words on what decides the attacks, or what to do about them; and whether one failed."""
    if risk is None or not (step := risk_step(risk, beside=True)):
        return "", False
    return step, any(each.standing.fate == "failed" for each in risk.attacks)


def _zoom_step(report: ProfileReport) -> str:
    """Words on a zoom into the worst faults; empty if there is none that it would show."""
    if report.zoomed:
        return ""
    # A run with --zoom spends a fifth of its total on cells.  The other four fifths must equal
    # what this run spent on distances: all of its total, or nine tenths if it had a target.
    attacks = sum(part.epsilon for part in report.budget if part.part == "attacks")
    total = report.total_epsilon - attacks
    measured = total * (1 if report.target is None else Fraction(9, 10))
    repeats = report.repeats
    faults = [e for e in report.marginals if e.is_fault and e.columns not in repeats]
    for number in range(min(5, len(faults)), 0, -1):
        shown = sum(not hides_cells(report, each, measured / 4 / number) for each in faults)
        if shown >= number:
            more, step = epsilon_option(measured * Fraction(5, 4)), epsilon_text(measured / 4)
            without = "" if report.target is None else f" without {option('--target')}"
            again = option(f"pqd profile ... --total-epsilon {more} --zoom {number}")
            return f"{again} shows in which cells the worst differ,{without} for {step} more"
    return ""


def _wider_step(report: ProfileReport) -> str:
    """Words on a wider tolerance, if some distance is beyond this one and no fault is shown."""
    if report.cost.ledger is None or not any(
        each.standing is Standing.BEYOND and not each.is_fault and each.tau <= _WIDEST
        for each in report.marginals
    ):
        return ""
    twice = tolerance_text(2 * report.marginals[0].tau).replace(" ", "")
    wider = option(f"pqd profile ... --tau {twice}")
    return f"{wider} is worked out from the same numbers, for nothing"


def _definitions(report: ProfileReport) -> Iterator[tuple[str, str]]:
    """Terms of a profile, each with its meaning."""
    level, alpha = level_text(report.alpha), number_text(100 * report.alpha, 3)
    for distance in dict.fromkeys(each.distance for each in report.marginals):
        yield TERMS[distance], _MEANINGS[distance]
    kinds = [f"all {ways_text(each.ways or 0)}" for each in report.scores]
    alike = ", each kind counting alike" if len(kinds) > 1 else ""
    yield (
        "Overall quality",
        f"100 % minus the mean of the total variations of {listed(kinds)}{alike}.",
    )
    if report.relations is not None:
        yield "Relations kept", RELATIONS_KEPT
    yield "Chance", INDEPENDENT_SAMPLE
    if report.dry:
        least = (
            "The effectiveness threshold: the least tolerance at which a distance of 0 and one of "
            f"twice the tolerance are told apart, wrong at most {alpha} % of the time. To be "
            "decided in nine runs of ten takes more."
        )
        yield "Reliable from", least
        return
    tau = report_tolerance(report)
    if report.values:
        yield "Rare and lost values", RARE
    yield "yes, NO, ?", f"{_VERDICT} {tau}. ? is undecided: p is above {alpha} %."
    yield "p", f"{_P_VALUE} Small is sure."
    yield (
        "Interval",
        f"{INTERVAL} {level}: of all columns and pairs at once, of each score by itself.",
    )
    yield "Alarm", " ".join(filter(None, [ALARM, _usefulness(report)]))
    if report.zoomed:
        yield "Worst cells", f"{_CELLS} {level} for each marginal. The JSON report has all cells."
    yield "At once", f"What holds together, with probability {level} for all of it (Bonferroni)."
    yield (
        "What is promised",
        promise(report.total_epsilon, report.cost.delta, simulated=report.simulated),
    )
