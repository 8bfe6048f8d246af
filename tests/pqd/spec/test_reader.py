"""A spec file: read exactly, or refused with every problem, its line and what to do."""

import os
import tomllib
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pqd.deciders import DECIDERS
from pqd.errors import NothingSelectedError, ParameterError, PqdError
from pqd.parameters import Criteria, Parameters
from pqd.spec import Check, Code, Place, Problem, Source, Spec, SpecError, read_spec
from pqd.spec.problems import printable
from pqd.stated.budgets import stated_budget
from pqd.stated.column_facts import parse_columns
from tests.pqd.spec.spec_texts import FULL, HEAD, SMALL
from tests.support.drawing import examples
from tests.support.golden import matches_golden

SECRET = "hush-7f3a"  # noqa: S105 - what no message may show
ENVIRON = {"DATA": SECRET, "EMPTY": ""}

Refusal = Callable[..., SpecError]


@pytest.fixture
def spec(tmp_path: Path) -> Callable[..., Spec]:
    """Read a text as a spec file."""

    def read(text: str | bytes, name: str = "audit.toml") -> Spec:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_spec(path, ENVIRON)

    return read


@pytest.fixture
def refusal(spec: Callable[..., Spec]) -> Refusal:
    """Read a text as a spec file that is refused; return the error."""

    def read(text: str | bytes, name: str = "audit.toml") -> SpecError:
        with pytest.raises(SpecError) as refused:
            spec(text, name)
        assert refused.value.exit_code == 2
        assert isinstance(refused.value, (PqdError, ValueError))
        return refused.value

    return read


def test_every_key_is_read(spec: Callable[..., Spec], tmp_path: Path) -> None:
    found = spec(FULL)
    assert found.path == tmp_path / "audit.toml"
    written = "${DATA}/census_$${x}.parquet"
    assert found.private == Source(tmp_path / SECRET / "census_${x}.parquet", written)
    assert found.synthetic == {
        "tree": Source(Path("/srv/tree.parquet"), "/srv/tree.parquet"),
        "GAN-2_b": Source(tmp_path / "../gan.csv", "../gan.csv"),
    }
    assert found.ledger == Source(tmp_path / "spent.sqlite", "spent.sqlite")
    assert (found.epsilon, found.delta) == (Fraction(10), Fraction(1, 10**6))
    assert (found.unit, found.max_rows) == ("person_id", 3)
    assert found.columns == {
        "capital-gain": {"bounds": [0, 99999], "step": 1},
        "price": {
            "bounds": [Decimal("-0.5"), "10.25"],
            "step": Decimal("0.25"),
            "type": "number",
            "cells": [0, Decimal("2.5"), 10],
        },
    }
    first = Check(
        id="first",
        sql="[[check]]\nSELECT COUNT(*) FROM D",
        tau="5%",
        epsilon=Fraction(1, 10),
        alpha=Fraction(1, 30),
        decider="paper",
        expect="far",
        severity="warn",
        on_undecided="pass",
        evidence="proof",
        synthetic=("tree",),
        bins=None,
        keys=None,
        line=40,
    )
    second = Check(
        id="second",
        sql='SELECT SUM("capital-gain") FROM D',
        tau=Decimal("0.10"),
        epsilon=Fraction(1, 3),
        alpha=Fraction(1, 20),
        decider="inv_sum",
        expect="close",
        severity="error",
        on_undecided="warn",
        evidence="proof",
        synthetic=("GAN-2_b", "tree"),
        bins="age=0:100:10",
        keys=("HS", 1, Decimal("2.5"), True),
        line=46,
    )
    third = replace(
        first,
        id="third",
        sql="SELECT COUNT(*) FROM D GROUP BY sex, married",
        tau=3,
        keys=(("f", True), ("m", False)),
        line=62,
    )
    bare = replace(first, sql="", id="fourth", tau="2%", line=68, marginal=("age", "sex"))
    fifth = replace(first, sql="", id="fifth", line=73, marginal=("age",), distance="ks")
    sixth = replace(bare, id="sixth", tau=None, line=78, marginal=None, ways=1)
    sixth = replace(sixth, score="overall", at_least="90%")
    assert found.checks == (first, second, third, bare, fifth, sixth)
    starts = [FULL.splitlines()[check.line - 1][:3] for check in found.checks]
    assert starts == ["[[c", "[[c", "[[ ", "[[c", "[[c", "[[c"]


