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

from deciders import DECIDERS
from pqd.budgets import stated_budget
from pqd.columns import parse_columns
from pqd.errors import NothingSelectedError, ParameterError, PqdError
from pqd.parameters import Criteria, Parameters
from pqd.spec import Check, Problem, Source, Spec, SpecError, read_spec
from tests.pqd.spec.spec_texts import FULL, HEAD, SMALL
from tests.support.drawing import examples

SECRET = "hush-7f3a"  # noqa: S105 - what no message may show
ENVIRON = {"DATA": SECRET, "EMPTY": ""}

Refusal = Callable[..., str]


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
    """Read a text as a spec file that is refused; return the message."""

    def read(text: str | bytes, name: str = "audit.toml") -> str:
        with pytest.raises(SpecError) as refused:
            spec(text, name)
        assert refused.value.exit_code == 2
        assert isinstance(refused.value, (PqdError, ValueError))
        return str(refused.value)

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
        "price": {"bounds": [Decimal("-0.5"), "10.25"], "step": Decimal("0.25"), "type": "number"},
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
        synthetic=("tree",),
        bins=None,
        keys=None,
        line=39,
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
        synthetic=("GAN-2_b", "tree"),
        bins="age=0:100:10",
        keys=("HS", 1, Decimal("2.5"), True),
        line=45,
    )
    third = replace(
        first,
        id="third",
        sql="SELECT COUNT(*) FROM D GROUP BY sex, married",
        tau=3,
        keys=(("f", True), ("m", False)),
        line=61,
    )
    assert found.checks == (first, second, third)
    assert [FULL.splitlines()[check.line - 1][:3] for check in found.checks] == ["[[c"] * 2 + [
        "[[ "
    ]


def test_what_is_read_is_what_the_library_takes(spec: Callable[..., Spec]) -> None:
    found = spec(FULL)
    for check in found.checks:
        terms = Parameters.parse(
            tau=check.tau,
            epsilon=check.epsilon or "",
            alpha=check.alpha,
            mechanism=check.decider,
            columns=found.columns,
        )
        assert terms.tolerance.text == str(check.tau)
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


class Part(NamedTuple):
    """A part of SMALL, what replaces it, and the line where that is wrong."""

    old: str
    new: str
    line: int


