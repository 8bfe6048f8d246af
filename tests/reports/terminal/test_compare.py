"""The terminal rendering of a comparison: at any width, in any encoding, whatever names say."""

import io
import re
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from pqd.deciders.note import Note
from pqd.reports.documents.compare import (
    cell_sentence,
    column_names,
    document,
    tie_sentences,
)
from pqd.reports.documents.shared import rank_text
from pqd.reports.models.audit import CompositionGroup, Cost
from pqd.reports.models.compare import (
    Cell,
    ComparedQuery,
    CompareReport,
    EstimatorFacts,
    LeaderboardRow,
)
from pqd.reports.text.numbers import listed, percent
from pqd.reports.writers.terminal import TerminalReport, terminal_text
from pqd.reports.writers.terminal.layout import Extent

ALPHA = Fraction(1, 20)
NAMES = ("tree", "copula", "gan")
WHERE = "sex LIKE 'Female' AND race LIKE 'White' AND workly LIKE 'Yes' AND age > 17"


def cell(name: str, **changes: Any) -> Cell:
    facts: dict[str, Any] = {
        "candidate": name,
        "q_synthetic": 1010,
        "tau": 50,
        "lower": 960,
        "upper": 1060,
        "outcome": "yes",
        "error": 0.01,
        "alpha": ALPHA,
        "p_value": 0.0004,
        "gap": -10,
        "gap_low": -14,
        "gap_high": -6,
    }
    return Cell(**facts | changes)


NO = {"outcome": "no", "q_synthetic": 1200, "gap": -200, "gap_low": -204, "gap_high": -196}
UNDECIDED = {"p_value": 0.3}


def query(name: str, *cells: Cell, **changes: Any) -> ComparedQuery:
    facts: dict[str, Any] = {
        "id": name,
        "sql": f"SELECT COUNT(*) FROM D WHERE {WHERE}",
        "aggregate": "COUNT",
        "attribute": None,
        "p": None,
        "where": WHERE,
        "weight": 1,
        "tolerance": "5%",
        "estimator": "laplace",
        "reason": "one estimate for all 3 candidates, which also bounds their gaps",
        "estimators": (
            EstimatorFacts("laplace", 0.0001, exact=True),
            EstimatorFacts("split", 0.2, exact=True),
        ),
        "epsilon": Fraction(1, 2),
        "tau_min": 7.5,
        "cells": cells,
        "closest": tuple(one.candidate for one in cells[:1]),
        "estimate": 1000,
        "low": 996,
        "high": 1004,
    }
    return ComparedQuery(**facts | changes)


def standing(name: str, **changes: Any) -> LeaderboardRow:
    facts: dict[str, Any] = {
        "candidate": name,
        "kind": "candidate",
        "share": 0.5,
        "low": 0.25,
        "high": 0.75,
        "trusted": 1,
        "not_trusted": 1,
        "undecided": 0,
        "best_rank": 1,
        "worst_rank": 3,
        "wins": (),
        "worst": (),
    }
    return LeaderboardRow(**facts | changes)


def report_of(names: Sequence[str] = NAMES, **changes: Any) -> CompareReport:
    """Comparison of two queries: yes, no, then undecided."""
    queries = (
        query("women", *(cell(name, **(NO if n % 2 else {})) for n, name in enumerate(names))),
        query("men", *(cell(name, **UNDECIDED) for name in names)),
    )
    facts: dict[str, Any] = {
        "queries": queries,
        "leaderboard": tuple(standing(name, wins=("women",), worst=("men",)) for name in names),
        "better": (),
        "candidates": {name: f"{n}.csv" for n, name in enumerate(names)},
        "private": "private.csv",
        "tolerance": "5%",
        "alpha": ALPHA,
        "cost": Cost(
            epsilon=Fraction(1),
            delta=Fraction(0),
            rule="sequential",
            groups=tuple(CompositionGroup((q.id,), q.epsilon) for q in queries),
        ),
        "notes": ("Bounds of inctot from the synthetic table: 0..500,000 step 1.",),
    }
    return CompareReport(**facts | changes)


