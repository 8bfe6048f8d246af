"""Options of a named decider: read, refused, part of the question, shown."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

import pqd
from pqd.cli import command_line
from pqd.deciders import DECIDERS, Lattice, for_lattice, with_options
from pqd.errors import ParameterError
from pqd.reports.writers.terminal import terminal_text
from pqd.reports.writers.terminal.layout import Extent
from pqd.spec.problems import SpecError
from pqd.spec.reader import read_spec
from pqd.stated.decider_options import read_options

COPY = pd.DataFrame({"x": [10 + i % 110 for i in range(3000)]})
PRIVATE = COPY.iloc[:-7]
SUM = "SELECT SUM(x) FROM D"
BOUNDS: dict[str, Any] = {"x": {"bounds": (0, 127)}}
TERMS: dict[str, Any] = {"tau": "10%", "epsilon": 1, "columns": BOUNDS}


def test_every_option_is_a_field_of_its_decider_that_its_key_knows() -> None:
    having = {name: made.options for name, made in DECIDERS.items() if made.options}
    assert having == {
        "r2t_sum": ("beta",),
        "r2t_sum_tight": ("beta",),
        "svt_sum": ("theta",),
        "lm_mean": ("share",),
    }
    for name, options in having.items():
        assert set(options) <= set(DECIDERS[name].key_fields)


@pytest.mark.parametrize(("name", "option"), [("r2t_sum", "beta"), ("lm_mean", "share")])
def test_a_stated_default_is_the_decider_itself(name: str, option: str) -> None:
    decider: Any = for_lattice(name, DECIDERS[name].aggregate, Lattice(0, 9))
    stated = str(getattr(decider, option))
    assert with_options(decider, read_options(name, {option: stated})) == decider
    other: Any = with_options(decider, read_options(name, {option: "1/3"}))
    assert float(getattr(other, option)) == pytest.approx(1 / 3)
    assert type(getattr(other, option)) is type(getattr(decider, option))


@pytest.mark.parametrize(
    ("decider", "options", "words"),
    [
        ("auto", {"beta": 0.1}, r"of one decider, but the decider is 'auto'.* r2t_sum \(beta\)"),
        ("paper", {"beta": 0.1}, "of one decider"),
        ("svt_sum", {"beta": 0.1}, "svt_sum has no option 'beta'; use theta"),
        ("svt_sum", {"thea": 0.1}, "use theta"),
        ("lm_sum", {"beta": 0.1}, "lm_sum has no options"),
        ("r2t_sum", {"beta": 0}, "beta of r2t_sum is 0; it must lie strictly between 0 and 1"),
        ("r2t_sum", {"beta": 1}, "strictly between"),
        ("r2t_sum", {"beta": "much"}, "a finite number is needed"),
        ("svt_sum", {"theta": "0." + "9" * 40}, "as a double, is 1.0"),
    ],
)
def test_what_does_not_fit_is_refused(decider: str, options: Mapping[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        pqd.plan(COPY, SUM, decider=decider, decider_options=options, **TERMS)


def test_no_options_need_no_decider() -> None:
    assert read_options("auto", None) == read_options("nonesuch", {}) == ()


def test_an_option_is_part_of_the_question_and_of_the_report(tmp_path: Path) -> None:
    def asked(**options: Any) -> Any:
        how: dict[str, Any] = {"decider": "svt_sum", "ledger": tmp_path / "a.sqlite"}
        return pqd.audit(PRIVATE, COPY, SUM, decider_options=options, **TERMS, **how)

    first, same, other, again = asked(), asked(theta=0.95), asked(theta=0.5), asked(theta="1/2")
    assert [report.verdicts[0].replayed for report in (first, same, other, again)] == [
        *(False, True, False, True)
    ]
    assert json.loads(other.to_json())["verdicts"][0]["decider_options"] == [
        {"name": "theta", "value": 0.5}
    ]
    text = terminal_text(other, extent=Extent.VERBOSE)
    assert "decided by svt_sum (theta 0.5): " in " ".join(text.split())
    plain = pqd.audit(PRIVATE, COPY, SUM, **TERMS, ledger=tmp_path / "b.sqlite")
    assert json.loads(plain.to_json())["verdicts"][0]["decider_options"] == []


def test_a_plan_evaluates_the_option() -> None:
    def worst(**options: Any) -> float:
        plan = pqd.plan(COPY, SUM, decider="svt_sum", decider_options=options, **TERMS)
        return plan.queries[0].chosen.worst

    assert worst(theta=0.5) > worst(theta=0.95)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--decider", "svt_sum", "--decider-option", "theta=0.5"), "svt_sum (theta 0.5) would"),
        (("--decider-option", "theta=0.5"), "the decider is 'auto'"),
        (("--decider", "svt_sum", "--decider-option", "theta"), "write it as beta=0.05"),
    ],
)
def test_the_command_line_states_options(
    tmp_path: Path, options: tuple[str, ...], words: str
) -> None:
    COPY.to_csv(tmp_path / "copy.csv", index=False)
    command = ["plan", str(tmp_path / "copy.csv"), "--bounds", "x=0:127", "--tau", "10%"]
    page = tmp_path / "plan.html"
    query = ["-q", SUM, "--epsilon", "1", "--html", str(page)]
    result = CliRunner().invoke(command_line(), [*command, *query, *options])
    shown = page.read_text("utf-8") if page.exists() else str(result.exception)
    assert words in " ".join(shown.split())
    without = CliRunner().invoke(command_line(), [*command, *options])
    assert "there is no query, so no decider" in str(without.exception)


SPEC = """
[private]
path = "private.csv"