def test_a_distance_has_a_tolerance_and_a_name(spec: Callable[..., Spec]) -> None:
    checks = {check.id: check for check in spec(FULL).checks}
    assert [checks[name].sql_text for name in ("fourth", "fifth", "sixth")] == [
        "TOTAL VARIATION(age, sex)",
        "KOLMOGOROV-SMIRNOV(age)",
        "MEAN DISTANCE(overall, 1 ways)",
    ]
    assert checks["second"].sql_text == checks["second"].sql
    assert checks["fourth"].tolerance.share == Fraction(1, 50)
    assert checks["sixth"].tolerance.share == Fraction(1, 10)
    assert checks["sixth"].tolerance.text == "score at least 90%"
    with pytest.raises(ParameterError, match="write it in per cent"):
        assert replace(checks["fourth"], tau=3).tolerance.share


def test_what_is_read_is_what_the_library_takes(spec: Callable[..., Spec]) -> None:
    found = spec(FULL)
    for check in found.checks:
        tau = check.at_least if check.tau is None else check.tau
        terms = Parameters.parse(
            tau=tau,
            epsilon=check.epsilon or "",
            alpha=check.alpha,
            mechanism=check.decider,
            columns=found.columns,
        )
        assert terms.tolerance.text == str(tau)
        assert (terms.epsilon, terms.alpha) == (check.epsilon, check.alpha)


def test_what_is_left_out_has_a_default(spec: Callable[..., Spec]) -> None:
    found = spec(SMALL)
    assert [found.ledger, found.epsilon, found.unit, found.max_rows] == [None] * 4
    assert (found.delta, found.columns) == (Fraction(0), {})
    assert found.checks == (
        Check(
            id="income",
            sql="SELECT COUNT(*) FROM D",
            tau="5%",
            epsilon=Fraction(1, 4),
            alpha=Fraction(1, 20),
            decider="auto",
            expect="close",
            severity="error",
            on_undecided="fail",
            evidence="proof",
            synthetic=("tree",),
            bins=None,
            keys=None,
            line=11,
        ),
    )


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff" + SMALL,
        SMALL.replace("\n", "\r\n"),
        SMALL.replace('[private]\npath = "p.csv"', 'private = { path = "p.csv" }'),
        SMALL.replace('[synthetic.tree]\npath = "s.csv"', '[synthetic]\ntree = { path = "s.csv" }'),
        SMALL.replace("[synthetic.tree]\npath", "[synthetic]\ntree.path"),
        "check = [\n{ id = 'income', sql = 'SELECT COUNT(*) FROM D' }]\n" + HEAD,
    ],
    ids=["mark", "crlf", "inline", "inline name", "dotted", "inline checks"],
)
def test_other_spellings_of_the_same(text: str, spec: Callable[..., Spec]) -> None:
    found, plain = spec(text), spec(SMALL)
    assert (found.private, found.synthetic) == (plain.private, plain.synthetic)
    assert found.checks[0].sql == plain.checks[0].sql
    assert 1 <= found.checks[0].line <= 11


def test_the_environment_is_in_no_repr(spec: Callable[..., Spec]) -> None:
    found = spec(SMALL.replace("p.csv", "${DATA}/p.csv"))
    assert SECRET in str(found.private.path)
    assert SECRET not in repr(found)
    assert "${DATA}/p.csv" in repr(found)


def test_reading_a_spec_loads_no_engine(process: Callable[..., tuple[int, str, str]]) -> None:
    code, out, err = process("-c", "import sys, pqd.spec; print(*sys.modules)")
    assert code == 0, err
    loaded = {name.partition(".")[0] for name in out.split()}
    assert "tomllib" in loaded
    assert not loaded & {"pandas", "duckdb", "opendp", "pyarrow", "scipy"}


def test_the_process_environment_is_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PQD_TEST_FOLDER", "elsewhere")
    path = tmp_path / "audit.toml"
    path.write_text(SMALL.replace("p.csv", "${PQD_TEST_FOLDER}/p.csv"), encoding="utf-8")
    assert read_spec(str(path)).private.path == tmp_path / "elsewhere" / "p.csv"


