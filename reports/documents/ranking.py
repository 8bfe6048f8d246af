"""Document of a ranking: a row per copy, best first, then proven differences and marginals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from statistics import median
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
)
from pqd.reports.documents.risk import (
    held_out_account,
    held_out_cost_lines,
    held_out_sentences,
)
from pqd.reports.documents.risks import risks_advice, risks_sections, risks_step, risks_terms
from pqd.reports.documents.shared import (
    absences_text,
    budget_bar,
    budget_shares,
    lines,
    omitted_columns,
    rank_text,
    undecided_title,
)
from pqd.reports.models.standings import Standing
from pqd.reports.text.cost import (
    account_sentences,
    budget_sentence,
    cost_sentences,
    meaning_sentence,
    persons_facts,
    persons_lines,
    price_text,
    promise,
    spent_cell,
    spent_text,
)
from pqd.reports.text.distances import (
    ALARM,
    INDEPENDENT,
    INDEPENDENT_SAMPLE,
    INTERVAL,
    RELATIONS,
    TOTAL_VARIATION,
    USEFULNESS,
    alarm_sentence,
    budget_lines,
    chance_text,
    columns_sentence,
    digits_of,
    figure_text,
    level_text,
    names_text,
    reference_text,
    ways_text,
)
from pqd.reports.text.numbers import counted, interval_text, listed, number_text, percent_text
from pqd.reports.text.query import SIMULATED
from pqd.reports.text.relations import (
    RELATIONS_KEPT,
    bar_text,
    independence_sentence,
    kept_text,
    relations_remark,
    relations_sentence,
)
from pqd.reports.text.risk import control_warning, leak_warning

if TYPE_CHECKING:
    from pqd.reports.models.profile import ProfiledColumn
    from pqd.reports.models.ranking import RankedCopy, RankedMarginal, RankingReport
    from pqd.reports.models.relations import RelationsFacts

_MEASURE = (
    "Each copy is measured in cells of its own, as in pqd profile, so a copy has the same quality "
    "whatever it is compared with; a difference is that of two such qualities. {0} and "
    "{1} give all copies one measure."
)
_CHANCE = "chance: what an independent real sample of that copy's size would score"
# Largest number of listed marginals of several columns, unless a reader asks for all.
_WORST = 10
# Shares of the largest distance at which the next shade begins.
_STEPS = (0.1, 0.25, 0.5, 0.75)


def document(report: RankingReport) -> Document:
    """Document of ``report``."""
    title, lead = _headline(report)
    answers = [report.replayed] if report.replayed else []
    attacks = [*risks_terms(report).items()]
    advice, risk = risks_advice(report), next(iter(report.risks.values()), None)
    accounts = [*account_sentences(report.cost, report.private, answers, dry=report.dry)]
    price = f"nothing spent; a run costs epsilon {_price(report)}"
    if risk is not None:
        # The held-out table is one, and so is its cost.
        accounts += held_out_sentences(risk)
    return Document(
        kind="compare",
        title=title,
        advice=advice,
        lead=lead,
        subject=f"Overall quality: {_marginals_text(report)}",
        spent=price if report.dry else spent_text(report.cost, answers, report.held_out_cost),
        opening=[Line(_CHANCE, "detail"), *persons_lines(report.cost)],
        banner=_banner(report),
        facts=[
            ("Private table", report.private),
            *([("Held-out table", risk.held_out)] if risk is not None and risk.held_out else []),
            ("Copies", str(len(report.copies))),
            ("Columns", f"{len(report.columns):,}"),
            *persons_facts(report.cost),
            ("Marginals", ", ".join(ways_text(ways) for ways in range(1, report.ways + 1))),
            ("Price" if report.dry else "Epsilon spent", spent_cell(report.cost)),
        ],
        meaning="" if report.dry else meaning_sentence(report.cost),
        body=list(_body(report)),
        omitted=omitted_columns(report.left_out),
        # The banner has the notes of copies whose columns are nearly independent.
        notes=lines(_notes(report)),
        account=lines(accounts),
        budget=None if report.dry else budget_bar(report.cost),
        cost=[Lines(lines(_cost_lines(report))), budget_shares(report.budget, _paid_lines(report))],
        reading=[
            Definitions(list(_definitions(report))),
            Lines([Line(columns_sentence(_cells(report), report.cells_from))]),
            *([Section(title="Attacks", blocks=[Definitions(attacks)])] if attacks else []),
            Section(title="The same figures elsewhere", blocks=[Definitions(RELATIONS)]),
        ],
        closing=Closing(
            counts=" ".join(filter(None, [f"{title}.", advice])),
            step=_step(report),
            budget=lead
            if report.dry
            else budget_sentence(report.cost, report.private, *held_out_account(risk)),
        ),
        made=report.cost.day or "",
        replays="figures" if report.cost.ledger is not None and not report.dry else "",
        unknown=f"a ranking has no query {{}} to explain; {option('--marginals')} shows which "
        "columns differ",
    )


def _banner(report: RankingReport) -> list[Line]:
    """Warnings at the head of every format: no relations, copies too near, and seeded noise."""
    apart = [
        independence_sentence(copy.relations.independence, copy.candidate)
        for copy in report.copies
        if copy.relations
    ]
    near = [alarm_sentence(c.alarm, c.overall, c.candidate) for c in report.copies if c.alarm]
    leaks = [
        f"{told} Do not hand it out."
        for name, risk in report.risks.items()
        if (told := leak_warning(risk, name))
    ]
    controls = [
        f"{name}: {control_warning(risk.below_zero)}"
        for name, risk in report.risks.items()
        if risk.below_zero
    ]
    simulated = SIMULATED if report.simulated else ""
    return [Line(text, "warning") for text in (*leaks, *controls, *apart, *near, simulated) if text]


def _price(report: RankingReport) -> str:
    return price_text(report.cost, report.held_out_cost)


def _step(report: RankingReport) -> str:
    if report.dry:
        return f"the same without {option('--dry-run')}"
    shown = "" if report.marginals else f"{option('--marginals')} shows which columns differ"
    return risks_step(report) or shown


def _notes(report: RankingReport) -> Iterator[str]:
    """Notes on all copies, then those on the attacks on one copy alone.

    The banner has the notes of copies whose columns are nearly independent.
    """
    known = {each.code for each in report.notes} | {"nearly-independent"}
    yield from (str(each) for each in report.notes if each.code != "nearly-independent")
    for name, risk in report.risks.items():
        yield from (f"{name}: {each}" for each in risk.notes if each.code not in known)


def _definitions(report: RankingReport) -> Iterator[tuple[str, str]]:
    """Terms of a ranking, each with its meaning."""
    level = level_text(report.alpha)
    over = listed([f"all {ways_text(ways)}" for ways in range(1, report.ways + 1)])
    alike = ", each kind counting alike" if report.ways > 1 else ""
    yield (
        "Quality",
        (
            f"100 % minus the mean of the total variations of {over}{alike}. "
            f"{_MEASURE.format(option('--cells'), option('--cells-from'))}"
        ),
    )
    yield "Total variation", TOTAL_VARIATION
    if any(copy.relations for copy in report.copies):
        held = f"The intervals of all copies hold at once with probability {level}, and so do the"
        yield "Relations kept", f"{RELATIONS_KEPT} {held} verdicts."
    yield "Chance", INDEPENDENT_SAMPLE
    yield "Alarm", ALARM if report.risks else f"{ALARM} {USEFULNESS}"
    at_once = ", those of columns and pairs all at once" if report.marginals else ""
    yield "Interval", f"{INTERVAL} {level}: each copy's by itself{at_once}."
    yield (
        "Rank, better",
        f"What is established for all pairs of copies at once, with probability {level} (Holm).",
    )
    epsilon = sum((part.epsilon for part in report.budget), Fraction(0))
    yield "What is promised", promise(epsilon, report.cost.delta, simulated=report.simulated)


def _body(report: RankingReport) -> Iterator[Block]:
    scores = [f"{copy.candidate}: {text}" for copy in report.copies if (text := _scores_text(copy))]
    kept = [*_relations_sentences(report)]
    lost = [*flaw_sentences(report), *(text for text, copy in kept if copy.is_lost)]
    others = [text for text, copy in kept if not copy.is_lost]
    sentences = [
        *lines(lost, "warning"),
        *lines([*_better_sentences(report), *others, *scores]),
    ]
    board = _plan_board(report) if report.dry else _board(report)
    yield Section(title="Copies", blocks=[board, Lines(sentences)], brief=False)
    yield from risks_sections(report)
    for ways in sorted({len(each.columns) for each in report.marginals}):
        rows = [each for each in report.marginals if len(each.columns) == ways]
        number = counted(len(rows), ways_text(ways, 1), ways_text(ways))
        title = f"{number}, total variation from each copy"
        yield Section(title=title, blocks=[_marginals(report, rows, ways)], folded=True)
    useful = USEFULNESS if not report.risks else ""
    yield Lines(lines((_noise_sentence(report), useful)))


def _board(report: RankingReport) -> Table:
    digits = digits_of(*(copy.overall.estimate for copy in report.copies))
    lowest = min((copy.overall.low or 0.0 for copy in report.copies), default=0.0)
    scale = max(0.0, int(100 * lowest - 1) / 100), 1.0
    marks = ("SIMULATED",) if report.simulated else ()
    rows = [_copy(copy, digits, scale, marks) for copy in report.copies]
    if judged := any(copy.relations for copy in report.copies):
        cells = map(_relations_cell, report.copies)
        rows = [
            replace(row, cells=(*row.cells, cell)) for row, cell in zip(rows, cells, strict=True)
        ]
    level = f"{level_text(report.alpha)} interval"
    return Table(
        columns=(
            Column("rank"),
            Column("copy", "name", fold=14),
            Column(f"{percent_text(scale[0], 0)} to 100 %", "picture", drop=PAGE),
            Column("quality", "number"),
            Column(level, "number", drop=2, below=True),
            Column("chance", "number", drop=1),
            *([Column("relations kept", "number")] if judged else []),
        ),
        groups=[Group(rows=rows, fate="always", most=len(rows))],
        keys=[
            Key([("dot", "")], f"quality and its {level}"),
            Key([("fresh", "")], INDEPENDENT),
        ],
        empty="Nothing was compared.",
    )


def _plan_board(report: RankingReport) -> Table:
    """Table of how sure the quality of each copy will be."""
    rows = [
        Row(
            id=copy.candidate,
            cells=(
                Cell(copy.candidate, under=copy.file, strong=True),
                Cell(
                    f"\u00b1{number_text(100 * copy.overall.half_width, 2)}",
                    copy.overall.half_width,
                ),
                Cell(_chance_text(copy), copy.overall.reference),
            ),
        )
        for copy in report.copies
    ]
    known = "known to: the quality, to so many points"
    return Table(
        columns=(
            Column("copy", "name", fold=14),
            Column("known to", "number", legend=known),
            Column("chance", "number"),
        ),
        groups=[Group(rows=rows, fate="always", most=len(rows))],
    )


def _copy(copy: RankedCopy, digits: int, scale: tuple[float, float], marks: tuple[str, ...]) -> Row:
    value, low, high = copy.overall.estimate or (0.0, 0.0, 1.0)
    text, ends = percent_text(value, digits), interval_text(low, high, digits)
    chance = _chance_text(copy)
    label = f"{text}, between {ends}; chance {chance}"
    picture = Picture(scale, value, low, high, None, copy.overall.reference, label=label)
    cells = (
        Cell(rank_text(copy), copy.best_rank),
        Cell(copy.candidate, under=copy.file, strong=True),
        Cell(sort=value, picture=picture),
        Cell(text, value, strong=True),
        Cell(ends, high - low),
        Cell(chance, copy.overall.reference),
    )
    return Row(id=copy.candidate, cells=cells, marks=marks)


def _relations_cell(copy: RankedCopy) -> Cell:
    """Share of the relations that is kept, or in a word why there is no figure."""
    if copy.relations is None:
        return Cell("no pairs")
    if (estimate := copy.relations.estimate) is None:
        return Cell(kept_text(copy.relations))
    ends = interval_text(estimate.low, estimate.high, min(1, digits_of(estimate)))
    return Cell(kept_text(copy.relations), estimate.value, under=ends, strong=True)


def _relations_sentences(report: RankingReport) -> Iterator[tuple[str, RelationsFacts]]:
    """Sentence on the relations of each copy, with the facts; what would do stands there once."""
    epsilon = float(sum(part.epsilon for part in report.budget if part.part != "attacks"))
    remark = ""
    for copy in report.copies:
        if copy.relations and (text := relations_sentence(copy.relations, ranked_for=epsilon)):
            said, remark = remark, remark or relations_remark(copy.relations, copy.columns)
            parts = (text, "" if said else remark)
            yield f"{copy.candidate}: {' '.join(filter(None, parts))}", copy.relations


def _marginals(report: RankingReport, rows: Sequence[RankedMarginal], ways: int) -> Table:
    names = (Column(copy.candidate, "number", foreign=True) for copy in report.copies)
    most = None if ways == 1 else _WORST
    largest = max(each.worst for each in report.marginals)
    return Table(
        columns=(Column(ways_text(ways, 1), "name", fold=14), *names),
        groups=[Group(rows=[_marginal(each, report, largest) for each in rows], most=most)],
        find="name of a column" if ways == report.ways else "",
        between="; ",
    )


def _marginal(each: RankedMarginal, report: RankingReport, largest: float) -> Row:
    """Row of a marginal; a distance that is a larger share of ``largest`` has a stronger shade."""
    digits, name = digits_of(*each.estimates), names_text(each.columns)
    cells = [
        Cell()
        if figure is None
        else Cell(
            percent_text(figure.value, digits),
            figure.value,
            shade=f"t{sum(figure.value >= share * largest for share in _STEPS if largest)}",
            hint=f"{name}, {copy.candidate}: {figure_text(figure, digits)}",
        )
        for copy, figure in zip(report.copies, each.estimates, strict=True)
    ]
    return Row(id=name, cells=(Cell(name), *cells))


def _headline(report: RankingReport) -> tuple[str, str]:
    """Title and lead: which copy is the best, and how sure this result is."""
    if report.dry:
        number = counted(len(report.copies), "copy", "copies")
        title = f"A ranking of {number} would cost epsilon {_price(report)}"
        return title, "Nothing was measured or spent."
    if not report.copies:
        return "Nothing was compared", "There is nothing to tell."
    first, others = report.copies[0], report.copies[1:]
    near = [copy.candidate for copy in others if copy.is_too_near]
    honest = [copy.candidate for copy in others if copy.candidate not in near]
    rivals = [name for name in honest if (first.candidate, name) not in report.better]
    name, lead = first.candidate, _copy_sentence(first)
    if not others:
        quality = percent_text(first.overall.value or 0.0, digits_of(first.overall.estimate))
        title = f"Overall quality of {name}: {quality}{_doubts(report, [first])}"
        if first.is_too_near:
            title = f"{name} is too near to be called good{_doubts(report, [first])}"
    elif first.is_too_near:
        title = f"{name} has the highest quality, but is too near to be called the best"
        title += _doubts(report, [first])
        lead += " It seems to repeat rows of the private table."
    elif rivals:
        title = undecided_title([first.candidate, *rivals])
        title += _doubts(report, [first, *(copy for copy in others if copy.candidate in rivals)])
        lead += f" It cannot be told apart from {listed(rivals)} at this epsilon."
    elif honest and _is_doubted(report, first):
        number = counted(1 + len(honest), "copy", "copies")
        title = f"{name} has the highest quality of {number}{_doubts(report, [first])}"
        lead += f" Its quality is higher than that of each of the others{_doubts(report, [first])}."
    elif honest:
        title = f"{name} is the best of {counted(1 + len(honest), 'copy', 'copies')}"
        title += _doubts(report, [first])
        lead += " It is established that it is better than each of the others."
    else:
        title = f"{name} is the only copy that is not too near{_doubts(report, [first])}"
    title += _without_pairs(first)
    absent = absences_text(report.left_out).replace("the copy", "every copy")
    more = [*flaw_sentences(report), *([f"{absent}."] if absent else [])]
    lead = " ".join([lead, *more, *_kept_sentences(report.copies, near)])
    if near:
        lead += f" Too near to be called the best: {listed(near)}."
    return title, lead


def _without_pairs(copy: RankedCopy) -> str:
    """End of a title if nothing was asked of the copy's relations; empty otherwise."""
    unseen = copy.relations is None and len(copy.columns) > 1
    return "; relations between columns are not judged" if unseen else ""


