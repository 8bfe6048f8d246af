"""What a caller states: tolerance, bounds, steps, kinds; read exactly or refused."""

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pqd
from pqd.deciders import Lattice, SecureNoise
from pqd.errors import DeciderError, ParameterError, PqdError, UnanswerableError
from pqd.parameters import Parameters
from pqd.sql.schema import Kind
from pqd.sql.tolerance import Tolerance
from pqd.stated.column_facts import (
    ColumnFacts,
    bounded_lattice,
    parse_bounds,
    parse_columns,
    parse_type,
    stated_kinds,
)
from tests.support.likeness import like

TABLE = pd.DataFrame({"age": [1, 2, 3, 4], "capital-gain": [0, 5, 10, 20], "Sex": list("fmfm")})


@pytest.mark.parametrize(
    ("tau", "amount", "relative"),
    [
        (10, Fraction(10), False),
        ("10", Fraction(10), False),
        (" 0.1 ", Fraction(1, 10), False),
        (0.1, Fraction(1, 10), False),
        ("1/3", Fraction(1, 3), False),
        (Decimal("2.50"), Fraction(5, 2), False),
        ("3.2%", Fraction(32, 1000), True),
        ("3.2 %", Fraction(32, 1000), True),
        ("200%", Fraction(2), True),
        ("1e-3%", Fraction(1, 100_000), True),
    ],
)
def test_tau_is_read_exactly(tau: Any, amount: Fraction, relative: object) -> None:
    found = Tolerance.parse(tau)
    assert (found.amount, found.relative) == (amount, relative)
    assert found.text == str(tau).strip()


@pytest.mark.parametrize("text", ["0.1% of rows", " .1 % of the rows", "1/10% OF ROWS"])
def test_a_share_of_the_rows_is_read_exactly(text: str) -> None:
    found = Tolerance.parse(text)
    assert (found.amount, found.relative, found.of_rows) == (Fraction(1, 1000), False, True)
    assert found.share == Fraction(1, 1000)
    assert found.of(Fraction(0), Fraction(30_000)) == 30
    with pytest.raises(UnanswerableError, match="the copy has no row"):
        found.of(Fraction(0), Fraction(0))
    with pytest.raises(ParameterError, match="no number of rows"):
        found.of(Fraction(5))


@pytest.mark.parametrize(
    "text", ["0% of rows", "100% of rows", "% of rows", "5 of rows", "x% of rows"]
)
def test_what_is_no_share_of_the_rows_is_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="tau"):
        Tolerance.parse(text)


@pytest.mark.parametrize(
    ("sql", "scale", "tau"),
    [
        ("SELECT COUNT(*) FROM D WHERE age > 100", None, 2),
        ("SELECT COUNT(*) FROM D WHERE age > 100", "rows", 50),
        ('SELECT COUNT("capital-gain") FROM D', None, 2),
    ],
)
def test_a_count_has_a_tolerance_in_rows(sql: str, scale: str | None, tau: int) -> None:
    plan = pqd.plan(TABLE, sql, tau="50% of rows", epsilon=1, scale=scale)
    assert plan.queries[0].tau == tau


@pytest.mark.parametrize("sql", ["SELECT SUM(age) FROM D", "SELECT COUNT(DISTINCT age) FROM D"])
@pytest.mark.parametrize("epsilon", [1, None])
def test_other_answers_have_no_tolerance_in_rows(sql: str, epsilon: Any) -> None:
    with pytest.raises(ParameterError, match="no number of rows; give an amount"):
        pqd.plan(TABLE, sql, tau="50% of rows", epsilon=epsilon)


def test_each_copy_has_a_tolerance_in_its_own_rows() -> None:
    copies = {"a": TABLE, "b": pd.concat([TABLE] * 3)}
    private = pd.concat([TABLE] * 2)
    query = "SELECT COUNT(*) FROM D WHERE age > 1"
    report = pqd.compare(like(private), copies, query, tau="50% of rows", epsilon=1)
    assert [cell.tau for cell in report.queries[0].cells] == [2, 6]


NO_AMOUNT: list[Any] = [
    *(0, -1, "0", "-3", "0%", "-5%", "%", "", " ", "nan", "inf", "-inf", "1e999", "ten", "5%%"),
    *(float("nan"), float("inf"), True, None, [], "1e²", "5‰", "0x10", "1 2", "1/0", "9" * 201),
]