CHECK = SMALL[SMALL.index("[[check]]") :].rstrip()


class Part(NamedTuple):
    """A part of SMALL, what replaces it, and the line where that is wrong."""

    old: str
    new: str
    line: int


# What stands for {} in the new part, and the code and place of the only problem that follows.
WRONG: dict[Part, dict[str, str]] = {
    Part("[[check]]", "[[check]]\n{}", 12): {
        "epsilom = 1": "unknown_key [check] epsilom",
        "zzz = 1": "unknown_key [check] zzz",
        '"a\\nb\\u001b" = 1': "unknown_key [check] a\nb\x1b",
        'synthetic = ["gan"]': "unknown_name [check] synthetic",
        "bins = 3": "wrong_type [check] bins",
        "keys = []": "empty_value [check] keys",
        'keys = "HS"': "wrong_type [check] keys",
        'keys = ["a", "a"]': "duplicate [check] keys",
        "keys = [1, 1.0]": "duplicate [check] keys",
        'keys = [["a"], ["b", 1]]': "invalid_value [check] keys",
        "keys = [[], []]": "invalid_value [check] keys",
        'keys = [["a"], "b"]': "wrong_type [check] keys",
        "keys = [nan]": "invalid_value [check] keys",
        "keys = [1979-05-27]": "wrong_type [check] keys",
        'marginal = ["age"]': "contradiction [check] marginal",
        'score = "overall"': "contradiction [check] score",
        'distance = "ks"': "contradiction [check] distance",
        'at_least = "90%"': "contradiction [check] at_least",
        "ways = 1": "contradiction [check] ways",
    },
    Part(CHECK, '[[check]]\nid = "a"\n{}', 13): {
        "marginal = []": "empty_value [check] marginal",
        'marginal = "age"': "wrong_type [check] marginal",
        "marginal = [1]": "wrong_type [check] marginal",
        'marginal = ["age", "age"]': "duplicate [check] marginal",
        'score = "all"\nat_least = 0.9': "unknown_name [check] score",
        'column = "age"': "missing_key [check] column",
        "column = 3": "wrong_type [check] column",
    },
    Part(CHECK, '[[check]]\nid = "a"\n{}', 14): {
        'marginal = ["age"]\ndistance = "l2"': "unknown_name [check] distance",
        'marginal = ["age"]\nbins = "age=0:9:1"': "contradiction [check] bins",
        'marginal = ["age"]\nkeys = [1]': "contradiction [check] keys",
        'marginal = ["age"]\ndecider = "auto"': "contradiction [check] decider",
        'marginal = ["age"]\nat_least = 0.9': "contradiction [check] at_least",
        'score = "overall"\nat_least = "100%"': "invalid_value [check] at_least",
        'score = "overall"\nat_least = 0': "invalid_value [check] at_least",
        'score = "overall"\nat_least = "much"': "invalid_value [check] at_least",
        'score = "overall"\nat_least = true': "wrong_type [check] at_least",
    },
    Part(CHECK, '[[check]]\nid = "a"\n{}', 15): {
        'score = "overall"\nat_least = 0.9\nways = 4': "invalid_value [check] ways",
        'score = "overall"\nat_least = 0.9\nways = 1.5': "wrong_type [check] ways",
        'score = "overall"\nat_least = 0.9\ntau = "5%"': "contradiction [check] tau",
    },
    Part(CHECK, '[[check]]\nid = "a"\n{}', 11): {
        "": "missing_key [check] sql",
        'score = "overall"': "missing_key [check] at_least",
    },
    Part('"5%"', "{}", 8): {
        '"five"': "invalid_value [defaults] tau",
        "0": "invalid_value [defaults] tau",
        '"-5%"': "invalid_value [defaults] tau",
        "true": "wrong_type [defaults] tau",
        "[5]": "wrong_type [defaults] tau",
        "{ a = 1 }": "wrong_type [defaults] tau",
        "2020-01-01": "wrong_type [defaults] tau",
        "nan": "invalid_value [defaults] tau",
        "1e9999999999999999999999": "invalid_value [defaults] tau",
        "0x" + "f" * 5000: "invalid_value [defaults] tau",
        "5%": "not_toml",
        "close": "not_toml",
        "True": "not_toml",
        "": "not_toml",
    },
    Part("0.25", "{}", 9): {
        "0": "invalid_value [defaults] epsilon",
        "-1.5": "invalid_value [defaults] epsilon",
        "nan": "invalid_value [defaults] epsilon",
        "-inf": "invalid_value [defaults] epsilon",
        "1e13": "invalid_value [defaults] epsilon",
        '"much"': "invalid_value [defaults] epsilon",
        "false": "wrong_type [defaults] epsilon",
    },
    Part("0.25", "0.25\n{}", 10): {
        "alpha = 1": "invalid_value [defaults] alpha",
        "alpha = 0.0": "invalid_value [defaults] alpha",
        'decider = "inv_cuont"': "unknown_name [defaults] decider",
        'decider = "x"': "unknown_name [defaults] decider",
        'expect = "Close"': "unknown_name [defaults] expect",
        'severity = "fatal"': "unknown_name [defaults] severity",
        "on_undecided = true": "wrong_type [defaults] on_undecided",
        'synthetic = "tree"': "wrong_type [defaults] synthetic",
        "synthetic = []": "empty_value [defaults] synthetic",
        "synthetic = [1]": "wrong_type [defaults] synthetic",
        'synthetic = ["tree", "tree"]': "duplicate [defaults] synthetic",
        'synthetic = ["Tre"]': "unknown_name [defaults] synthetic",
    },
    Part('"income"', "{}", 12): {
        '" income"': "invalid_value [check] id",
        '""': "empty_value [check] id",
        '"in\\tcome"': "invalid_value [check] id",
        "7": "wrong_type [check] id",
    },
    Part('id = "income"', "{}", 11): {
        "": "missing_key [check] id",
    },
    Part('sql = "SELECT COUNT(*) FROM D"', "{}", 11): {
        "": "missing_key [check] sql",
    },
    Part('"SELECT COUNT(*) FROM D"', "{}", 13): {
        '" \\n"': "empty_value [check] sql",
        '["a"]': "wrong_type [check] sql",
    },
    Part('tau = "5%"', "{}", 11): {
        "": "missing_key [check] tau",
    },
    Part("epsilon = 0.25", "{}", 11): {
        "": "missing_key [check] epsilon",
    },
    Part("[[check]]", "{}\n[[check]]", 12): {
        "[columns.age]\nbounds = [5, 1]": "invalid_value [columns.age] bounds",
        "[columns.age]\nbounds = [5]": "wrong_type [columns.age] bounds",
        '[columns.age]\nbounds = "0:5"': "wrong_type [columns.age] bounds",
        "[columns.age]\nbounds = [0, true]": "wrong_type [columns.age] bounds",
        "[columns.age]\nbounds = [0, inf]": "invalid_value [columns.age] bounds",
        "[columns.age]\nbounds = [0, 10]\nstep = 3": "invalid_value [columns.age] bounds",
        "[columns.age]\nstep = 0": "invalid_value [columns.age] step",
        "[columns.age]\ncells = 0": "invalid_value [columns.age] cells",
        "[columns.age]\ncells = [5, 1]": "invalid_value [columns.age] cells",
        '[columns.age]\ncells = "5"': "wrong_type [columns.age] cells",
        '[columns.age]\ncells = [1, "a"]': "invalid_value [columns.age] cells",
        '[columns.age]\ncells = ["a", "a"]': "invalid_value [columns.age] cells",
        '[columns.age]\ntype = "numbr"': "unknown_name [columns.age] type",
        '[columns."a b"]\nbound = [0, 1]': "unknown_key [columns.a b] bound",
        "[columns]\nbounds = [0, 1]": "misplaced_key [columns.bounds]",
        '[columns]\n"" = { step = 1 }': "empty_value [columns.]",
        "[columns]\nage = 3": "wrong_type [columns.age]",
        "[budget]\ndelta = 1": "invalid_value [budget] delta",
        "[budget]\ndelta = -1e-9": "invalid_value [budget] delta",
        "[budget]\nepsilon = 0": "invalid_value [budget] epsilon",
        "[privacy]\nmax_rows = 3": "contradiction [privacy] max_rows",
        '[privacy]\nunit = " "': "empty_value [privacy] unit",
    },
    Part("[[check]]", "{}\n[[check]]", 13): {
        '[privacy]\nunit = "a"\nmax_rows = 0': "invalid_value [privacy] max_rows",
        '[privacy]\nunit = "a"\nmax_rows = 1.5': "wrong_type [privacy] max_rows",
        '[privacy]\nunit = "a"\nmax_rows = true': "wrong_type [privacy] max_rows",
    },
    Part("[[check]]", "{}\n[[check]]", 11): {
        "[ledger]": "missing_key [ledger] path",
        "[zzz]": "unknown_section [zzz]",
    },
    Part("[private]", "{}", 1): {
        "[privat]": "unknown_section [privat]",
        "epsilon = 1\n[private]": "misplaced_key epsilon",
        "zzz = 1\n[private]": "unknown_key zzz",
        "[private": "not_toml",
    },
    Part('[private]\npath = "p.csv"', "{}", 1): {
        'private = "p.csv"': "wrong_type [private]",
    },
    Part('[synthetic.tree]\npath = "s.csv"', "{}", 4): {
        "[synthetic]": "empty_value [synthetic]",
    },
    Part("[synthetic.tree]", "{}", 5): {
        "[synthetic]": "misplaced_key [synthetic.path]",
    },
    Part("[synthetic.tree]", "{}", 4): {
        "[synthetic.'my tree']": "invalid_value [synthetic.my tree]",
    },
    Part("[[check]]", "{}", 11): {
        "[[checks]]": "unknown_section [checks]",
        "[check]": "wrong_type [check]",
        "[[check]": "not_toml",
    },
    Part("[[check]]", "{}", 12): {
        "[check]\n[check]": "duplicate",
    },
    Part("p.csv", "{}", 2): {
        "${OTHER}/p.csv": "unusable_path [private] path",
        "${EMPTY}": "unusable_path [private] path",
        "${DATA": "unusable_path [private] path",
        "postgresq://me:pw@host/db": "unusable_path [private] path",
        "C:\\Users\\p.csv": "not_toml",
    },
    Part("s.csv", "{}", 5): {
        "${DATA}/${no name}": "unusable_path [synthetic.tree] path",
    },
    Part("tau =", "{}", 8): {
        "tau": "not_toml",
    },
    Part("COUNT(*)", "{}", 13): {
        'SUM("a")': "not_toml",
        "\nCOUNT(*)": "not_toml",
    },
    Part('= "SELECT', "{}", 13): {
        '= """SELECT': "not_toml",
    },
    Part("tau =", "{}", 9): {
        "tau = 1\ntau =": "duplicate",
    },
    Part("[defaults]", "{}", 7): {
        "[private]\n[defaults]": "duplicate",
    },
    Part("[[check]]", "{}", 13): {
        "x = [1,\n": "not_toml",
    },
}