def _is_doubted(report: RankingReport, copy: RankedCopy) -> bool:
    """True if a copy leaks, attacks gain more than the tolerance, or relations may be lost."""
    unsafe = copy.candidate in {*report.leaking, *report.beyond}
    return unsafe or (copy.relations is not None and copy.relations.may_be_lost)


def _doubts(report: RankingReport, copies: Sequence[RankedCopy]) -> str:
    """End of a sentence that calls ``copies`` good: who leaks, whose relations are lost or unknown.

    Empty if no attack is shown to gain, and all keep their relations, or have none to keep.
    """
    beyond = [copy.candidate for copy in copies if copy.candidate in report.beyond]
    leaking = [copy.candidate for copy in copies if copy.candidate in report.leaking]
    known = [(copy.candidate, copy.relations) for copy in copies if copy.relations]
    lost = [name for name, facts in known if facts.is_lost]
    near = [name for name, facts in known if not facts.is_lost and facts.may_be_lost]
    if len(copies) > 1:
        words = [f"private rows are given away by {listed(leaking)}"] if leaking else []
        words += [f"attacks on {listed(beyond)} gain more than the tolerance"] if beyond else []
        words += [f"relations are NOT kept by {listed(lost)}"] if lost else []
        words += [f"columns of {listed(near)} are nearly independent"] if near else []
    else:
        words = ["it gives private rows away"] if leaking else []
        words += ["an attack on it gains more than the tolerance"] if beyond else []
        if lost or near:
            words.append(
                "its relations are NOT kept" if lost else "its columns are nearly independent"
            )
        elif any(facts.is_undecided for _, facts in known):
            words.append("whether its relations are kept is undecided")
    return "".join(f"; {each}" for each in words)