@pytest.mark.parametrize("tau", NO_AMOUNT)
def test_a_tau_that_is_no_amount_is_refused(tau: Any) -> None:
    with pytest.raises(ParameterError, match="tau"):
        Tolerance.parse(tau)


@pytest.mark.parametrize("epsilon", NO_AMOUNT)
def test_an_epsilon_that_is_no_amount_is_refused(epsilon: Any) -> None:
    with pytest.raises(ParameterError, match="epsilon"):
        Parameters.parse(tau=1, epsilon=epsilon, alpha="0.05")


@pytest.mark.parametrize("alpha", [0, 1, -0.1, 1.5, "x", "5%", float("nan"), "1e-9999"])
def test_an_alpha_outside_0_and_1_is_refused(alpha: Any) -> None:
    with pytest.raises(ParameterError, match="alpha"):
        Parameters.parse(tau=1, epsilon=1, alpha=alpha)


@given(
    st.text(max_size=12)
    | st.from_regex(r"[-+]?[0-9²٣]*\.?[0-9]*(e[-+]?[0-9²]*)?%?", fullmatch=True)
)
def test_any_text_is_an_amount_or_is_refused(text: str) -> None:
    try:
        assert Tolerance.parse(text).amount > 0
    except PqdError as error:
        assert "tau" in str(error)  # noqa: PT017 - a number or our refusal, either is right


@given(st.fractions(min_value=-1000, max_value=1000), st.fractions("1/100", 10))
def test_a_share_is_of_the_size_of_the_answer(answer: Fraction, share: Fraction) -> None:
    relative, absolute = (
        Tolerance(share, relative=True, text="x%"),
        Tolerance(share, relative=False, text="x"),
    )
    assert absolute.of(answer) == share
    if answer:
        assert relative.of(answer) == relative.of(-answer) == share * abs(answer) > 0
    else:
        with pytest.raises(ParameterError, match="which is 0"):
            relative.of(answer)


def test_columns_are_read_exactly() -> None:
    facts = parse_columns(
        {
            "age": {"bounds": (0, 120)},
            "price": {"bounds": ("0", 0.3), "step": 0.1},
            "zip": {"type": "text"},
            "born": {"type": Kind.TIME},
            "rest": {},
        }
    )
    assert facts == {
        "age": ColumnFacts((Fraction(0), Fraction(120))),
        "price": ColumnFacts((Fraction(0), Fraction(3, 10)), Fraction(1, 10)),
        "zip": ColumnFacts(kind=Kind.TEXT),
        "born": ColumnFacts(kind=Kind.TIME),
        "rest": ColumnFacts(),
    }
    assert parse_columns(None) == {}


WRONG_COLUMNS: dict[str, tuple[Any, str]] = {
    "no mapping": ({"age": (0, 100)}, "must be a mapping"),
    "unknown key": ({"age": {"bound": (0, 100)}}, "did you mean bounds"),
    "far key": ({"age": {"xyzzy": 1}}, "use bounds, step, type"),
    "one bound": ({"age": {"bounds": (1,)}}, "two numbers"),
    "three bounds": ({"age": {"bounds": (1, 2, 3)}}, "two numbers"),
    "text bounds": ({"age": {"bounds": "0:100"}}, "two numbers"),
    "number as bounds": ({"age": {"bounds": 7}}, "two numbers"),
    "reversed": ({"age": {"bounds": (5, 1)}}, "reversed"),
    "no numbers": ({"age": {"bounds": ("a", "b")}}, "lower bound is 'a'"),
    "infinite": ({"age": {"bounds": (0, float("inf"))}}, "upper bound"),
    "no whole steps": ({"age": {"bounds": (0, 10), "step": 3}}, "upper bound of 9"),
    "negative step": ({"age": {"bounds": (0, 10), "step": -1}}, "step"),
    "too fine": ({"age": {"bounds": (0, 1), "step": "1e-20"}}, "finer"),
    "unknown kind": ({"age": {"type": "integer"}}, "use number, text, boolean, time"),
    "kind of another type": ({"age": {"type": 3}}, "use number"),
}


@pytest.mark.parametrize("label", WRONG_COLUMNS)
def test_wrong_facts_are_refused(label: str) -> None:
    columns, words = WRONG_COLUMNS[label]
    with pytest.raises(ParameterError, match=words):
        parse_columns(columns)