CASES = [(part, text, kind) for part, texts in WRONG.items() for text, kind in texts.items()]


def wrong(part: Part, text: str) -> str:
    """SMALL with one part replaced."""
    assert part.old in SMALL
    return SMALL.replace(part.old, part.new.replace("{}", text), 1)


def kind_of(problem: Problem) -> str:
    """Code and place of a problem, but for the line."""
    section = problem.place.section and f"[{problem.place.section}]"
    return " ".join(filter(None, [problem.code.value, section, problem.place.key]))


@pytest.mark.parametrize(("part", "text", "kind"), CASES)
def test_a_problem_has_its_code_and_place(
    part: Part, text: str, kind: str, refusal: Refusal
) -> None:
    refused = refusal(wrong(part, text))
    (problem,) = refused.problems
    assert (kind_of(problem), problem.place.line) == (kind, part.line)
    assert str(refused) == f"audit.toml, line {part.line}: {printable(problem.message)}"
    assert str(refused).splitlines() == [str(refused)]
    assert SECRET not in str(refused)


@pytest.mark.golden
def test_messages_say_what_is_wrong_and_what_to_do(refusal: Refusal) -> None:
    texts = [
        (part.new.replace("{}", text), wrong(part, text), "audit.toml") for part, text, _ in CASES
    ]
    texts += [(text, text, name) for text, name, *_ in OTHER_FILES if isinstance(text, str)]
    texts += [(text, text, "audit.toml") for text in (SEVERAL, "# nothing\n", "[Alice]\n")]
    told = []
    for shown, text, name in texts:
        told.append(shown.strip() if len(shown) < 300 else f"{shown[:60]} ...")
        told += [
            f"    line {problem.place.line or '-'}: {printable(problem.message)}"
            for problem in refusal(text, name).problems
        ]
    file = Path(__file__).with_name("golden_messages.txt")
    assert matches_golden(file, "\n".join(told) + "\n"), "read the diff of: make golden"