def _kept_sentences(copies: Sequence[RankedCopy], near: Sequence[str]) -> Iterator[str]:
    """Sentence on the best copy that keeps its relations, if another copy has lost them."""
    known = [(copy.candidate, copy.relations) for copy in copies if copy.relations]
    bars = [bar_text(facts.bar) for _, facts in known if facts.is_lost]
    if not bars or len(copies) < 2:
        return
    kept = [name for name, facts in known if facts.is_kept and name not in near]
    if not kept:
        yield f"No copy is established to keep more than {bars[0]} of the relations."
    else:
        keep = f"established to keep more than {bars[0]} of the relations"
        if len(kept) == 1:
            yield f"{kept[0]} is the only copy {keep}."
        else:
            yield f"Of the {len(kept)} copies {keep}, {kept[0]} has the highest quality."


def _copy_sentence(copy: RankedCopy) -> str:
    """Sentence on the overall quality of one copy, and on the score of an independent sample."""
    if copy.overall.estimate is None:
        return ""
    digits, chance = digits_of(copy.overall.estimate), copy.overall.chance
    side = "" if chance is None else f", so this is {chance}"
    return (
        f"{copy.candidate}: overall quality {figure_text(copy.overall.estimate)}; "
        f"{INDEPENDENT} would score {reference_text(copy.overall.reference, digits)}{side}."
    )