def text_of(report: CompareReport, width: int = 80, extent: Extent = Extent.BRIEF) -> str:
    return terminal_text(report, width, extent)


def words(text: str) -> str:
    return " ".join(text.split())


EXTENTS = (Extent.BRIEF, Extent.ALL, Extent.VERBOSE)
LONG = tuple(f"the-copy-made-by-a-synthesizer-of-kind-{n}" for n in range(3))
REPORTS = {
    "short names": report_of(),
    "long names": report_of(LONG),
    "five names": report_of(("bootstrap", "marginals", "tree", "copula", "gan")),
    "many names": report_of(tuple(f"c{n}" for n in range(16))),
    "wide letters": report_of(("木の複製", "copula", "gan")),
    "one": report_of(("tree",)),
    "long id": replace(
        report_of(), queries=tuple(replace(q, id=q.id * 30) for q in report_of().queries)
    ),
}


# Width --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("extent", EXTENTS)
@pytest.mark.parametrize("width", [40, 60, 80, 160])
@pytest.mark.parametrize("label", REPORTS)
def test_no_line_is_wider_than_the_terminal(label: str, width: int, extent: Extent) -> None:
    for line in text_of(REPORTS[label], width, extent).splitlines():
        assert cell_len(line) <= width, line


@pytest.mark.parametrize("width", [40, 60, 80, 160])
@pytest.mark.parametrize("label", REPORTS)
def test_every_verdict_is_there_at_any_width(label: str, width: int) -> None:
    """What was paid for must not be cut off, and the query that it is of must be known."""
    report = REPORTS[label]
    lines = text_of(report, width).split("\n\n")[2].splitlines()[1:]
    signs = re.findall(r"\(✓\)|✓|✗", "\n".join(lines))
    count = len(report.leaderboard)
    mixed, unsure = ["✗" if n % 2 else "✓" for n in range(count)], ["(✓)"] * count
    # The worst first: what is undecided stands before what all candidates are trusted on.
    assert signs == (mixed + unsure if "✗" in mixed else unsure + mixed)
    for each in report.queries:
        assert each.id[:3] in "\n".join(lines)


@pytest.mark.parametrize("width", [40, 60, 80, 160])
@pytest.mark.parametrize("label", ["short names", "long names", "many names"])
def test_every_candidate_and_share_is_there_at_any_width(label: str, width: int) -> None:
    report = REPORTS[label]
    board = "".join(text_of(report, width).split("\n\n")[1].split())
    for name in (standing.candidate for standing in report.leaderboard):
        # A name may be folded within its column.
        assert name[:4] in board
    assert board.count("50%") >= len(report.leaderboard)
    assert board.count("25%to75%") == len(report.leaderboard)


@pytest.mark.parametrize("width", [40, 60, 80, 160])
def test_long_names_are_never_cut_in_the_board(width: int) -> None:
    """Names often differ at their end only."""
    board = text_of(report_of(LONG), width).split("\n\n")[1]
    assert "\u2026" not in board


def test_a_narrow_terminal_gets_fewer_columns_than_a_usual_one() -> None:
    narrow, usual = text_of(report_of(), 40), text_of(report_of(), 80)
    assert "tree 50 % 25 % to 75 %" in words(narrow)
    assert "●" not in narrow
    assert usual.splitlines()[2].split()[:3] == ["rank", "candidate", "within"]
    assert "●" in usual


def test_columns_stand_under_each_other() -> None:
    for width in (80, 160):
        _, _, lines, *_ = text_of(report_of(), width).split("\n\n")
        _, head, *rows = lines.splitlines()
        for name in NAMES:
            place = head.index(name)
            for row in rows:
                assert row[place] in "✓✗("
                assert row[place - 1] == " " or place == 0


def test_the_query_is_cut_and_the_signs_are_not() -> None:
    _, _, lines, *_ = text_of(report_of(), 60).split("\n\n")
    assert [row.endswith("…") and len(row) <= 60 for row in lines.splitlines()[3:]] == [True] * 2
    assert WHERE in text_of(report_of(), 160)
    assert "".join(WHERE.split()) in "".join(text_of(report_of(), 40, Extent.VERBOSE).split())


