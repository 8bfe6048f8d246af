"""Document of a ranking: a row per copy, the best first, who is better for certain, marginals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

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
    Option,
    Picture,
    Row,
    Section,
    Table,
)
from pqd.reports.documents.shared import budget_bar, budget_shares, lines, omitted_columns
from pqd.reports.text.cost import (
    account_sentences,
    budget_sentence,
    meaning_sentence,
    spent_cell,
    spent_text,
)
from pqd.reports.text.distances import (
    SIMULATED,
    columns_sentence,
    digits_of,
    level_text,
    names_text,
    ways_text,
)
from pqd.reports.text.numbers import interval_text, percent_text
from pqd.reports.text.ranking import (
    better_sentences,
    cost_lines,
    fresh_text,
    headline,
    marginals_text,
    noise_sentence,
    paid_lines,
    scores_text,
)
from pqd.reports.text.remarks.definitions import RELATIONS, ranking_definitions
from pqd.reports.text.words import counted, rank_text

if TYPE_CHECKING:
    from pqd.reports.models.ranking import RankedCopy, RankedMarginal, RankingReport

_FRESH = "fresh: what a fresh sample of that copy's own distribution would score"
# Marginals of several columns that are listed unless all are asked for.
_WORST = 10


def document(report: RankingReport) -> Document:
    """Document of ``report``."""
    title, lead = headline(report)
    answers = [report.replayed] if report.replayed else []
    return Document(
        kind="compare",
        title=title,
        lead=lead,
        subject=f"Overall quality: {marginals_text(report)}",
        spent=spent_text(report.cost, answers),
        opening=[Line(_FRESH, "detail")],
        banner=[Line(SIMULATED, "warning")] if report.simulated else [],
        facts=[
            ("Private table", report.private),
            ("Copies", str(len(report.copies))),
            ("Columns", f"{len(report.columns):,}"),
            ("Marginals", ", ".join(ways_text(ways) for ways in range(1, report.ways + 1))),
            ("Epsilon spent", spent_cell(report.cost)),
        ],
        meaning=meaning_sentence(report.cost),
        body=list(_body(report)),
        omitted=omitted_columns(report.left_out),
        notes=lines(report.notes),
        account=lines(account_sentences(report.cost, report.private, answers)),
        budget=budget_bar(report.cost),
        cost=[Lines(lines(cost_lines(report))), budget_shares(report.budget, paid_lines(report))],
        reading=[
            Definitions(list(ranking_definitions(report))),
            Lines([Line(columns_sentence(report.columns))]),
            Section(title="The same figures elsewhere", blocks=[Definitions(RELATIONS)]),
        ],
        closing=Closing(
            counts=f"{title}.",
            step=() if report.marginals else (Option("marginals"), " shows which columns differ"),
            budget=budget_sentence(report.cost, report.private),
        ),
        made=report.cost.day or "",
        replays="figures" if report.cost.ledger is not None else "",
        unknown="a ranking has no query {} to explain; --marginals shows which columns differ",
    )


def _body(report: RankingReport) -> Iterator[Block]:
    told = [f"{copy.candidate}: {text}" for copy in report.copies if (text := scores_text(copy))]
    sentences = lines([*better_sentences(report), *told])
    yield Section(title="Copies", blocks=[_board(report), Lines(sentences)], brief=False)
    for ways in sorted({len(each.columns) for each in report.marginals}):
        rows = [each for each in report.marginals if len(each.columns) == ways]
        number = counted(len(rows), ways_text(ways, 1), ways_text(ways))
        title = f"{number}, total variation from each copy"
        yield Section(title=title, blocks=[_marginals(report, rows, ways)], folded=True)
    if noise := noise_sentence(report):
        yield Lines([Line(noise)])


def _board(report: RankingReport) -> Table:
    digits = digits_of(*(copy.overall.estimate for copy in report.copies))
    lowest = min((copy.overall.low or 0.0 for copy in report.copies), default=0.0)
    scale = max(0.0, int(100 * lowest - 1) / 100), 1.0
    marks = ("SIMULATED",) if report.simulated else ()
    rows = [_copy(copy, digits, scale, marks) for copy in report.copies]
    level = f"{level_text(report.alpha)} interval"
    return Table(
        columns=(
            Column("rank"),
            Column("copy", "name", fold=14),
            Column(f"{percent_text(scale[0], 0)} to 100 %", "picture", drop=PAGE),
            Column("quality", "number"),
            Column(level, "number", drop=2, below=True),
            Column("fresh", "number", drop=1),
        ),
        groups=[Group(rows=rows, fate="always", most=len(rows))],
        keys=[
            Key([("dot", "")], f"quality and its {level}"),
            Key([("fresh", "")], "a fresh sample of the copy's own distribution"),
        ],
        empty="Nothing was compared.",
    )


def _copy(copy: RankedCopy, digits: int, scale: tuple[float, float], marks: tuple[str, ...]) -> Row:
    value, low, high = copy.overall.estimate or (0.0, 0.0, 1.0)
    text, ends = percent_text(value, digits), interval_text(low, high, digits)
    fresh = fresh_text(copy)
    label = f"{text}, between {ends}; fresh sample {fresh}"
    picture = Picture(scale, value, low, high, None, copy.overall.reference, label=label)
    cells = (
        Cell(rank_text(copy), copy.best_rank),
        Cell(copy.candidate, under=copy.file, strong=True),
        Cell(sort=value, picture=picture),
        Cell(text, value, strong=True),
        Cell(ends, high - low),
        Cell(fresh, copy.overall.reference),
    )
    return Row(id=copy.candidate, cells=cells, marks=marks)


def _marginals(report: RankingReport, rows: Sequence[RankedMarginal], ways: int) -> Table:
    names = (Column(copy.candidate, "number", foreign=True) for copy in report.copies)
    most = None if ways == 1 else _WORST
    return Table(
        columns=(Column(ways_text(ways, 1), "name", fold=14), *names),
        groups=[Group(rows=[_marginal(each) for each in rows], most=most)],
        find="name of a column" if ways == report.ways else "",
        between="; ",
    )


def _marginal(each: RankedMarginal) -> Row:
    digits, name = digits_of(*each.estimates), names_text(each.columns)
    found = (Cell(percent_text(figure.value, digits), figure.value) for figure in each.estimates)
    return Row(id=name, cells=(Cell(name), *found))