# What stands for {} in the new part, and words of the only problem that follows.
WRONG: dict[Part, dict[str, str]] = {
    Part("[[check]]", "[[check]]\n{}", 12): {
        "epsilom = 1": '[[check]] "income" has the unknown key "epsilom"; did you mean epsilon?',
        "zzz = 1": 'the unknown key "zzz"; use id, sql, tau,',
        '"a\\nb\\u001b" = 1': 'the unknown key "a\\nb\\x1b"; use id',
        'synthetic = ["gan"]': '[[check]] "income": there is no synthetic table "gan"; use tree',
        "bins = 3": 'bins is the number 3; a text such as "age=0:100:10"',
        "keys = []": "keys is an empty list",
        'keys = "HS"': 'keys is the text "HS"; a list of values such as',
        'keys = ["a", "a"]': 'keys holds the text "a" twice; write it once',
        "keys = [1, 1.0]": "keys holds the number 1.0 twice",
        'keys = [["a"], ["b", 1]]': "keys holds lists of different lengths",
        "keys = [[], []]": "keys holds lists of different lengths, or empty ones",
        'keys = [["a"], "b"]': 'an item of keys is the text "b"; a list, as the others',
        "keys = [nan]": "an item of keys is 'NaN'; a finite number",
        "keys = [1979-05-27]": "an item of keys is a date or time; a text, a number",
    },
    Part('"5%"', "{}", 8): {
        '"five"': "[defaults]: tau is 'five'; a finite number is needed",
        "0": "tau is 0; it must be greater than 0",
        '"-5%"': "it must be greater than 0",
        "true": 'tau is true; an amount such as 10, or a share such as "5%", is needed',
        "[5]": "tau is a list; an amount such as 10",
        "{ a = 1 }": "tau is a table; an amount such as 10",
        "2020-01-01": "tau is a date or time; an amount such as 10",
        "nan": "tau is 'NaN'; a finite number is needed",
        "1e9999999999999999999999": "tau is 'Infinity'; a finite number is needed",
        "0x" + "f" * 5000: "tau is beyond 1.79e308",
        "5%": 'a share needs quotes, such as tau = "5%"',
        "close": 'text needs quotes, such as expect = "close"',
        "True": "TOML writes true and false in small letters",
        "": "write a value after the =",
    },
    Part("0.25", "{}", 9): {
        "0": "epsilon is 0; it must be greater than 0",
        "-1.5": "epsilon is -1.5; it must be greater than 0",
        "nan": "epsilon is 'NaN'; a finite number is needed",
        "-inf": "epsilon is '-Infinity'; a finite number is needed",
        "1e13": "epsilon is 1E+13; it must lie between 1e-12 and 1e12",
        '"much"': "epsilon is 'much'; a finite number is needed",
        "false": "epsilon is false; a number such as 0.25 is needed",
    },
    Part("0.25", "0.25\n{}", 10): {
        "alpha = 1": "alpha is 1; it must lie strictly between 0 and 1",
        "alpha = 0.0": "alpha is 0.0; it must lie strictly between 0 and 1",
        'decider = "inv_cuont"': 'decider is "inv_cuont"; did you mean inv_count?',
        'decider = "x"': 'decider is "x"; use auto, paper,',
        'expect = "Close"': 'expect is "Close"; did you mean close?',
        'severity = "fatal"': 'severity is "fatal"; use error, warn',
        "on_undecided = true": "on_undecided is true; one of the texts fail, warn, pass is",
        'synthetic = "tree"': 'synthetic is the text "tree"; a list of names such as',
        "synthetic = []": "synthetic is an empty list",
        "synthetic = [1]": "an item of synthetic is the number 1; a text is needed",
        'synthetic = ["tree", "tree"]': 'synthetic holds the text "tree" twice',
        'synthetic = ["Tre"]': 'there is no synthetic table "Tre"; did you mean tree?',
    },
    Part('"income"', "{}", 12): {
        '" income"': 'id is " income"; it must be a printable text without spaces at its ends',
        '""': '[[check]] number 1: id is ""; it must be',
        '"in\\tcome"': 'id is "in\\tcome"; it must be a printable text',
        "7": "[[check]] number 1: id is the number 7; a text such as",
    },
    Part('id = "income"', "{}", 11): {
        "": '[[check]] number 1 has no id; add id = "rows"',
    },
    Part('sql = "SELECT COUNT(*) FROM D"', "{}", 11): {
        "": '[[check]] "income" has no sql; add sql = "SELECT',
    },
    Part('"SELECT COUNT(*) FROM D"', "{}", 13): {
        '" \\n"': "sql is empty; a query such as",
        '["a"]': "sql is a list; a query such as",
    },
    Part('tau = "5%"', "{}", 11): {
        "": '[[check]] "income" has no tau; add tau = "5%" to it or to [defaults]',
    },
    Part("epsilon = 0.25", "{}", 11): {
        "": '"income" has no epsilon; add epsilon = 0.25 to it or to [defaults]',
    },
    Part("[[check]]", "{}\n[[check]]", 12): {
        "[columns.age]\nbounds = [5, 1]": "[columns.age]: bounds are reversed; write [1, 5]",
        "[columns.age]\nbounds = [5]": "two numbers are needed, such as bounds = [0, 100]",
        '[columns.age]\nbounds = "0:5"': 'bounds is the text "0:5"; two numbers are needed',
        "[columns.age]\nbounds = [0, true]": "an item of bounds is true; a number is needed",
        "[columns.age]\nbounds = [0, inf]": "upper bound is 'Infinity'",
        "[columns.age]\nbounds = [0, 10]\nstep = 3": "0:10 are not a whole number of steps of 3",
        "[columns.age]\nstep = 0": "step is 0; it must be greater than 0",
        '[columns.age]\ntype = "numbr"': 'type is "numbr"; did you mean number?',
        '[columns."a b"]\nbound = [0, 1]': 'has the unknown key "bound"; did you mean bounds?',
        "[columns]\nbounds = [0, 1]": "has the key bounds but no name; write [columns.age]",
        '[columns]\n"" = { step = 1 }': "[columns] has an empty name",
        "[columns]\nage = 3": "is the number 3; write a table of key = value lines",
        "[budget]\ndelta = 1": "delta is 1; it must be at least 0 and less than 1",
        "[budget]\ndelta = -1e-9": "it must be at least 0 and less than 1",
        "[budget]\nepsilon = 0": "[budget]: epsilon is 0; it must be greater than 0",
        "[privacy]\nmax_rows = 3": 'without unit; add the column of a person: unit = "person_id"',
        '[privacy]\nunit = " "': "unit is empty; a text in quotes is needed",
    },
    Part("[[check]]", "{}\n[[check]]", 13): {
        '[privacy]\nunit = "a"\nmax_rows = 0': "max_rows is 0; it must be 1 or more",
        '[privacy]\nunit = "a"\nmax_rows = 1.5': "1.5; a whole number of 1 or more is needed",
        '[privacy]\nunit = "a"\nmax_rows = true': "max_rows is true; a whole number",
    },
    Part("[[check]]", "{}\n[[check]]", 11): {
        "[ledger]": '[ledger] has no path; add path = "ledger.sqlite"',
        "[zzz]": 'the table "zzz" is unknown; use [private], [synthetic.NAME], [budget]',
    },
    Part("[private]", "{}", 1): {
        "[privat]": 'the table "privat" is unknown; did you mean [private]?',
        "epsilon = 1\n[private]": "it belongs under [budget] or [defaults] or [[check]]",
        "zzz = 1\n[private]": 'the key "zzz" is unknown; use [private]',
        "[private": "close the header, such as [private] or [[check]]",
    },
    Part('[private]\npath = "p.csv"', "{}", 1): {
        'private = "p.csv"': '[private] is the text "p.csv"; write a table of key = value lines',
    },
    Part('[synthetic.tree]\npath = "s.csv"', "{}", 4): {
        "[synthetic]": "[synthetic] is empty; write [synthetic.tree]",
    },
    Part("[synthetic.tree]", "{}", 5): {
        "[synthetic]": "[synthetic] has the key path but no name; write [synthetic.tree]",
    },
    Part("[synthetic.tree]", "{}", 4): {
        "[synthetic.'my tree']": '"my tree" is no name; use letters, digits, _ and - in it',
    },
    Part("[[check]]", "{}", 11): {
        "[[checks]]": 'the table "checks" is unknown; did you mean [[check]]?',
        "[check]": "[check] is a single table; write [[check]], with two brackets",
        "[[check]": "close the header, such as [private] or [[check]]",
    },
    Part("[[check]]", "{}", 12): {
        "[check]\n[check]": "[check] is a single table; write [[check]], with two brackets",
    },
    Part("p.csv", "{}", 2): {
        "${OTHER}/p.csv": 'path = "${OTHER}/p.csv": the environment variable OTHER is not set',
        "${EMPTY}": "the environment variable EMPTY is not set",
        "${DATA": "${ has no }; write ${NAME}, or $${ for the signs ${ themselves",
        "C:\\Users\\p.csv": "a backslash needs single quotes around the text",
    },
    Part("s.csv", "{}", 5): {
        "${DATA}/${no name}": '"no name" is no name of a variable; write ${NAME}',
    },
    Part("tau =", "{}", 8): {
        "tau": "write key = value, a header such as [private]",
    },
    Part("COUNT(*)", "{}", 13): {
        'SUM("a")': "goes between three single ones: sql = '''SELECT ...'''",
        "\nCOUNT(*)": "over several lines three: sql = '''SELECT ...'''",
    },
    Part('= "SELECT', "{}", 13): {
        '= """SELECT': "not TOML: unterminated string; end the text with the three quotes",
    },
    Part("tau =", "{}", 9): {
        "tau = 1\ntau =": "a key or table stands twice; write each of them once",
    },
    Part("[defaults]", "{}", 7): {
        "[private]\n[defaults]": "a key or table stands twice; write each of them once",
    },
    Part("[[check]]", "{}", 13): {
        "x = [1,\n": "not TOML:",
    },
}


