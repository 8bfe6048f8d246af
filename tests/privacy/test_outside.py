"""Noisy number of rows beyond unstated bounds, and the verdicts that are withheld for it."""

import json
import math
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import pqd
from pqd.accounting.ledger import Ledger
from pqd.commands.audit import run_audit
from pqd.commands.check import run_check
from pqd.deciders import Histogram, ParameterError, SimulatedNoise
from pqd.engine.tables import open_table
from pqd.parameters import Parameters
from pqd.planning.binding import bind
from pqd.planning.bound_workload import QueryRequest
from pqd.planning.planned_verdict import DeciderMeasurement
from pqd.planning.query_verdict import select_deciders
from pqd.planning.table_separation import separate_tables
from pqd.reports.models.audit import AuditReport, Outside, Verdict
from pqd.reports.writers.markdown import markdown_text
from pqd.reports.writers.terminal import terminal_text
from pqd.spec import read_spec
from pqd.sql.workload_files import as_queries

EPSILON, ALPHA = Fraction(1), Fraction(1, 20)
SUM = "SELECT SUM(x) FROM D"


def frame(*values: object) -> pd.DataFrame:
    return pd.DataFrame({"x": pd.Series(values, dtype=object)})


COPY = frame(*range(100), *range(100), *range(100))
NEAR = pd.concat([COPY, frame(7)])
BEYOND = pd.concat([COPY, frame(*[5000] * 200)])


def audit(private: pd.DataFrame, sql: Any = SUM, seed: int = 2, **more: Any) -> AuditReport:
    terms = {"tau": "20%", "epsilon": EPSILON, "alpha": ALPHA, "outside": True, **more}
    return run_audit(
        private, COPY, as_queries(sql), Parameters.parse(**terms), SimulatedNoise(seed)
    )


def only(report: AuditReport) -> Verdict:
    (verdict,) = report.verdicts
    return verdict


class Recorder(SimulatedNoise):
    """Noise that keeps each statistic with its scale, and adds nothing."""

    def __init__(self) -> None:
        super().__init__(0)
        self.drawn: list[tuple[int, Fraction]] = []

    def laplace(self, value: int, scale: Fraction) -> int:
        self.drawn.append((value, scale))
        return value


def measurement_of(epsilon: Fraction = EPSILON, decider: str = "auto") -> DeciderMeasurement:
    terms = Parameters.parse(
        tau="20%", epsilon=epsilon, alpha=ALPHA, outside=True, mechanism=decider
    )
    tables = separate_tables(open_table(NEAR, "private"), COPY, accountant=None, names=["x"])
    requests = [QueryRequest.of(query, terms) for query in as_queries(SUM)]
    (verdict,) = select_deciders(bind(tables, requests, terms.columns)).verdicts
    assert isinstance(verdict.measurement, DeciderMeasurement)
    return verdict.measurement


def losses(measurement: DeciderMeasurement) -> set[Fraction]:
    """Privacy losses between tables that differ by one row: steps of all draws over their scale."""
    tables = [([50] * 300, 0), ([50] * 299 + [99], 5), ([50] * 100, 40)]
    found = set()
    for values, beyond in tables:
        drawn = []
        for more, further in (([], 0), ([99], 1), ([99], 0), ([0], 0), ([], 1)):
            noise = Recorder()
            measurement.run(
                Histogram.from_values([*values, *more]).with_beyond(beyond + further), noise
            )
            drawn.append(noise.drawn)
        for other in drawn[1:]:
            pairs = zip(drawn[0], other, strict=True)
            found.add(sum((abs(a - b) / scale for (a, scale), (b, _) in pairs), Fraction(0)))
    return found


@pytest.mark.parametrize("epsilon", [Fraction(1), Fraction(1, 3), Fraction("0.25")])
@pytest.mark.parametrize("decider", ["inv_sum", "auto"])
def test_both_parts_together_cost_epsilon(epsilon: Fraction, decider: str) -> None:
    measurement = measurement_of(epsilon, decider)
    assert measurement.epsilon == measurement.cost == epsilon
    assert measurement.outside_epsilon == epsilon / 10
    assert max(losses(measurement)) == epsilon