def test_a_table_that_is_a_text(refusal: Refusal) -> None:
    text = SMALL.replace('[synthetic.tree]\npath = "s.csv"', "")
    (problem,) = refusal(f"synthetic = 's.csv'\n{text}").problems
    assert (kind_of(problem), problem.place.line) == ("wrong_type [synthetic]", 1)


SEVERAL = SMALL.replace('"5%"', "0") + 'expct = "far"\n[[check]]\nid = "income"\nsql = ""\n'


def test_all_problems_are_reported_in_order(refusal: Refusal) -> None:
    problems = refusal(SEVERAL).problems
    assert [(kind_of(problem), problem.place.line) for problem in problems] == [
        ("invalid_value [defaults] tau", 8),
        ("unknown_key [check] expct", 14),
        ("duplicate [check] id", 16),
        ("empty_value [check] sql", 17),
    ]


def test_no_more_than_twenty_are_shown(spec: Callable[..., Spec]) -> None:
    text = SMALL + "".join(f"[[check]]\nid = 'c{n}'\n" for n in range(25))
    with pytest.raises(SpecError) as refused:
        spec(text)
    lines = str(refused.value).splitlines()
    assert len(lines) == 21
    assert lines[-1] == "audit.toml: and 5 more problems"
    assert len(refused.value.problems) == 25
    place = Place("check", "sql", 14)
    message = lines[0].partition(": ")[2]
    assert refused.value.problems[0] == Problem(Code.MISSING_KEY, place, message)


