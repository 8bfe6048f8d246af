"""Notes: each that pqd makes has a sentence of its facts, and each sentence is as it is written."""

import ast
import inspect
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest

from pqd.deciders.note import SENTENCES, WARNINGS, Note, note
from pqd.reports.models.relations import Independence
from tests.support.golden import matches_golden

ROOT = Path(__file__).resolve().parents[3]
GOLDEN = Path(__file__).with_name("notes.txt")
SPANS = (("pay", ("0..9 step 1", "0..8", "0..7", "0..6", "0..5")), ("age", ("1..99",)))
PAPER = ("lm_count", "lm_sum", "hist_median", "r2t_sum")
CELLS = {"column": "pay", "kind": "number", "table": "copy.csv", "cells": 1200}
INDEPENDENCE = Independence(
    mean=0.012,
    chance=0.011,
    strongest=0.03,
    strongest_chance=0.025,
    columns=("age", "sex"),
    is_near=True,
)
# Every code, with facts that show its words.
EXAMPLES = (
    note(
        "nearly-independent",
        copy="the copy",
        mean=0.0094,
        chance=0.0094,
        strongest=0.021,
        strongest_chance=0.016,
        columns=("age", "sex"),
    ),
    note("kind-differs", column="x", kind="text", table="b.csv", as_kind="number", first="a.csv"),
    note("kinds-of-copy", table="copy.csv", kinds=(("pay", "number"), ("last day", "time"))),
    note("coarse-cells", copy="tree", columns=("age", "job")),
    note("risk-of-part", rows=50_000, copy=120_000),
    note("risk-rows-unstated", copy=4_500, options=("--private-rows", "--held-out-rows")),
    note("risk-rows-unstated", copy=1_600, options=("--private-rows",), persons=True),
    note("cells-misfit", unfit=3, example="1,5", way="comma", **CELLS),
    note("cells-misfit", unfit=3, example="x" * 50, way="", **CELLS),
    note("cells-missing", table="copy.csv", cells=(("NA", 1200), ("-", 3))),
    note("texts-missing", texts=("NA", "k.A.")),
    note("no-cell-fits", example="24.12.1980", way="day-first", **CELLS),
    *(
        note(
            "text-not-read", column="pay", table="copy.csv", way=way, example=text, options=options
        )
        for way, text, options in (
            ("numbers", "1.234,5", ("--decimal , --thousands .",)),
            ("numbers", "5,357", ("--thousands ,", "--decimal ,")),
            ("numbers", "1,5", ()),
            ("days", "24.12.1980", ("--dates %d.%m.%Y",)),
            ("signs", "12 %", ()),
            ("odd", "unknown", ("--missing unknown",)),
        )
    ),
    note("unit-missing", table="copy.csv", column="person"),
    note("bounds-stated", bounds=(("pay", "0..9 step 1"), ("age", "0..120")), snapped="all"),
    note("bounds-stated", bounds=(("pay", "0..9 step 1"),), snapped="SUM and AVG"),
    note("bounds-of-where", bounds=(("pay", ("2..5 step 1",)),)),
    note("bounds-half-stated", bounds=(("pay", ("-8..0 step 1 (the upper bound stated)",)),)),
    note("bounds-of-copy", bounds=SPANS),
    note("bounds-widened", bounds=SPANS),
    note("tau-beyond-bounds", queries=("q1", "q2"), attribute="pay", bounds="0..9"),
    note("sure-epsilons", alpha=Fraction(1, 20), least=Fraction(1, 9), most=Fraction(1), queries=3),
    note("sure-epsilons", alpha=Fraction(1, 20), least=Fraction(1), most=Fraction(1), queries=1),
    note(
        "beyond-at-most",
        total=Fraction(9, 2),
        most=Fraction(1),
        queries=4,
        dearest=(("q1", Fraction(3)), ("q2", Fraction(1)), ("q3", Fraction(1, 4))),
        left_out=("q1",),
        rest=Fraction(1),
        tau="10%",
    ),
    note(
        "beyond-at-most",
        total=Fraction(3),
        most=Fraction(1),
        queries=1,
        dearest=(("q1", Fraction(3)),),
        left_out=("q1",),
        rest=Fraction(0),
        tau=None,
    ),
    note("one-by-one", queries=1, epsilon=Fraction(1, 4)),
    note("one-by-one", queries=1200, epsilon=Fraction(1, 67)),
    note("batch-refused", group="COUNT", queries=3, reason="Too many cells."),
    note("classes-refused", group="COUNT", reason="there are too many cells"),
    note("classes-not-weighed", batch="b1", reason="there are too many cells"),
    note(
        "batch-weighed",
        group="COUNT",
        queries=12,
        epsilon=Fraction(3, 5),
        scores=(("workload", 0.012), (None, 0.034)),
    ),
    note(
        "batch-weighed",
        group="SUM of pay",
        queries=2,
        epsilon=None,
        scores=((None, 0.01), ("ranges", 0.0001)),
    ),
    note("batch-weak", batch="b1"),
    note("conditions-open", batch="b1", conditions=("a", "b", "c", "d")),
    note("answers-ordered", batch="COUNT", queries=7, chains=2),
    note(
        "ranges-chosen",
        name="ranges",
        mechanism="h",
        truncation="t",
        buckets=1200,
        overstatement=None,
    ),
    note(
        "ranges-chosen",
        name="h",
        mechanism="h",
        truncation="t",
        buckets=12,
        overstatement=1.23456,
    ),
    note("of-one", name="b1", what=note("unit-missing", table="t", column="c")),
    note("table-drawn", rows=1200, table="copy.csv", gaps=(("b1", 1.5), ("b2", 0.25))),
    note("table-drawn", rows=1200, persons=400, table="copy.csv", gaps=(("b1", 1.5),)),
    note("table-not-written", reason="The disk is full"),
    note("references-made", marginals="independent", epsilon=Fraction(1), first="tree"),
    note("other-size", table="c.csv", rows=2442, private=24421, within=0, queries=("q1", "q2")),
    note("sizes-unlike", table="c.csv", rows=1500, aggregates=("COUNT", "SUM")),
    note("sizes-unlike", table="c.csv", rows=None, aggregates=("COUNT",)),
    note("account-unseen", table="p.csv", ledger="pqd-ledger.sqlite"),
    note("dataset-asked", table="o.csv", ledger="pqd-ledger.sqlite"),
    note("taken-as-unchanged", table="p.csv", ledger="pqd-ledger.sqlite"),
    note("other-size-of-shares", table="c.csv", rows=2442, private=24387, within=130),
    note("tau-wide", tolerance="150%"),
    note("tau-amount", tolerance="5", least=Fraction(2855)),
    note("alpha-wide", alpha=Fraction(3, 5)),
    note("epsilon-large", epsilon=Fraction(20)),
    note("delta-large", delta=Fraction(1, 100)),
    note("estimator-unfit", estimator="laplace", queries=("q1",)),
    note("text-unknown", column="sex", constant="Femal'", tables="copy.csv", nearest="Female"),
    note("texts-unknown", column="age", first=(1200.0, 2.5), others=4, tables="copy.csv"),
    note("person-key", column="person_id", table="copy.csv"),
    note("header-missing", table="copy.csv", names=("39", "State-gov")),
    note("looked-again", queries=("q1", "q2"), looks=3, alpha=Fraction(1, 20)),
    note("named"),
    note("settled"),
    note("most-right"),
    note("least-budget"),
    note("shows-answer", sharpest="inv_count"),
    *(
        note("table-four", decider=name)
        for name in ("lm_count", "hist_median", "r2t_sum", "lm_sum")
    ),
    *(
        note("against-table-four", decider=name, advised=advised)
        for name, advised in (
            ("em_count", "lm_count"),
            ("em_median", "hist_median"),
            ("lm_sum", "r2t_sum"),
            ("svt_sum", "lm_sum"),
            ("r2t_sum", "lm_sum"),
        )
    ),
    note("least-of-paper", aggregate="QUANTILE", others=("em_quantile",)),
    note("only-of-paper", aggregate="AVG"),
    note("likely-right"),
    note("cut-at-copy"),
    note("rows-to-change"),
    note("in-batch"),
    note("one-for-all"),
    note("each-most-right"),
    note("split-most-right"),
    note("one-for-all-undecided"),
    note("none-decides"),
    note("column-empty", column="gone"),
    note("column-constant", column="fraud", value="no", filled=3000, rows=3000),
    note("column-constant", column="fraud", value="no", filled=20, rows=3000),
    note("registered-decider", decider="mine (study 1)", package="study 1"),
    note("codes-as-text", column="zip", example="06680"),
    note("kind-nearly", column="pay", kind="number", cells=3000, unfit=12, example="?"),
    note("identifier-like", column="id", filled=3000),
    note("key-nearly", column="id", repeated=40, filled=3000),
    note("text-free", column="note", distinct=1200, filled=1300),
    note("days-as-numbers", column="day", example="20240131"),
    note("days-unusual", column="until", cells=12, example="9999-12-31"),
    note("rows-repeat", repeated=80, rows=3000, most=3, column="id", pairs=42, nearly=42),
    note("columns-independent", independence=INDEPENDENCE),
    note("columns-missing", names=tuple("abcdefgh")),
    note("columns-unlisted", names=("a", "b")),
    note("key-repeats", columns=("ward", "bed"), repeated=4, rows=3000),
    note("rule-violated", rule="age >= 18", violations=4, rows=3000),
    note("cells-required", column="age", cells=4, rows=3000),
    note("cells-outside", column="age", cells=4, example="130", low="0", high="120"),
    note("cells-outside", column="age", cells=1, example="-1", low="0", high=""),
    note("cells-outside", column="age", cells=1, example="130", low="", high="120"),
    note("values-unlisted", column="sex", cells=4, example="x", values=1),
    note("metadata-unread", facts=("the pattern of zip",)),
    note("metadata-used", file="people.json", columns=4, found=False, ranged=True),
    note("metadata-used", file="copy.metadata.json", columns=1, found=True, ranged=False),
    note("metadata-used", file="copy.metadata.json", columns=1, found=True, ranged=True),
    note(
        "metadata-not-used",
        file="copy.metadata.json",
        reason="columns.agee: the copy has no such column",
    ),
    note("metadata-beside-both", file="copy.metadata.json"),
    note("metadata-of-private", file="people.json"),
    note("metadata-key-repeats", column="patient", table="copy.csv"),
    note(
        "gate-left-out",
        conditions=(("alarm", "chance alone"), ("age: 7", "noise"), ("age: 8", "noise")),
    ),
    note("alarm-not-judged", copies=("copy",)),
    note("risk-without-held-out"),
    note("some-rows-not-judged", copies=("copy",)),
    note("checks-not-decidable", checks=("rare",)),
    note("gate-not-run"),
    note("checks-set-aside", checks=13, columns=("post", "ward")),
    note("named-error", error=12.5, unit=Fraction(1, 2)),
    note(
        "one-batch",
        error=0.6,
        measures=(("COUNT", 1.5, 2.0, Fraction(1)), ("SUM(income)", 10.0, 21.0, Fraction(100))),
        others=((0.75, "joint"), (1.25, "workload")),
    ),
    note("measures-apart", mechanism="identity", error=1.5),
    note("least-error", error=12.5, others=(("identity", 20.0),), unit=Fraction(1)),
)


