"""Public slips are told before anything is spent, and what is seldom meant is not refused."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

import pqd
from pqd.accounting.accountant import Accountant
from pqd.cli import command_line
from pqd.commands.audit import run_audit
from pqd.deciders import SecureNoise
from pqd.deciders.note import WARNING, Note, note
from pqd.deciders.options import for_shell
from pqd.errors import ParameterError
from pqd.parameters import Parameters
from pqd.progress import Step, strict, warn
from pqd.sql.workload_files import as_queries

Ran = tuple[int, str, str]
COPY = pd.DataFrame(
    {
        "sex": ["Female", "Male", None] * 20,
        "code": ["7", "8", "9"] * 20,
        "age": [float(n % 50) for n in range(60)],
    }
)
PRIVATE = COPY.head(55)
ALL = "SELECT COUNT(*) FROM D"


def warnings(sql: str = ALL, **terms: Any) -> list[str]:
    given = {"tau": "5", "alpha": "0.05", **terms}
    report = pqd.plan(COPY, sql, **given)
    return [note for note in map(str, report.notes) if note.startswith(WARNING)]


SLIPS = {
    "sex = 'female'": ["'female'", "'Female'"],
    "sex <> 'female'": ["'female'"],
    "'female' = sex": ["'female'"],
    "sex IN ('Male', 'Femal')": ["'Femal'", "'Female'"],
    "NOT (age > 3 AND sex = 'male')": ["'male'", "'Male'"],
    "sex LIKE 'female'": ["'female'", "'Female'"],
    "age = 99": ["never 99", "49"],
    "age IN (3, 7.4)": ["never 7.4", "is 7"],
    "age <> -5": ["never -5", "is 0"],
    "CASE WHEN sex = 'xyz' THEN 1 ELSE 2 END = 1": ["'xyz'"],
}


@pytest.mark.parametrize("where", SLIPS)
def test_a_text_that_the_copy_never_holds(where: str) -> None:
    (warning,) = warnings(f"{ALL} WHERE {where}", tau="5")
    assert all(word in warning for word in SLIPS[where])


@pytest.mark.parametrize(
    "where",
    [
        "sex = 'Female' OR sex <> 'Male'",
        "sex < 'b'",
        "sex LIKE 'fem%'",
        "age > 99",
        "age = 49",
        "age >= 99",
        "sex LIKE '_emale'",
        "sex LIKE 'Female'",
        "LOWER(sex) = 'female'",
        "sex || 'x' = 'female'",
        "sex IS NULL",
    ],
)
def test_what_is_no_slip(where: str) -> None:
    assert warnings(f"{ALL} WHERE {where}") == []


def test_many_constants_of_a_column_are_one_warning() -> None:
    texts = " OR ".join(f"sex = 'x{number}'" for number in range(500))
    (of_texts,) = warnings(f"{ALL} WHERE {texts}")
    assert all(each in of_texts for each in ("'x0'", "'x1'", "'x2'", "497 other"))
    assert len(of_texts) < 200
    numbers = ", ".join(f"{number}.5" for number in range(500))
    (of_numbers,) = warnings(f"{ALL} WHERE age IN ({numbers})")
    assert all(each in of_numbers for each in ("0.5", "1.5", "2.5", "497 other"))


def test_a_long_constant_is_cut() -> None:
    (warning,) = warnings(f"{ALL} WHERE sex <> '{'9' * 10_000}'")
    assert len(warning) < 250


def test_values_are_those_of_all_copies_however_they_name_and_spell_them() -> None:
    first = COPY.assign(age=COPY["age"] + 0.0)
    second = COPY.rename(columns=str.upper).assign(AGE=COPY["age"] + 1000)
    tables = {"first": first, "second": second}
    asked = [f"{ALL} WHERE age = 1007", f"{ALL} WHERE age = 1060"]
    report = pqd.compare(PRIVATE, tables, asked, tau="5", epsilon=1)
    (warning,) = [note for note in map(str, report.notes) if note.startswith(WARNING)]
    assert "never 1,060" in warning
    assert "is 1,049" in warning


SPELT = [f"{number}{end}" for number in range(6000) for end in ("", ".0")]


@pytest.mark.parametrize(
    ("values", "told"), [(SPELT, True), (list(map(str, range(12_000))), False)]
)
def test_of_very_many_values_none_is_listed(values: list[str], told: bool) -> None:
    """Spellings of one number are one value."""
    columns = {"code": {"type": "number"}}
    options: dict[str, Any] = {"tau": "5", "epsilon": 1, "columns": columns}
    report = pqd.plan(pd.DataFrame({"code": values}), f"{ALL} WHERE code <> 7.5", **options)
    assert any("never 7.5" in note for note in map(str, report.notes)) is told


def test_stated_keys_are_held_against_the_copy(tmp_path: Path) -> None:
    COPY.to_csv(tmp_path / "copy.csv", index=False)
    PRIVATE.to_csv(tmp_path / "private.csv", index=False)
    (tmp_path / "audit.toml").write_text(
        '[private]\npath = "private.csv"\n[synthetic.copy]\npath = "copy.csv"\n[[check]]\n'
        'id = "a"\ntau = 5\nepsilon = 1\nkeys = ["Male", "woman"]\n'
        'sql = "SELECT COUNT(*) FROM D GROUP BY sex"\n'
    )
    report = pqd.check(tmp_path / "audit.toml", dry_run=True)
    (warning,) = [note for note in map(str, report.notes) if note.startswith(WARNING)]
    assert "'woman'" in warning
    assert "copy.csv" in warning


TERMS: dict[str, tuple[dict[str, Any], str]] = {
    "a tau of all": ({"tau": "100%"}, "tau 100%"),
    "a tau of more": ({"tau": "250%"}, "tau 250%"),
    "an alpha above a half": ({"alpha": "0.95"}, "alpha 0.95"),
    "much epsilon": ({"epsilon": "10.5"}, "epsilon 10.5"),
}


@pytest.mark.parametrize("how", TERMS)
def test_strange_terms(how: str) -> None:
    terms, words = TERMS[how]
    (warning,) = warnings(**terms)
    assert words in warning


@pytest.mark.parametrize(
    "terms", [{"tau": "1"}, {"tau": "99%"}, {"alpha": "0.5"}, {"epsilon": "10"}]
)
def test_terms_at_the_edge_are_not_strange(terms: dict[str, Any]) -> None:
    assert warnings(**terms) == []


AVERAGE = "SELECT AVG(age) FROM D"


def test_a_mean_and_a_share_of_rows_may_have_a_small_tolerance() -> None:
    assert warnings(AVERAGE, tau="0.5") == []
    assert pqd.plan(COPY, f"{ALL} WHERE age > 40", tau="0.5", scale="rows").queries


@pytest.mark.parametrize("aggregate", ["COUNT(*)", "COUNT(age)", "COUNT(DISTINCT age)"])
def test_a_count_has_no_tolerance_below_one(aggregate: str) -> None:
    """``0.05`` of a COUNT may have been meant as a share, so it is refused, in every function."""
    count = f"SELECT {aggregate} FROM D"
    told = r"^tau is 0\.05 for the COUNT of q2: only .* write 5% .* an amount of 1 or more$"
    calls: list[Callable[..., object]] = [
        lambda **terms: pqd.plan(COPY, **terms),
        lambda **terms: pqd.audit(PRIVATE, COPY, epsilon=1, **terms),
        lambda **terms: pqd.gate(PRIVATE, COPY, epsilon=1, **terms),
        lambda **terms: pqd.compare(PRIVATE, {"a": COPY}, epsilon=1, **terms),
    ]
    for call in calls:
        with pytest.raises(ParameterError, match=told):
            call(queries=[AVERAGE, count], tau=0.05)
    with pytest.raises(ParameterError, match=told.replace(r"0\.05", "1/20")):
        pqd.plan(COPY, [AVERAGE, pqd.Query(count, "q2", tau="1/20")], tau="5%")


# When it is told ---------------------------------------------------------------------------------


def test_it_is_told_before_the_charge_and_in_the_report(tmp_path: Path) -> None:
    seen: list[str] = []

    def progress(stage: Step | Note, done: int = 0, total: int = 0) -> None:
        seen.append(str(stage))
        assert done <= total

    terms = Parameters.parse(tau=5, epsilon=11, alpha=0.05)
    queries = as_queries(f"{ALL} WHERE sex = 'female'")
    accountant = Accountant(tmp_path / "ledger.sqlite")
    report = run_audit(
        PRIVATE, COPY, queries, terms, SecureNoise(), progress, accountant=accountant
    )
    told = [stage for stage in seen if stage.startswith(WARNING)]
    assert len(told) == 2
    assert seen.index(told[-1]) < seen.index("Recognising the private table")
    assert set(told) <= set(map(str, report.notes))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    COPY.to_csv(tmp_path / "copy.csv", index=False)
    PRIVATE.to_csv(tmp_path / "private.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


BASE = ["audit", "private.csv", "copy.csv", "-q", ALL, "--tau", "5"]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "budget", [["--epsilon", "20"], ["--total-epsilon", "20", "--sharing", "alone"]]
)
def test_the_command_tells_it_on_standard_error(
    budget: list[str], command: Callable[..., Ran]
) -> None:
    code, out, err = command(*BASE, *budget, "--json", "-")
    assert code == 0
    assert err.startswith(f"pqd: {WARNING}epsilon 20 protects hardly anybody")
    assert len(err.splitlines()) == 1
    assert WARNING in out


def test_it_is_told_with_a_refusal_that_it_may_explain() -> None:
    """A text that the copy never holds counts no row, of which no share can be taken."""
    with pytest.raises(ParameterError, match="the nearest that it holds is 'Female'") as refused:
        pqd.plan(COPY, f"{ALL} WHERE sex = 'female'", tau="5%")
    assert str(refused.value).startswith("query q1: tau is 5% of the synthetic answer, which is 0")


# What is refused ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        [*BASE, "--epsilon", "100.1"],
        [*BASE, "--total-epsilon", "1e12"],
        ["compare", "private.csv", "a=copy.csv", "-q", ALL, "--tau", "5", "--epsilon", "101"],
        ["release", "private.csv", "copy.csv", "-q", ALL, "--total-epsilon", "1e6"],
        ["plan", "copy.csv", "-q", ALL, "--tau", "5", "--epsilon", "1e6"],
    ],
)
def test_a_budget_that_protects_nobody_is_refused(
    words: list[str], folder: Path, command: Callable[..., Ran]
) -> None:
    code, out, err = command(*words)
    assert (code, out) == (2, "")
    assert "at most 100 can be asked for" in err
    assert not list(folder.glob("*.sqlite"))


@pytest.mark.parametrize(
    "ask",
    [
        lambda epsilon: pqd.audit(PRIVATE, COPY, ALL, tau=5, epsilon=epsilon),
        lambda epsilon: pqd.audit(PRIVATE, COPY, ALL, tau=5, total_epsilon=epsilon),
        lambda epsilon: pqd.compare(PRIVATE, {"a": COPY}, ALL, tau=5, epsilon=epsilon),
        lambda epsilon: pqd.compare(
            PRIVATE, {"a": COPY}, ALL, tau=5, epsilon=1, references=epsilon
        ),
        lambda epsilon: pqd.release(PRIVATE, COPY, ALL, total_epsilon=epsilon),
        lambda epsilon: pqd.plan(COPY, ALL, tau=5, epsilon=epsilon),
    ],
    ids=["audit", "shared", "compare", "references", "release", "plan"],
)
def test_the_library_refuses_it_too(ask: Callable[[float], object], folder: Path) -> None:
    with pytest.raises(ParameterError, match="at most 100 can be asked for"):
        ask(100.1)
    assert not list(folder.glob("*.sqlite"))


@pytest.mark.usefixtures("folder")
def test_rows_of_nobody_are_refused(command: Callable[..., Ran]) -> None:
    code, _, err = command(*BASE, "--epsilon", "1", "--max-rows", "3")
    assert code == 2
    assert "no unit says whose rows" in err
    with pytest.raises(ParameterError, match="no unit"):
        pqd.plan(COPY, ALL, tau=5, epsilon=Fraction(1), max_rows=2)


# Keys of persons --------------------------------------------------------------------------------

KEYS = pd.DataFrame({"Person_ID": [n // 2 for n in range(60)], "age": range(60)})


def key_notes(frame: pd.DataFrame, **terms: Any) -> list[str]:
    report = pqd.plan(frame, ALL, tau=5, **terms)
    return [note for note in map(str, report.notes) if "key of a person" in note]


def test_a_key_that_repeats_without_a_unit_is_told() -> None:
    (note,) = key_notes(KEYS)
    assert note.startswith(f'{WARNING}"Person_ID"')
    assert 'unit="Person_ID" ' in note
    assert key_notes(KEYS, unit="person_id") == []
    assert key_notes(KEYS, row_is_person=True) == []
    plan = pqd.profile(None, KEYS, dry_run=True)
    assert note in map(str, plan.notes)
    assert pqd.profile(None, KEYS, dry_run=True, row_is_person=True).notes != plan.notes
    assert note in [str(each.note) for each in pqd.lint(KEYS).findings]


@pytest.mark.parametrize(
    "name", ["patient", "Customer", "kunde", "card_no", "cardnumber", "account_id", "household_id"]
)
def test_a_key_may_be_named_like_the_person_alone(name: str) -> None:
    (note,) = key_notes(KEYS.rename(columns={"Person_ID": name}))
    assert f'unit="{name}"' in note


@pytest.mark.parametrize(
    "frame",
    [
        KEYS.drop_duplicates("Person_ID"),
        KEYS.rename(columns={"Person_ID": "vendorID"}),
        KEYS.rename(columns={"Person_ID": "employee_num"}),
        KEYS.rename(columns={"Person_ID": "education-num"}),
        KEYS.rename(columns={"Person_ID": "zip"}),
        KEYS.rename(columns={"Person_ID": "subject_code"}),
        KEYS.rename(columns={"Person_ID": "customers"}),
        KEYS.assign(Person_ID=["unknown"] * 5 + [f"p{n}" for n in range(55)]),
        KEYS.assign(Person_ID=[n % 19 for n in range(60)]),
        KEYS.assign(Person_ID=""),
        KEYS.head(0).assign(age=[]).reindex(range(3)),
    ],
)
def test_what_is_no_key_or_does_not_repeat_is_not_told(frame: pd.DataFrame) -> None:
    assert key_notes(frame) == []


# Warnings as errors ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ["audit", "private.csv", "copy.csv", "-q", f"{ALL} WHERE sex = 'x'", "--tau", "1",
         "--alpha", "0.6", "--epsilon", "1"],
        ["plan", "copy.csv", "-q", f"{ALL} WHERE sex = 'x'", "--tau", "1", "--alpha", "0.6"],
        ["compare", "private.csv", "a=copy.csv", "-q", f"{ALL} WHERE sex = 'x'", "--tau", "1",
         "--alpha", "0.6", "--epsilon", "1"],
        ["compare", "private.csv", "a=copy.csv", "-q", f"{ALL} WHERE sex = 'x'", "--tau", "1",
         "--alpha", "0.6", "--epsilon", "1", "--with-references", "--reference-epsilon", "1"],
        ["release", "private.csv", "copy.csv", "-q", f"{ALL} WHERE sex = 'x'",
         "--total-epsilon", "11"],
        ["profile", "private.csv", "copy.csv", "--total-epsilon", "11", "--alpha", "0.6",
         "--anyway"],
        ["profile", "private.csv", "copy.csv", "--total-epsilon", "11", "--alpha", "0.6",
         "--dry-run"],
    ],
)  # fmt: skip
def test_warnings_are_errors_where_that_is_asked_and_nothing_is_spent(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    COPY.to_csv(tmp_path / "copy.csv", index=False)
    PRIVATE.to_csv(tmp_path / "private.csv", index=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PQD_LEDGER", raising=False)
    result = CliRunner().invoke(command_line(), [*arguments, "--strict"])
    assert str(result.exception) == "2 warnings, which --strict makes errors; nothing was spent"
    assert not (tmp_path / "pqd-ledger.sqlite").exists()
    told = [line for line in result.stderr.splitlines() if line.startswith(f"pqd: {WARNING}")]
    assert len(told) == 2


SPEC = """[private]
path = "private.csv"
[synthetic.one]
path = "copy.csv"
[defaults]
tau = "100%"
epsilon = 11
[[check]]
id = "one"
sql = "SELECT COUNT(*) FROM D"
"""


@pytest.mark.parametrize("dry", [False, True])
def test_a_strict_check_spends_nothing(
    dry: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    COPY.to_csv(tmp_path / "copy.csv", index=False)
    PRIVATE.to_csv(tmp_path / "private.csv", index=False)
    (tmp_path / "audit.toml").write_text(SPEC, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PQD_LEDGER", raising=False)
    options = ["--ledger", "here.sqlite", *(["--dry-run"] if dry else [])]
    result = CliRunner().invoke(command_line(), ["check", "audit.toml", *options, "--strict"])
    assert str(result.exception) == "2 warnings, which --strict makes errors; nothing was spent"
    assert not (tmp_path / "here.sqlite").exists()
    assert len([line for line in result.stderr.splitlines() if WARNING in line]) == 2
    without = CliRunner().invoke(command_line(), ["check", "audit.toml", *options])
    assert without.exception is None or without.exit_code == 1
    assert (tmp_path / "here.sqlite").exists() is not dry


def test_strict_runs_without_a_warning_are_as_others() -> None:
    seen: list[Step | Note] = []
    a, b = note("alpha-wide", alpha=1), note("tau-wide", tolerance="100%")
    with strict(stated=True):
        warn([], lambda stage, *_: seen.append(stage))
        with (
            for_shell(),
            pytest.raises(ParameterError, match=r"^1 warning, which --strict makes an error"),
        ):
            warn([a, a], lambda stage, *_: seen.append(stage))
    warn([b], lambda stage, *_: seen.append(stage))
    assert seen == [a, b]


def test_many_queries_beyond_stated_bounds_are_one_note() -> None:
    asked = [f"SELECT AVG(age) FROM D WHERE age <= {49 - number}" for number in range(20)]
    columns = {"age": {"bounds": (0, 50)}}
    report = pqd.plan(COPY, asked, tau="60", columns=columns)
    (note,) = [note for note in map(str, report.notes) if "reaches beyond" in note]
    assert note.startswith("q1, q2, q3, q4, q5, q6 and 14 more: the tolerance reaches beyond")


@pytest.mark.parametrize(
    ("tau", "queries", "warned"),
    [
        ("5", ["COUNT(*)"], True),
        (5, ["COUNT(*)", "SUM(x)"], True),
        # One of the answers is small, so an amount may well be meant.
        ("5", ["COUNT(*)", "COUNT(*) FILTER"], False),
        ("20", ["COUNT(*)"], False),
        ("5%", ["COUNT(*)"], False),
        ("0.1% of rows", ["COUNT(*)"], False),
        ("5", ["MEDIAN(x)"], False),
    ],
)
def test_an_amount_that_is_probably_meant_in_per_cent(
    tau: str | float, queries: list[str], warned: bool
) -> None:
    frame = pd.DataFrame({"x": [*range(1, 101)] * 28 + [1] * 55})
    sql = {"COUNT(*) FILTER": "SELECT COUNT(*) FROM D WHERE x = 7"}
    plan = pqd.plan(frame, [sql.get(each, f"SELECT {each} FROM D") for each in queries], tau=tau)
    found = [str(each) for each in plan.notes if each.code == "tau-amount"]
    assert len(found) == warned
    if warned:
        assert found[0].startswith(
            f"{WARNING}tau 5 is an amount: the private answer must lie within 5"
        )
        assert found[0].endswith(
            "of answers of 2,855 and more; for a share of the answer write 5%."
        )