def test_an_empty_file_lacks_everything(refusal: Refusal) -> None:
    problems = refusal("# nothing\n").problems
    assert [kind_of(problem) for problem in problems] == [
        "missing_section [private]",
        "missing_section [synthetic]",
        "missing_section [check]",
    ]
    assert [problem.place.line for problem in problems] == [None] * 3


@pytest.mark.parametrize("left", ["", "check = []\n"])
def test_a_spec_without_a_check_selects_nothing(left: str, spec: Callable[..., Spec]) -> None:
    with pytest.raises(NothingSelectedError, match=r"audit\.toml has no \[\[check\]\]") as refused:
        spec(left + HEAD)
    assert refused.value.exit_code == 5


# Text, name, code and line of files that are no specs.
OTHER_FILES: list[tuple[str | bytes, str, str, int | None]] = [
    ("check:\n  - id: x\n", "audit.toml", "not_toml", 1),
    ("- id: x\n", "audit.toml", "not_toml", 1),
    ("---\nprivate: p.csv\n", "audit", "not_toml", 1),
    (SMALL, "audit.yaml", "not_toml", None),
    ("a = 1", "audit.YML", "not_toml", None),
    ('{"check": []}', "audit.toml", "not_toml", 1),
    ('[\n  {"id": 1}\n]', "audit.toml", "not_toml", 1),
    ("[]", "audit.json", "not_toml", None),
    ("SELECT COUNT(*) FROM D;\n", "a.sql", "not_toml", 1),
    (b"PAR1\n\xff\xfe", "p.parquet", "unreadable_file", None),
    (b"PAR1\n\xff\xfe", "audit.toml", "unreadable_file", 2),
    ("a = " + "[" * 5000, "audit.toml", "not_toml", None),
    ("#\na" + ".a" * 20_000 + " = 1", "audit.toml", "not_toml", 2),
    ("[a" + ' . "a"' * 20_000 + "]", "audit.toml", "not_toml", 1),
    ("x = {b = 1, a" + ".a" * 20_000 + " = 1}", "audit.toml", "not_toml", 1),
    ("a = " + "9" * 5000, "audit.toml", "not_toml", None),
    ("#" * 1_000_001, "audit.toml", "unreadable_file", None),
    ("é" * 4_000_000, "audit.toml", "unreadable_file", None),
]