@pytest.mark.parametrize(
    ("text", "name", "facts"),
    [
        ("capital-gain=0:99999", "capital-gain", {"bounds": ("0", "99999")}),
        ("price=-1.5:10:0.01", "price", {"bounds": ("-1.5", "10"), "step": "0.01"}),
        ('"a=b"=0:1', "a=b", {"bounds": ("0", "1")}),
        (" age = 0:1", "age", {"bounds": (" 0", "1")}),
    ],
)
def test_bounds_on_the_command_line(text: str, name: str, facts: dict[str, Any]) -> None:
    assert parse_bounds(text) == (name, facts)
    parse_columns({name: facts})


@pytest.mark.parametrize("text", ["", "age", "age=", "age=1", "=0:1", "age=0:1:1:1", "age:0=1"])
def test_bounds_of_another_form_are_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="column=lower:upper"):
        parse_bounds(text)


def test_kinds_on_the_command_line() -> None:
    assert parse_type("zip=text") == ("zip", {"type": "text"})
    assert parse_type('"a=b" = time') == ("a=b", {"type": "time"})
    for text in ("zip", "=text", ""):
        with pytest.raises(ParameterError, match="column=text"):
            parse_type(text)


def test_stated_kinds_are_found_whatever_the_case() -> None:
    facts = parse_columns({"ZIP": {"type": "text"}, "age": {"bounds": (0, 1)}})
    assert stated_kinds(facts, ("Zip", "Age")) == {"Zip": Kind.TEXT}


@pytest.mark.parametrize(
    ("facts", "synthetic", "expected"),
    [
        (None, Lattice(1, 9), Lattice(1, 9)),
        (None, None, None),
        ({}, Lattice(1, 9), Lattice(1, 9)),
        ({"bounds": (0, 120)}, Lattice(1, 9), Lattice(0, 120)),
        ({"bounds": (0, 120)}, None, Lattice(0, 120)),
        # The synthetic step is kept where it fits the bounds.
        ({"bounds": (0, 10)}, Lattice(1, 9, "0.01"), Lattice(0, 10, "0.01")),
        ({"bounds": (0, "10.5")}, Lattice(1, 9), Lattice(0, "10.5", "0.1")),
        ({"bounds": (0, 10), "step": 5}, Lattice(1, 9), Lattice(0, 10, 5)),
        # A step alone widens the synthetic bounds to whole steps.
        ({"step": 5}, Lattice(-3, 9), Lattice(-5, 10, 5)),
        ({"step": 5}, None, None),
        ({"type": "number"}, Lattice(1, 9), Lattice(1, 9)),
    ],
)
def test_the_lattice_of_stated_facts(
    facts: dict[str, Any] | None, synthetic: Lattice | None, expected: Lattice | None
) -> None:
    stated = None if facts is None else parse_columns({"x": facts})["x"]
    assert bounded_lattice(stated, synthetic) == expected


def audited(**changes: Any) -> pqd.AuditReport:
    given: dict[str, Any] = {"queries": "SELECT SUM(age) FROM D", "tau": 5, "epsilon": 1}
    given |= changes
    return pqd.audit(like(TABLE), TABLE, given.pop("queries"), **given)


Refusal = tuple[dict[str, Any], type[PqdError], str]
REFUSED: dict[str, Refusal] = {
    "facts of no column": (
        {"columns": {"agee": {"bounds": (0, 9)}}},
        ParameterError,
        'nearest is "age"',
    ),
    "unknown decider": ({"decider": "foo"}, DeciderError, "no decider 'foo'"),
    "decider of another aggregate": (
        {"decider": "lm_count"},
        DeciderError,
        "decides COUNT, not SUM",
    ),
    "negative bounds": (
        {"decider": "r2t_sum", "columns": {"age": {"bounds": (-1, 9)}}},
        UnanswerableError,
        "values >= 0",
    ),
    "share of 0": (
        {"queries": "SELECT COUNT(*) FROM D WHERE age > 9", "tau": "5%"},
        UnanswerableError,
        "which is 0",
    ),
}


@pytest.mark.parametrize("label", REFUSED)
def test_an_audit_refuses(label: str) -> None:
    changes, kind, words = REFUSED[label]
    with pytest.raises(kind, match=words):
        audited(**changes)