def test_a_number_at_the_whole_epsilon_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken twin: the decider has the whole budget, and the number comes on top."""
    measurement = measurement_of()

    def run(self: DeciderMeasurement, counts: Histogram, noise: Any) -> Any:
        decision = self.decider.decide(counts, self.interval, self.epsilon, noise)
        beyond = noise.laplace(counts.rows_beyond, 1 / self.outside_epsilon)
        return replace(decision, rows_beyond=beyond)

    monkeypatch.setattr(DeciderMeasurement, "run", run)
    assert max(losses(measurement)) > EPSILON


def test_the_ends_are_as_sure_as_alpha_and_the_number_that_is_found_is_found() -> None:
    """From the exact law of the noise, for the share of a budget."""
    outside = only(audit(NEAR)).outside
    assert outside is not None
    decay = math.exp(-EPSILON / 10)

    def tail(distance: int) -> float:
        """Chance of noise of at least ``distance`` >= 1."""
        return decay**distance / (1 + decay)

    reach = (outside.found - 1) // 2
    assert tail(reach + 1) <= ALPHA < tail(reach)
    # The lower end is above 0 exactly if the noisy number exceeds the reach.
    assert 1 - tail(outside.found - reach) >= 1 - ALPHA
    assert 1 - tail(outside.found - 1 - reach) < 1 - ALPHA
    assert outside == Outside(0, 0, outside.high, outside.found, 0, 99)


def test_a_conditional_verdict_is_withheld_where_rows_lie_beyond() -> None:
    verdict = only(audit(BEYOND))
    assert verdict.outside is not None
    assert verdict.outside.low > 100
    assert verdict.is_withheld
    assert (verdict.standing, verdict.outcome, verdict.condition) == (
        "undecided",
        "undecided",
        None,
    )
    assert verdict.epsilon == EPSILON
    near = only(audit(NEAR))
    assert near.standing == "yes within bounds"
    assert not near.is_withheld


@pytest.mark.parametrize(
    ("columns", "standing"),
    [
        ({"x": {"bounds": (0, 99)}}, "not trusted"),
        ({"x": {"bounds": (0, None)}}, "not trusted"),
        ({"x": {"bounds": (None, 99)}}, "undecided"),
        ({"x": {"bounds": "copy"}}, "undecided"),
    ],
)
def test_a_verdict_whose_sides_are_stated_is_never_withheld(columns: Any, standing: str) -> None:
    """200 rows of 5000 make the sum too large; rows below 0 do not count for ``(None, 99)``."""
    private = pd.concat([BEYOND, frame(*[-5000] * 100)])
    verdict = only(audit(private, columns=columns))
    assert verdict.standing == standing
    is_stated = columns["x"]["bounds"] == (0, 99)
    assert (verdict.outside is None) == is_stated


def test_what_needs_no_bounds_pays_for_no_number() -> None:
    queries = [
        "SELECT COUNT(*) FROM D",
        "SELECT MEDIAN(x) FROM D",
        f"{SUM} WHERE x <= 60 AND x > 9",
    ]
    report = audit(BEYOND, queries)
    assert [verdict.outside for verdict in report.verdicts] == [None] * 3
    assert [v.p_value for v in report.verdicts] == [
        v.p_value for v in audit(BEYOND, queries, outside=False).verdicts
    ]


def test_the_total_is_exact_and_the_question_is_another(tmp_path: Path) -> None:
    terms: dict[str, Any] = {"tau": "20%", "total_epsilon": 1, "ledger": tmp_path / "l.sqlite"}
    queries = [SUM, "SELECT COUNT(*) FROM D", f"{SUM} WHERE x > 50"]
    first = pqd.audit(NEAR, COPY, queries, outside=True, **terms)
    assert first.spent == 1
    again = pqd.audit(NEAR, COPY, queries, outside=True, **terms)
    assert again.spent == 0
    assert [each.outside for each in again.verdicts] == [each.outside for each in first.verdicts]
    assert all(each.replayed for each in again.verdicts)
    without = pqd.audit(NEAR, COPY, SUM, tau="20%", epsilon=1, ledger=tmp_path / "l.sqlite")
    assert without.spent == 1
    with closing(Ledger(tmp_path / "l.sqlite")) as ledger:
        assert [account.epsilon for account in ledger.accounts] == [2]


def test_queries_that_are_answered_together_count_no_rows() -> None:
    with pytest.raises(ParameterError, match="outside=True"):
        pqd.audit(NEAR, COPY, SUM, tau="20%", total_epsilon=1, sharing="workload", outside=True)


def test_a_noisy_sum_that_a_user_names_counts_them_too() -> None:
    verdict = only(audit(BEYOND, mechanism="noisy_sum"))
    assert verdict.is_withheld
    assert verdict.estimate is not None
    open_end = only(audit(BEYOND, mechanism="noisy_sum", columns={"x": {"bounds": (0, None)}}))
    assert open_end.standing == "not trusted"


@pytest.mark.parametrize("written", [terminal_text, markdown_text])
def test_every_rendering_says_how_many_and_what_to_do(written: Any) -> None:
    report = audit(BEYOND)
    outside = only(report).outside
    assert outside
    text = " ".join(written(report).split())
    assert f"{outside.low - 1} beyond" in text
    found = json.loads(report.to_json())["verdicts"][0]
    assert found["outside"]["low"] == outside.low
    assert (found["outcome"], found["standing"]) == ("undecided", "undecided")
    page = report.to_html()
    told = (
        f"about {outside.rows:,} ({outside.low:,} to {outside.high:,}) selected people lie outside"
    )
    assert told in page
    assert "ask for a MEDIAN" in page


SPEC = """
[private]
path = "private.csv"
[synthetic.copy]
path = "copy.csv"
[[check]]
id = "total"
sql = "SELECT SUM(x) FROM D"
tau = "20%"
epsilon = 1
outside = true
[columns.x]
bounds = "copy"
"""


def test_a_check_that_is_withheld_fails_as_undecided(tmp_path: Path) -> None:
    BEYOND.to_csv(tmp_path / "private.csv", index=False)
    COPY.to_csv(tmp_path / "copy.csv", index=False)
    (tmp_path / "audit.toml").write_text(SPEC)
    report = run_check(read_spec(tmp_path / "audit.toml", {}), SimulatedNoise(2), fresh=True)
    (check,) = report.checks
    assert (check.status, report.exit_code) == ("undecided", 1)
    assert check.verdicts[0].is_withheld


@pytest.mark.parametrize("columns", [None, {"x": {"bounds": (0, None)}}])
def test_rows_beyond_are_withheld_as_often_as_it_says(columns: Any) -> None:
    """With the rows that are found in 95 % of runs; none are withheld wrongly in 95 %."""
    found = only(audit(NEAR)).outside
    assert found
    private = pd.concat([NEAR, frame(*[100] * found.found)])
    withheld = [only(audit(private, seed=s, columns=columns)).outside for s in range(40)]
    assert sum(each is not None and each.low > 0 for each in withheld) >= 34
    none = [only(audit(NEAR, seed=s, columns=columns)).is_withheld for s in range(40)]
    assert sum(none) <= 6