@pytest.mark.parametrize(("text", "name", "code", "line"), OTHER_FILES)
def test_another_kind_of_file(
    text: str | bytes, name: str, code: str, line: int | None, refusal: Refusal
) -> None:
    refused = refusal(text, name)
    (problem,) = refused.problems
    assert (kind_of(problem), problem.place.line) == (code, line)
    where = f"{name}, line {line}: " if line else f"{name}: "
    assert str(refused).endswith(f"{where}{problem.message}")
    assert len(str(refused).splitlines()) == 1


def test_a_table_given_by_mistake_is_not_quoted(refusal: Refusal) -> None:
    for cell in ("Alice", "'Alice'", '"Alice', "Alice = Alice", "[Alice]\n[Alice]", "Alice: 1"):
        assert "Alice" not in str(refusal(f"{cell}\n{cell},Alice\n"))


def test_a_file_of_another_program_is_not_quoted(refusal: Refusal) -> None:
    for text in ("Alice = 1\n", "[Alice]\nAlice = 'Alice'\n", "[[Alice]]\n", '"Alice" = {}'):
        refused = refusal(text)
        assert "Alice" not in str(refused)
        assert [kind_of(problem) for problem in refused.problems] == ["not_a_spec"]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "other.toml").touch()
    messages = set()
    for path in (tmp_path / "audit.toml", tmp_path, "\0"):
        with pytest.raises(SpecError) as refused:
            read_spec(path)
        assert [kind_of(problem) for problem in refused.value.problems] == ["unreadable_file"]
        assert "other" not in str(refused.value)
        messages.add(refused.value.problems[0].message)
    assert len(messages) == 3


def test_the_folder_of_the_spec_is_where_paths_begin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ci").mkdir()
    (tmp_path / "ci" / "audit.toml").write_text(SMALL, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert read_spec(Path("ci/audit.toml"), {}).private.path == Path("ci/p.csv")


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("$${DATA}", "${DATA}"),
        ("$$${DATA}", "$${DATA}"),
        ("${DATA}${DATA}", SECRET * 2),
        ("$DATA $ 5$", "$DATA $ 5$"),
        ("a}b", "a}b"),
    ],
)
def test_only_the_variable_in_braces_is_replaced(
    written: str, found: str, spec: Callable[..., Spec], tmp_path: Path
) -> None:
    assert spec(SMALL.replace("p.csv", written)).private.path == tmp_path / found


def test_a_value_of_the_environment_is_not_expanded_again(tmp_path: Path) -> None:
    path = tmp_path / "audit.toml"
    path.write_text(SMALL.replace("p.csv", "${A}"), encoding="utf-8")
    assert read_spec(path, {"A": "${B}", "B": "x"}).private.path == tmp_path / "${B}"


PIECES = [
    *("[[check]]\n", "[check]\n", "[private]\n", "[synthetic]\n", "[columns.x]\n", "[defaults]\n"),
    *(
        "path = 1\n",
        'path = "${DATA}"\n',
        'path = "${DATA',
        "tau = ",
        "epsilon = nan\n",
        "= ",
        "\n",
    ),
    *(
        '"',
        '"""',
        "'",
        "'''",
        "[",
        "]",
        "{",
        "}",
        "#",
        "\\",
        "\0",
        "\x1b",
        "🦓",
        "${DATA}",
        "- a: b",
    ),
]
values = st.recursive(
    st.sampled_from(["nan", "-inf", "1e400", "0", "true", "1979-05-27", '""', '"5%"', "'${DATA}'"])
    | st.integers().map(str)
    | st.text(st.characters(exclude_categories=["C"], exclude_characters="'"), max_size=5).map(
        "'{}'".format
    ),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]")
        | st.tuples(st.sampled_from(["path", "tau", "x", "bounds"]), inner).map(
            lambda pair: f"{{ {pair[0]} = {pair[1]} }}"
        )
    ),
    max_leaves=4,
)
KEYS = [
    *("id", "sql", "tau", "epsilon", "alpha", "decider", "expect", "severity", "on_undecided"),
    *("synthetic", "bins", "keys", "path", "bounds", "step", "type", "unit", "max_rows", "delta"),
]