@cache
def made() -> tuple[tuple[str, list[str | None]], ...]:
    """Code and keywords of each note that pqd makes."""
    return tuple(_calls())


def _calls() -> Iterator[tuple[str, list[str | None]]]:
    for path in sorted((ROOT / "pqd").rglob("*.py")):
        source = path.read_text("utf-8")
        # Most files make none, and to parse them takes long.
        for node in ast.walk(ast.parse(source)) if "note(" in source else ():
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "note":
                codes = [each for each in ast.walk(node.args[0]) if isinstance(each, ast.Constant)]
                names = [keyword.arg for keyword in node.keywords]
                yield from ((code.value, names) for code in codes if code.value in SENTENCES)
                assert {code.value for code in codes} & {*SENTENCES}, ast.unparse(node)


def test_each_note_has_the_facts_of_its_sentence() -> None:
    for code, names in made():
        parameters = set(inspect.signature(SENTENCES[code]).parameters)
        # None: what ``**`` adds.
        assert set(names) == parameters or (None in names and set(names) - {None} < parameters), (
            code
        )


def test_each_sentence_is_of_a_note_that_is_made() -> None:
    assert {code for code, _ in made()} == set(SENTENCES)
    assert set(SENTENCES) > WARNINGS


@pytest.mark.golden
def test_each_sentence_is_as_written() -> None:
    assert {each.code for each in EXAMPLES} == set(SENTENCES)
    text = "".join(f"{each.code}\n    {each}\n" for each in EXAMPLES)
    assert matches_golden(GOLDEN, text)


def test_a_note_is_a_value() -> None:
    assert note("named") == note("named")
    assert len({note("tau-wide", tolerance="150%"), note("tau-wide", tolerance="150%")}) == 1
    assert note("tau-wide", tolerance="150%").warns
    assert not note("named").warns
    # Where nothing that shows notes is loaded, its code stands for it.
    assert str(Note("never-written", ())) == "never-written"
