"""Specs, SQL and tables at random: a report or one message, that names nothing private.

What is refused charges nothing.
"""

import re
import tomllib
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import pqd
from pqd.accounting.ledger import Ledger
from tests.support.drawing import examples

CANARIES = ("zebra", "987654", "31.4159", "2031-12")
PUBLIC = "age,job,pay,born\n" + "".join(
    f"{20 + n},{('cook', 'smith')[n % 2]},{n}.5,1990-01-{n + 1:02}\n" for n in range(20)
)
PRIVATE = PUBLIC + "987654,zebra,31.4159,2031-12-31\n" * 5
SPEC = """\
[private]
path = "private.csv"

[synthetic.copy]
path = "copy.csv"

[budget]
epsilon = 2

[columns.pay]
bounds = [0, 50]
step = 0.5

[defaults]
tau = "50%"
epsilon = 0.5

[[check]]
id = "one"
sql = "SELECT COUNT(*) FROM D WHERE job = 'cook'"

[[check]]
id = "two"
sql = "SELECT SUM(pay) FROM D GROUP BY job"
expect = "far"
"""
WORDS = [
    *("SELECT", "COUNT(*)", "COUNT(DISTINCT job)", "SUM(pay)", "AVG(age)", "MEDIAN(age)", "FROM D"),
    *("QUANTILE(pay, 0.9)", "WHERE", "GROUP BY", "job", "age", "pay", "born", "AND", "OR", "NOT"),
    *("=", "<", ">=", "<>", "IS NULL", "LIKE", "IN", "(", ")", ",", "'cook'", "'%'", "30", "0.5"),
    *("CAST(job AS INT)", "1/0", "(SELECT 1)", "'1990-01-05'", "-", "*", "CASE", "END", ";", "--"),
    *("BETWEEN", "NULL", "TRUE", "YEAR(born)", "LENGTH(job)", '"job"', "1e999", "\x00", "é", "D"),
]
FORMS = [
    "SELECT {a} FROM D WHERE {p}",
    "SELECT {a} FROM D WHERE {p} GROUP BY job",
    "SELECT job, {a} FROM D WHERE {p} GROUP BY job, born",
]
AGGREGATES = [word for word in WORDS if "(" in word and word.isupper() is False] + ["COUNT(*)"]

sqls = st.one_of(
    st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join),
    st.builds(
        lambda form, a, p: form.format(a=a, p=" ".join(p)),
        st.sampled_from(FORMS),
        st.sampled_from(AGGREGATES),
        st.lists(st.sampled_from(WORDS), min_size=1, max_size=7),
    ),
    st.text(max_size=40),
)


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """Spec with lines dropped, doubled, swapped or changed."""
    lines = SPEC.splitlines()
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(lines) - 1))
        match draw(st.sampled_from(["drop", "double", "swap", "value", "sign", "text"])):
            case "drop" if len(lines) > 1:
                del lines[place]
            case "double":
                lines.insert(place, lines[place])
            case "swap":
                other = draw(st.integers(0, len(lines) - 1))
                lines[place], lines[other] = lines[other], lines[place]
            case "value":
                key = lines[place].partition("=")[0]
                values = ["-1", "nan", '"x"', "[]", "{}", "true", "1979-05-27", "1e400", '"50%"']
                lines[place] = f"{key}= {draw(st.sampled_from(values))}"
            case "sign" if lines[place]:
                cut = draw(st.integers(0, len(lines[place]) - 1))
                sign = draw(st.sampled_from(list("\"[]=#{}'\\\t.-0é")))
                lines[place] = lines[place][:cut] + sign + lines[place][cut + 1 :]
            case _:
                lines[place] = draw(st.text(max_size=20)).replace("\n", " ")
    return "\n".join(lines)