@st.composite
def mutated(draw: Callable[..., Any]) -> str:
    """A valid spec with lines and characters cut, doubled, replaced, or values drawn anew."""
    text: str = draw(st.sampled_from([SMALL, FULL]))
    for _ in range(draw(st.integers(1, 3))):
        lines = text.split("\n")
        number = draw(st.integers(0, len(lines) - 1))
        match draw(st.sampled_from(["cut", "double", "move", "value", "piece", "key", "table"])):
            case "cut":
                del lines[number]
            case "double":
                lines.insert(number, lines[number])
            case "move":
                lines.insert(draw(st.integers(0, len(lines) - 1)), lines.pop(number))
            case "value":
                lines[number] = f"{lines[number].partition('=')[0]}= {draw(values)}"
            case "key":
                lines.insert(number, f"{draw(st.sampled_from(KEYS))} = {draw(values)}")
            case "table":
                name = draw(st.sampled_from(["private", "check", "defaults", "columns", "x"]))
                lines = [f"{name} = {draw(values)}", *lines]
            case "piece":
                at = draw(st.integers(0, len(lines[number])))
                end = draw(st.integers(at, len(lines[number])))
                piece = draw(st.sampled_from(PIECES) | st.text(max_size=3))
                lines[number] = lines[number][:at] + piece + lines[number][end:]
        text = "\n".join(lines)
    return text


@examples(400)
@given(text=mutated() | st.text(max_size=40))
def test_any_text_is_a_spec_or_is_refused(
    text: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "fuzzed.toml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        found = read_spec(path, ENVIRON)
    except PqdError as error:
        refused = error
    else:
        check_usable(found)
        return
    lines = str(refused).splitlines()
    assert lines
    assert all(line.isprintable() and SECRET not in line for line in lines)
    last = text.count("\n") + 2
    for problem in refused.problems if isinstance(refused, SpecError) else ():
        assert problem.place.line is None or 1 <= problem.place.line <= last


def check_usable(found: Spec) -> None:
    """Hold a spec to what its user relies on."""
    assert SECRET not in repr(found)
    parse_columns(found.columns)
    for check in found.checks:
        assert check.tolerance.amount > 0
        wanted = Criteria.of(tau=1 if check.tau is None else check.tau, alpha=check.alpha)
        assert check.epsilon is None or wanted.at(check.epsilon).epsilon == check.epsilon
        assert set(check.synthetic) <= set(found.synthetic)
        assert check.decider in {"auto", "paper", *DECIDERS}
        assert os.linesep not in check.id
    assert len({check.id for check in found.checks}) == len(found.checks) > 0


@pytest.mark.parametrize("typo", ["[budget]\ngatee = 0.25", "[budgett]\ngate = 0.25"])
def test_a_misspelt_gate_is_the_one_mistake(typo: str, spec: Callable[..., Spec]) -> None:
    text = "".join(line for line in SMALL.splitlines(True) if not line.startswith("epsilon"))
    with pytest.raises(SpecError) as refused:
        spec(f"{typo}\n{text}")
    assert "did you mean" in str(refused.value)
    assert len(refused.value.problems) == 1


NUMBERS = [
    *("0", "-1", "5", "0.5", "1.0", "0.999", "1e-12", "1e-13", "1e12", "1e13", "1e400", "1e-400"),
    *("nan", "inf", "'5'", "'1/3'", "'x'"),
]


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("key", ["tau", "epsilon", "alpha"])
def test_the_limits_are_those_of_the_library(
    key: str, number: str, spec: Callable[..., Spec]
) -> None:
    terms: dict[str, Any] = {"tau": 1, "epsilon": 1, "alpha": "0.05"}
    terms[key] = tomllib.loads(f"x = {number}", parse_float=Decimal)["x"]
    try:
        Parameters.parse(**terms)
        stated_budget(terms["epsilon"])
    except ParameterError:
        admitted = False
    else:
        admitted = True
    text = SMALL.replace("[[check]]", f"[[check]]\n{key} = {number}")
    if admitted:
        assert getattr(spec(text).checks[0], key) is not None
    else:
        with pytest.raises(SpecError) as refused:
            spec(text)
        (problem,) = refused.value.problems
        assert kind_of(problem) in {f"invalid_value [check] {key}", f"wrong_type [check] {key}"}
        assert problem.place.line == 12