@pytest.mark.parametrize(
    ("part", "text", "words"),
    [(part, text, words) for part, texts in WRONG.items() for text, words in texts.items()],
)
def test_a_problem_has_its_line_and_says_what_to_do(
    part: Part, text: str, words: str, refusal: Refusal
) -> None:
    assert part.old in SMALL
    message = refusal(SMALL.replace(part.old, part.new.replace("{}", text), 1))
    assert message.splitlines() == [message]
    assert message.startswith(f"audit.toml, line {part.line}: ")
    assert words in message
    assert SECRET not in message


def test_a_table_that_is_a_text(refusal: Refusal) -> None:
    text = SMALL.replace('[synthetic.tree]\npath = "s.csv"', "")
    words = 'synthetic is the text "s.csv"; write [synthetic.tree]'
    assert refusal(f"synthetic = 's.csv'\n{text}") == f"audit.toml, line 1: {words}"


def test_all_problems_are_reported_in_order(refusal: Refusal) -> None:
    text = SMALL.replace('"5%"', "0") + 'expct = "far"\n[[check]]\nid = "income"\nsql = ""\n'
    assert (
        refusal(text)
        == """\
audit.toml, line 8: [defaults]: tau is 0; it must be greater than 0
audit.toml, line 14: [[check]] "income" has the unknown key "expct"; did you mean expect?
audit.toml, line 16: [[check]] "income" has the id of the check in line 11; ids must differ
audit.toml, line 17: [[check]] "income": sql is empty; a query such as \
"SELECT COUNT(*) FROM D" is needed"""
    )