def with_sql(sql: str) -> str:
    quoted = "".join(
        f"\\u{ord(sign):04x}" if ord(sign) < 0x10000 else f"\\U{ord(sign):08x}" for sign in sql
    )
    # The other check is the same in every input, and test_specs tries its sums: a count is enough
    # to show that it goes on, at a third of the time.
    text = SPEC.replace("SUM(pay)", "COUNT(*)")
    return text.replace("SELECT COUNT(*) FROM D WHERE job = 'cook'", quoted)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    found = tmp_path_factory.mktemp("fuzz")
    (found / "private.csv").write_text(PRIVATE, encoding="utf-8")
    (found / "copy.csv").write_text(PUBLIC, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(found)
        yield found


def tried(folder: Path, text: str) -> None:
    """Run a spec: a refusal charges nothing, and no private value is ever said."""
    spec, ledger = folder / "audit.toml", folder / "pqd-ledger.sqlite"
    ledger.unlink(missing_ok=True)
    spec.write_text(text, encoding="utf-8", errors="surrogatepass")
    try:
        report = pqd.check(spec, ledger=ledger)
    except pqd.PqdError as error:
        said = str(error)
        assert not ledger.exists() or not Ledger(ledger).accounts
    else:
        said = str(report) + report.to_json()
        broken = [entry for entry in report.checks if entry.gate == "error"]
        if len(broken) == len(report.checks):
            assert not ledger.exists()
    # What the input itself holds, or declares to be synthetic, is no secret.
    if not declared_public(text):
        assert not any(named(canary, said) for canary in CANARIES if canary not in text)


def named(canary: str, said: str) -> bool:
    """Whether a canary is said, not merely digits of a longer number.

    A report holds dozens of probabilities of 16 digits, and has six given ones in a row by chance
    in up to one test run of a thousand.
    """
    return re.search(rf"(?<!\d)(?<!\d\.){re.escape(canary)}(?!\d)", said) is not None


def declared_public(text: str) -> bool:
    """Whether a mutation has put the private table in the place of a synthetic one."""
    try:
        data = tomllib.loads(text)
    except ValueError:
        return False
    return "private.csv" in str(data.get("synthetic"))


quick = settings(
    examples(100), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@quick
@given(text=mutated())
@example(text=SPEC)
@example(text="check:\n  - id: one\n    sql: SELECT 1\n")
def test_specs(folder: Path, text: str) -> None:
    tried(folder, text)


@quick
@given(sql=sqls)
@example(sql="SELECT COUNT(*) FROM D WHERE job > 'a' GROUP BY job")
@example(sql="SELECT SUM(age) FROM D")
@example(sql="SELECT FROM D")
def test_sql(folder: Path, sql: str) -> None:
    tried(folder, with_sql(sql))


HEADERS = [b"age,job,pay,born", b"age;job;pay;born", b"age\tjob\tpay\tborn", b'"age",job,pay,born']
FIELDS = [
    *(b"30", b"-1", b"0.5", b"1e999", b"nan", b"30 ", b"cook", b"'cook'", b'"cook"', b'"co""ok"'),
    *(b'"a\nb"', b'"', b'""', b'x"y', b"1990-01-05", b"1990-13-45", b"24:00", b"true", b"NULL"),
    *(b"\xff", b"\xef\xbb\xbf", b"\0", b"\xed\xa0\x80", b"=1+1", b"#", b"\\", b"", b"9" * 400),
]
cells = st.sampled_from(FIELDS) | st.binary(max_size=3)
# Whole columns are mostly of one kind, as the copy's are read.
usual = st.sampled_from([line.encode() for line in PUBLIC.splitlines()[1:]])
odd = st.lists(cells, max_size=6).map(b",".join)


@st.composite
def tables(draw: st.DrawFn) -> bytes:
    """Table, mostly well formed, as the bytes of a CSV."""
    header = draw(st.sampled_from(HEADERS) | st.binary(max_size=12))
    lines = draw(st.lists(usual, max_size=8)) + draw(st.lists(usual | odd, max_size=4))
    ends = st.sampled_from([b"\n", b"\r\n", b"\n", b"\r", b"\n\n"])
    return header + draw(ends) + b"".join(line + draw(ends) for line in lines)


@quick
@given(private=tables() | st.just(PRIVATE.encode()), synthetic=tables() | st.just(PUBLIC.encode()))
@example(private=PRIVATE.encode(), synthetic=PUBLIC.encode())
@example(private=b"", synthetic=PUBLIC.encode())
@example(private=PRIVATE.encode(), synthetic=b"\0")
def test_tables(folder: Path, private: bytes, synthetic: bytes) -> None:
    """Whatever the bytes of either table are, and the columns that come of them."""
    (folder / "odd.csv").write_bytes(private)
    (folder / "odd_copy.csv").write_bytes(synthetic)
    tried(folder, SPEC.replace("private.csv", "odd.csv").replace("copy.csv", "odd_copy.csv"))


# Whatever a caller may take for a name or a value, of any type.
names = st.one_of(
    *(st.text(max_size=20), st.characters(categories=["Cs", "Cc", "Cf"]), st.none(), st.floats()),
    *(st.integers(), st.binary(max_size=3), st.booleans(), st.decimals(), st.datetimes()),
    *(st.lists(st.integers(), max_size=1), st.just({}), st.builds(object), st.just(pd.NA)),
)


@quick
@given(name=names, key=names)
@example(name=b"x", key="cook")
@example(name="\ud800", key="cook")
@example(name="one", key="\ud800")
@example(name="one", key=Decimal("sNaN"))
@example(name="one", key=pd.NA)
def test_ids_and_keys(folder: Path, name: Any, key: Any) -> None:
    """Whatever a query is called and its groups are, it is refused, or every report holds it."""
    ledger = folder / "pqd-ledger.sqlite"
    ledger.unlink(missing_ok=True)
    sql = "SELECT COUNT(*) FROM D GROUP BY job"
    try:
        query = pqd.Query(sql, name, keys=((key,),))
        copy, private = folder / "copy.csv", folder / "private.csv"
        report = pqd.audit(private, copy, query, tau=5, epsilon=1, ledger=ledger)
    except pqd.PqdError as error:
        said = str(error)
        assert not ledger.exists() or not Ledger(ledger).accounts
    else:
        said = str(report) + report.to_json() + report.to_html() + report.to_markdown()
        assert len(report.to_frame()) == 1
    assert said.encode(), "it can be printed"


def test_the_check_sees_a_canary(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A product that named a private value would be caught."""

    def leaking(*_: object, **__: object) -> None:
        raise pqd.PqdError("cannot read 'zebra' as a number")

    monkeypatch.setattr(pqd, "check", leaking)
    with pytest.raises(AssertionError):
        tried(folder, SPEC)