# Encodings ----------------------------------------------------------------------------------------


def piped(report: CompareReport, encoding: str, extent: Extent = Extent.BRIEF) -> str:
    buffer = io.BytesIO()
    stream = io.TextIOWrapper(buffer, encoding=encoding, errors="strict")
    console = Console(file=stream, width=80, color_system=None, force_terminal=False)
    console.print(TerminalReport(report, extent))
    stream.flush()
    return buffer.getvalue().decode(encoding)


@pytest.mark.parametrize("extent", EXTENTS)
@pytest.mark.parametrize("simulated", [False, True])
@pytest.mark.parametrize("label", ["short names", "many names", "long names"])
def test_a_pipe_without_unicode_gets_ascii(label: str, simulated: bool, extent: Extent) -> None:
    report = REPORTS[label]
    queries = tuple(replace(each, simulated=simulated) for each in report.queries)
    text = piped(replace(report, queries=queries), "ascii", extent)
    assert text.isascii()
    assert ("SIMULATED" in text) == simulated
    assert "1-3" in text
    assert "+ within tolerance, x outside" in text
    if extent is Extent.BRIEF:
        assert "(+)" in text


def test_a_pipe_with_unicode_gets_signs() -> None:
    text = piped(report_of(), "utf-8")
    assert "1\u20133" in text
    assert "✓ within tolerance, ✗ outside" in text
    assert text == text_of(report_of(), 80)


def test_there_is_no_escape_and_no_blank_end() -> None:
    for extent in EXTENTS:
        text = text_of(report_of(), extent=extent)
        assert "\x1b" not in text
        assert text.endswith("\n")
        assert not text.endswith("\n\n")


# Names that are out to deceive --------------------------------------------------------------------

HOSTILE = {
    "escape": "\x1b[2J",
    "bell": "a\x07b",
    "newline": "a\nb",
    "return": "a\rb",
    "right to left": "a\u202eb",
    "line separator": "a\u2028b",
    "C1": "a\x9bb",
    "long escape": "\x1b[31mthe best of all",
}
HIDDEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]")


def clean(text: str) -> None:
    assert not HIDDEN.search(text), repr(HIDDEN.search(text))


@pytest.mark.parametrize("extent", EXTENTS)
@pytest.mark.parametrize("width", [40, 80])
@pytest.mark.parametrize("label", HOSTILE)
def test_hostile_names_of_candidates_are_made_visible(
    label: str, width: int, extent: Extent
) -> None:
    name = HOSTILE[label]
    report = report_of((name, "tree"))
    text = text_of(report, width, extent)
    clean(text)
    shown = name.encode("unicode_escape").decode()
    assert shown[:4] in text
    plain = text_of(report_of((re.sub(r"\S", "x", shown), "tree")), width, extent)
    assert len(text.splitlines()) == len(plain.splitlines())


@pytest.mark.parametrize("extent", EXTENTS)
@pytest.mark.parametrize("label", HOSTILE)
def test_hostile_texts_are_made_visible(label: str, extent: Extent) -> None:
    bad = HOSTILE[label]
    queries = (
        query(f"q{bad}", cell("tree"), where=f"a = '{bad}'", attribute=bad, aggregate="SUM"),
        query("q2", cell("tree"), group=bad, reason=bad, estimator=bad, tolerance=bad, block=bad),
    )
    report = report_of(
        ("tree",),
        queries=queries,
        private=bad,
        notes=(Note(bad, ()),),
        leaderboard=(standing("tree", wins=(bad,), worst=(bad,)),),
        cost=Cost(Fraction(1), Fraction(0), "sequential", (), ledger=bad, total=Fraction(1)),
    )
    clean(text_of(report, extent=extent))


def test_markup_is_text() -> None:
    names = ("[bold]", "[/red]")
    queries = tuple(replace(q, id=f"[link={q.id}]") for q in report_of(names).queries)
    for extent in EXTENTS:
        text = text_of(replace(report_of(names), queries=queries), extent=extent)
        assert "[bold]" in text
        assert "[/red]" in text
        assert "[link=women]" in text


# Words --------------------------------------------------------------------------------------------