def _chance_text(copy: RankedCopy) -> str:
    """Score of an independent real sample, and the side of it on which the copy lies."""
    score = copy.overall
    return chance_text(score.reference, score.chance, digits_of(score.estimate))


def _better_sentences(report: RankingReport) -> Iterator[str]:
    """Sentences on which copies are established as better, and which cannot be told apart."""
    names = [copy.candidate for copy in report.copies]
    if len(names) < 2 or report.dry:
        return
    if not report.better:
        yield f"{listed(names)} cannot be told apart at this epsilon."
        return
    level = level_text(report.alpha)
    by_worse: dict[tuple[str, ...], list[str]] = {}
    for name in names:
        worse = tuple(other for other in names if (name, other) in report.better)
        by_worse.setdefault(worse, []).append(name)
    for worse, better in by_worse.items():
        verb = "is" if len(better) == 1 else "are each"
        if worse:
            than = listed(worse)
            good = [copy for copy in report.copies if copy.candidate in better]
            doubts = _doubts(report, good)
            yield f"{listed(better)} {verb} better than {than}, with probability {level}{doubts}."
    for run in _tied(report):
        yield f"{listed(run)} cannot be told apart at this epsilon."


def _tied(report: RankingReport) -> Iterator[list[str]]:
    """Runs of neighbours in the ranking; no copy of a run is proven better than the next."""
    names = [copy.candidate for copy in report.copies]
    run = names[:1]
    for before, name in pairwise(names):
        if (before, name) in report.better:
            if len(run) > 1:
                yield run
            run = [name]
        else:
            run.append(name)
    if len(run) > 1:
        yield run