def test_no_more_than_twenty_are_shown(spec: Callable[..., Spec]) -> None:
    text = SMALL + "".join(f"[[check]]\nid = 'c{n}'\n" for n in range(25))
    with pytest.raises(SpecError) as refused:
        spec(text)
    lines = str(refused.value).splitlines()
    assert len(lines) == 21
    assert lines[-1] == "audit.toml: and 5 more problems"
    assert len(refused.value.problems) == 25
    assert refused.value.problems[0] == Problem(14, lines[0].partition(": ")[2])


def test_an_empty_file_lacks_everything(refusal: Refusal) -> None:
    assert (
        refusal("# nothing\n")
        == """\
audit.toml: there is no [private]; add [private] with path = "private.csv"
audit.toml: there is no [synthetic.NAME]; add [synthetic.tree] with path = "synthetic.csv"
audit.toml: there is no [[check]]; add [[check]] with id = "rows", \
sql = "SELECT COUNT(*) FROM D\""""
    )


@pytest.mark.parametrize("left", ["", "check = []\n"])
def test_a_spec_without_a_check_selects_nothing(left: str, spec: Callable[..., Spec]) -> None:
    with pytest.raises(NothingSelectedError, match=r"audit\.toml has no \[\[check\]\]") as refused:
        spec(left + HEAD)
    assert refused.value.exit_code == 5