def test_all_that_cannot_be_told_apart() -> None:
    assert list(tie_sentences(report_of())) == [
        "tree, copula and gan cannot be told apart at this epsilon."
    ]
    assert "tree, copula and gan cannot be told apart at this epsilon." in words(
        text_of(report_of())
    )
    assert list(tie_sentences(report_of(("tree",)))) == []


def test_a_lean_is_never_told_as_a_share_that_holds() -> None:
    """One candidate, one query, undecided: nothing of it holds, whichever way it leans."""
    only = (query("men", cell("tree", **UNDECIDED)),)
    board = (standing("tree", share=1.0, low=0.0, high=1.0, trusted=0, not_trusted=0, undecided=1),)
    report = report_of(("tree",), queries=only, leaderboard=board)
    page = document(report)
    assert page.title == "0 of 1 query holds on tree, 1 left open"
    assert page.lead == (
        "tree is within tolerance on 0 of 1 query and outside on 0; 1 is left open. The true "
        "share lies between 0 % and 100 %."
    )
    assert "100 % of" not in words(text_of(report))


def test_queries_that_take_no_part_are_named_with_the_reason() -> None:
    part = replace(query("men", cell("tree", **UNDECIDED)), decidable=False)
    groups = tuple(
        replace(part, id=f"by-age[{age}]", block="by-age", group=str(age), decidable=age > 1)
        for age in range(3)
    )
    queries = (query("women", cell("tree")), part, *groups)
    text = words(text_of(report_of(("tree",), queries=queries, leaderboard=(standing("tree"),))))
    assert "men and by-age (2 of 3 groups) take no part in the ranking: at this epsilon" in text
    assert "wrong more than 5 % of the time on test tables made from the copies" in text
    text = words(text_of(report_of(("tree",), queries=(part,), leaderboard=(standing("tree"),))))
    assert "No query can be decided, so nothing can be ranked" in text
    assert "take no part" not in words(text_of(report_of()))


def test_who_is_better_than_whom() -> None:
    one = report_of(better=(("tree", "gan"),))
    assert list(tie_sentences(one)) == [
        "tree is better than gan.",
        "tree and copula cannot be told apart at this epsilon.",
        "copula and gan cannot be told apart at this epsilon.",
    ]
    both = report_of(better=(("copula", "gan"), ("tree", "gan")))
    assert list(tie_sentences(both)) == [
        "tree is better than gan.",
        "copula is better than gan.",
        "tree and copula cannot be told apart at this epsilon.",
    ]
    every = report_of(better=(("copula", "gan"), ("tree", "copula"), ("tree", "gan")))
    assert list(tie_sentences(every)) == [
        "tree is better than copula and gan.",
        "copula is better than gan.",
    ]


def test_lists_of_names() -> None:
    assert [listed(NAMES[:n]) for n in range(4)] == [
        "",
        "tree",
        "tree and copula",
        "tree, copula and gan",
    ]


@pytest.mark.parametrize(
    ("ranks", "text"), [((1, 1), "1"), ((2, 3), "2\u20133"), ((10, 12), "10\u201312")]
)
def test_ranks(ranks: tuple[int, int], text: str) -> None:
    made = standing("tree", best_rank=ranks[0], worst_rank=ranks[1])
    assert rank_text(made) == text


def test_short_names_are_titles() -> None:
    columns = column_names(report_of())
    assert columns.titles == columns.candidates == NAMES
    assert columns.legend == ()


@pytest.mark.parametrize("label", ["long names", "many names"])
def test_long_names_become_letters_with_a_legend(label: str) -> None:
    report = REPORTS[label]
    columns = column_names(report)
    assert columns.titles[:3] == ("A", "B", "C")
    (legend,) = columns.legend
    for title, name in zip(columns.titles, columns.candidates, strict=True):
        assert f"{title} {name}" in legend.split(", ")
    text = words(text_of(report, 160))
    assert f"A {columns.candidates[0]}, B {columns.candidates[1]}," in text