def _scores_text(copy: RankedCopy) -> str:
    """Separate scores of columns, pairs and so on; empty unless the caller asked for them."""
    parts = (
        f"{ways_text(score.ways or 0)} {figure_text(score.estimate)}"
        for score in copy.scores
        if score.estimate is not None
    )
    return "; ".join(parts)


def _cells(report: RankingReport) -> list[ProfiledColumn]:
    return [column for copy in report.copies for column in copy.columns]


def flaw_sentences(report: RankingReport) -> Iterator[str]:
    """Sentences on columns that a copy lacks, or has turned into identifiers; they count."""
    for copy in report.copies:
        for flaw in copy.flaws:
            name = names_text(flaw.columns)
            if flaw.standing is Standing.MISSING:
                yield f"{copy.candidate} lacks {name}, which counts as 100 % off."
            else:
                yield f"{name} {flaw.reason}; it is judged, since another copy can be."


def _noise_sentence(report: RankingReport) -> str:
    """Sentence on the precision of the distances of marginals; empty if there are none."""
    figures = [figure for each in report.marginals for figure in each.estimates if figure]
    if not figures:
        return ""
    # An interval may be cut at 0 or at 100 %.  Its longer half is not cut, and shows the noise.
    half = median(max(each.high - each.value, each.value - each.low) for each in figures)
    about = number_text(100 * half, 2)
    level = level_text(report.alpha)
    return f"Each column and pair is known to about {about} points with probability {level}."


def _marginals_text(report: RankingReport) -> str:
    """Marginals by which copies are compared, such as ``10 columns and all pairs of them``."""
    more = "" if report.ways < 2 else f" and all {ways_text(report.ways)} of them"
    return f"{counted(len(report.columns), 'column')}{more}"


def _cost_lines(report: RankingReport) -> Iterator[str]:
    """Sentences on what was spent, and on which tables."""
    if report.dry:
        yield f"A run would spend epsilon {_price(report)}; this one spent nothing."
        return
    number = counted(len(report.copies), "synthetic table")
    yield from cost_sentences(report.cost, f"{report.private}, compared with {number}")
    for risk in [*report.risks.values()][:1]:
        yield from held_out_cost_lines(risk)
    if report.replayed:
        yield "All of this was paid for before."


def _paid_lines(report: RankingReport) -> Iterator[str]:
    """Lines on what each part of the budget pays for; those of attacks name the copy."""
    copies = iter(report.risks)
    for part in report.budget:
        (line,) = budget_lines([part], report.rows.value)
        yield f"{line}, on {next(copies)}" if part.part == "attacks" else line