[synthetic.copy]
path = "copy.csv"

[columns.x]
bounds = [0, 127]

[defaults]
tau = "5%"
epsilon = 0.5
{defaults}

[[check]]
id = "total"
sql = "SELECT SUM(x) FROM D"
{check}

[[check]]
id = "marginal"
marginal = ["x"]
"""


def read(folder: Path, defaults: str = "", check: str = "") -> Any:
    path = folder / "audit.toml"
    path.write_text(SPEC.format(defaults=defaults, check=check), "utf-8")
    return read_spec(path).checks


SVT, THETA = 'decider = "svt_sum"', "decider_options = {{ theta = {} }}"


def test_a_spec_states_options_for_a_check_or_for_all(tmp_path: Path) -> None:
    cases = [
        (f"{SVT}\n{THETA.format(0.5)}", "", 0.5),
        (f"{SVT}\n{THETA.format(0.5)}", THETA.format('"3/4"'), 0.75),
        (SVT, THETA.format(0.25), 0.25),
        ("", f"{SVT}\n{THETA.format(0.125)}", 0.125),
    ]
    for defaults, check, expected in cases:
        total, marginal = read(tmp_path, defaults, check)
        assert total.decider_options == (("theta", expected),)
        assert marginal.decider_options == ()
    other, _ = read(tmp_path, f"{SVT}\n{THETA.format(0.5)}", 'decider = "inv_sum"')
    assert other.decider_options == ()


@pytest.mark.parametrize(
    ("defaults", "check", "words"),
    [
        (THETA.format(0.5), "", r"line 14: \[defaults\]: decider_options .* of one decider"),
        ("", THETA.format(0.5), "of one decider"),
        (SVT, "decider_options = { beta = 0.5 }", "svt_sum has no option 'beta'; use theta"),
        (SVT, THETA.format(2), "strictly between 0 and 1"),
        (SVT, THETA.format("true"), "is true; a number such as 0.05 is needed"),
        (SVT, "decider_options = {}", "is an empty table"),
        (SVT, "decider_options = 3", "is the number 3; a table such as"),
    ],
)
def test_a_spec_with_options_that_do_not_fit_is_refused(
    tmp_path: Path, defaults: str, check: str, words: str
) -> None:
    with pytest.raises(SpecError, match=words):
        read(tmp_path, defaults, check)


def test_a_check_is_decided_with_its_options(tmp_path: Path) -> None:
    PRIVATE.to_csv(tmp_path / "private.csv", index=False)
    COPY.to_csv(tmp_path / "copy.csv", index=False)
    read(tmp_path, SVT, THETA.format(0.5) + '\nevidence = "likely"')
    report = pqd.check(tmp_path / "audit.toml")
    (verdict,) = [v for each in report.checks for v in each.verdicts if each.id == "total"]
    assert [tuple(each) for each in verdict.decider_options] == [("theta", 0.5)]