def test_more_candidates_than_letters_have_titles_of_their_own() -> None:
    columns = column_names(report_of(tuple(f"c{n}" for n in range(40))))
    assert len(set(columns.titles)) == 40
    assert columns.titles[25:27] == ("Z", "#27")


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "0 %"),
        (1.0, "100 %"),
        (0.5, "50 %"),
        (0.004, "< 1 %"),
        (1e-12, "< 1 %"),
        (0.996, "> 99 %"),
        (1 - 1e-12, "> 99 %"),
        (0.734, "73 %"),
        (0.01, "1 %"),
        (0.99, "99 %"),
    ],
)
def test_shares(share: float, text: str) -> None:
    assert percent(share) == text


@pytest.mark.parametrize("whole", [2, 3, 60, 199, 200, 201, 400, 1000])
def test_shares_are_never_rounded_to_all_or_nothing(whole: int) -> None:
    for count in range(1, whole):
        assert percent(count / whole) not in {"0 %", "100 %"}, (count, whole)


PEOPLE = "about 21 people away from the opposite verdict"


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({}, "yes, within tolerance (p < 0.001); answer 1,010 ±50; gap about -10 (-14 to -6)"),
        (
            {"outcome": "no", "p_value": 0.012},
            "NO, outside tolerance (p = 0.012); answer 1,010 ±50; gap about -10 (-14 to -6)",
        ),
        (
            {"p_value": 0.3, "gap_low": None},
            "undecided, leans yes (p = 0.30); answer 1,010 ±50; gap about -10 (at most -6)",
        ),
        (
            {"p_value": None, "gap_high": None},
            "undecided, leans yes (no p-value); answer 1,010 ±50; gap about -10 (at least -14)",
        ),
        (
            {"p_value": None, "error": 0.2, "gap_low": None, "gap_high": None},
            "undecided, leans yes (no p-value); answer 1,010 ±50; gap about -10",
        ),
        (
            {"gap": None, "margin": 21},
            f"yes, within tolerance (p < 0.001); answer 1,010 ±50; {PEOPLE}",
        ),
        (
            {"gap": None, "margin": -20, "outcome": "no"},
            f"NO, outside tolerance (p < 0.001); answer 1,010 ±50; {PEOPLE}",
        ),
        (
            {"q_synthetic": None, "outcome": "no", "p_value": 0.0, "gap": None},
            "NO, outside tolerance: it has no answer, since no row of it matches",
        ),
    ],
)
def test_what_is_said_of_one_candidate(changes: dict[str, Any], text: str) -> None:
    made = cell("tree", **changes)
    assert cell_sentence(made, query("q", made)) == text


def test_one_person_is_not_people() -> None:
    made = cell("tree", gap=None, margin=1, p_value=0.2)
    assert "about 1 person away from the opposite verdict" in cell_sentence(made, query("q", made))


def test_where_candidates_are_best_and_worst() -> None:
    board = (
        standing("tree", wins=("q1", "q2", "q3", "q4", "q5"), worst=("q9",)),
        standing("copula", wins=("q6",)),
        standing("gan"),
    )
    text = words(text_of(report_of(leaderboard=board), 160))
    assert "tree: closest on q1, q2, q3 and 2 more; farthest off on q9." in text
    assert "copula: closest on q6. " in text
    assert "gan:" not in text
    # Of two queries, both are no news.
    every = (standing("tree", worst=("q9", "q8")),)
    assert "farthest" not in text_of(report_of(leaderboard=every), 160)


def test_what_it_costs_and_how_to_read_it() -> None:
    assert text_of(report_of()).splitlines()[0].endswith("  epsilon 1 spent")
    text = words(text_of(report_of(), extent=Extent.VERBOSE))
    assert "Spent epsilon 1 = 2 x 0.5 on private.csv, whatever the number of candidates" in text
    assert "candidates are taken as public" in text
    assert "Brackets mark an undecided verdict (p above 5 %)" in text
    assert "at once with probability 95 % or more" in text
    assert "Bounds of inctot from the synthetic table: 0..500,000 step 1." in text
    other = words(text_of(replace(report_of(), alpha=Fraction(1, 100)), extent=Extent.VERBOSE))
    assert "p above 1 %" in other
    assert "probability 99 % or more" in other