@pytest.mark.parametrize(
    ("text", "name", "words"),
    [
        ("check:\n  - id: x\n", "audit.toml", "audit.toml, line 1: it is YAML; a spec is TOML"),
        ("- id: x\n", "audit.toml", "audit.toml, line 1: it is YAML; a spec is TOML"),
        ("---\nprivate: p.csv\n", "audit", "audit, line 1: it is YAML; a spec is TOML"),
        (SMALL, "audit.yaml", "audit.yaml: it is YAML; a spec is TOML"),
        ("a = 1", "audit.YML", "it is YAML; a spec is TOML"),
        ('{"check": []}', "audit.toml", "audit.toml, line 1: it is JSON; a spec is TOML"),
        ('[\n  {"id": 1}\n]', "audit.toml", "it is JSON; a spec is TOML"),
        ("[]", "audit.json", "audit.json: it is JSON; a spec is TOML"),
        ("SELECT COUNT(*) FROM D;\n", "a.sql", "goes to `pqd audit --queries`"),
        (b"PAR1\n\xff\xfe", "p.parquet", "line 2: it is not UTF-8 text; save it as UTF-8"),
        ("a = " + "[" * 5000, "audit.toml", "its lists or tables are nested too deeply"),
        ("#\na" + ".a" * 20_000 + " = 1", "audit.toml, line 2", "a key of 20,001 names"),
        ("[a" + ' . "a"' * 20_000 + "]", "audit.toml, line 1", "a key of 20,001 names"),
        ("x = {b = 1, a" + ".a" * 20_000 + " = 1}", "audit.toml, line 1", "a key of 20,001 names"),
        ("a = " + "9" * 5000, "audit.toml", "it holds a number with thousands of digits"),
        ("#" * 1_000_001, "audit.toml", "it has more than 1,000,000 characters"),
        ("é" * 4_000_000, "audit.toml", "it has more than 1,000,000 characters"),
    ],
)
def test_another_kind_of_file(text: str | bytes, name: str, words: str, refusal: Refusal) -> None:
    message = refusal(text, name)
    assert words in message
    assert len(message.splitlines()) == 1


def test_a_table_given_by_mistake_is_not_quoted(refusal: Refusal) -> None:
    for cell in ("Alice", "'Alice'", '"Alice', "Alice = Alice", "[Alice]\n[Alice]", "Alice: 1"):
        assert "Alice" not in refusal(f"{cell}\n{cell},Alice\n")


def test_a_file_of_another_program_is_not_quoted(refusal: Refusal) -> None:
    for text in ("Alice = 1\n", "[Alice]\nAlice = 'Alice'\n", "[[Alice]]\n", '"Alice" = {}'):
        message = refusal(text)
        assert "Alice" not in message
        assert "it is no spec: it has none of [private]" in message


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"there is no such file; `pqd spec --init"):
        read_spec(tmp_path / "audit.toml")
    (tmp_path / "other.toml").touch()
    with pytest.raises(SpecError, match="there is no such file") as refused:
        read_spec(tmp_path / "audit.toml")
    assert "other" not in str(refused.value)
    with pytest.raises(SpecError, match="it is a folder; name the spec file in it"):
        read_spec(tmp_path)
    with pytest.raises(SpecError, match="it cannot be read; check its name"):
        read_spec("\0")


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
        assert problem.line is None or 1 <= problem.line <= last


def check_usable(found: Spec) -> None:
    """Hold a spec to what its user relies on."""
    assert SECRET not in repr(found)
    parse_columns(found.columns)
    for check in found.checks:
        wanted = Criteria.of(tau=check.tau, alpha=check.alpha)
        assert check.epsilon is None or wanted.at(check.epsilon).epsilon == check.epsilon
        assert set(check.synthetic) <= set(found.synthetic)
        assert check.decider in {"auto", "paper", *DECIDERS}
        assert os.linesep not in check.id
    assert len({check.id for check in found.checks}) == len(found.checks) > 0


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
        with pytest.raises(SpecError, match=f'line 12: .*"income": {key} is'):
            spec(text)