@pytest.mark.parametrize(
    ("decider", "aggregate"),
    [
        *(("lm_count", "COUNT(*)"), ("inv_count", "COUNT(*)"), ("inv_mean", "AVG(age)")),
        *(("lm_sum", "SUM(age)"), ("inv_sum", "SUM(age)"), ("svt_sum", "SUM(age)")),
        *(("hist_median", "MEDIAN(age)"), ("inv_median", "MEDIAN(age)")),
        *(("inv_quantile", "QUANTILE(age, 0.3)"), ("inv_distinct", "COUNT(DISTINCT age)")),
    ],
)
def test_noise_too_wide_for_the_sampler_s_integers_is_refused(decider: str, aggregate: str) -> None:
    # Where the sampler saturates its end moves with the statistic, and tells it exactly.
    with pytest.raises(ParameterError, match="epsilon"):
        audited(queries=f"SELECT {aggregate} FROM D", tau="1.5", epsilon="1e-25", decider=decider)


@pytest.mark.parametrize("name", ["age", "AGE", '"age"', "age * 2", '"AGE"*2', "age*2"])
def test_facts_belong_to_a_column_or_an_expression(name: str) -> None:
    double = "2" in name
    sql = f"SELECT SUM({'age * 2' if double else 'age'}) FROM D"
    report = audited(queries=sql, columns={name: {"bounds": (0, 3)}}, decider="lm_sum")
    # Values beyond the stated bounds count as its end: 1, 2, 3, 3 and 2, 3, 3, 3.
    assert report.verdicts[0].q_synthetic == (11 if double else 9)


def test_a_hyphenated_name_needs_no_quotes_among_the_facts() -> None:
    report = audited(
        queries='SELECT SUM("capital-gain") FROM D', columns={"capital-gain": {"bounds": (0, 6)}}
    )
    assert report.verdicts[0].q_synthetic == 0 + 5 + 6 + 6


def test_where_bounds_come_from_is_noted() -> None:
    assert any("age" in note and "1..4" in note for note in map(str, audited().notes))
    notes = list(map(str, audited(columns={"age": {"bounds": (0, 9)}}).notes))
    assert any(note.startswith("Kinds of columns come from ") for note in notes)
    assert (
        "Values of age outside 0..9 step 1, as stated, count as the nearest end, and between two "
        "steps as the nearer one."
    ) in notes


@pytest.mark.parametrize("epsilon", ["1e17", "1e300", "1e400", 1e-12, "1/3"])
def test_an_extreme_budget_is_answered_or_refused_before_it_is_spent(
    epsilon: Any, spent: Callable[[], int]
) -> None:
    try:
        report = audited(queries="SELECT COUNT(*) FROM D", epsilon=epsilon)
    except PqdError:
        assert spent() == 0
    else:
        assert str(report)
        assert report.to_json()


@pytest.mark.parametrize("tau", ["1e300", "1e400", "1e-300", "1e300%"])
def test_an_extreme_tolerance_is_answered_or_refused_before_it_is_spent(
    tau: str, spent: Callable[[], int]
) -> None:
    try:
        report = audited(queries="SELECT COUNT(*) FROM D", tau=tau)
    except PqdError:
        assert spent() == 0
    else:
        assert str(report)
        assert report.to_json()


@pytest.fixture
def spent(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Count the draws of noise."""
    draws: list[int] = []
    real = SecureNoise.laplace

    def counted(self: Any, statistic: int, scale: Fraction) -> int:
        draws.append(1)
        return real(self, statistic, scale)

    monkeypatch.setattr(SecureNoise, "laplace", counted)
    return lambda: len(draws)


@pytest.mark.parametrize("rows", [1, "30000", 10**12, Fraction(4, 2)])
def test_a_stated_number_of_private_rows_is_a_whole_number(rows: Any) -> None:
    found = Parameters.parse(tau=1, epsilon=1, alpha="0.05", private_rows=rows).private_rows
    assert found == int(rows)
    assert isinstance(found, int)


@pytest.mark.parametrize("rows", [0, -1, "1.5", "x", 10**12 + 1, True, [], float("nan"), ""])
def test_other_numbers_of_private_rows_are_refused(rows: Any) -> None:
    with pytest.raises(ParameterError, match="private_rows"):
        Parameters.parse(tau=1, epsilon=1, alpha="0.05", private_rows=rows)
