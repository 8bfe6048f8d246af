"""Runs that paid for what another replays: which they are, on what day, at what price."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import pytest

from pqd.accounting.composition import Charge
from pqd.accounting.data_sets import RecognisedTable
from pqd.accounting.ledger import Ledger
from pqd.deciders.single.base import Decision
from pqd.reports.models.audit import Cost, EarlierRun
from pqd.reports.text.cost import cost_sentences, meaning_sentence, spent_cell
from pqd.run.costs import today

YES = Decision(outcome=True)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with closing(Ledger(tmp_path / "earlier.sqlite")) as opened:
        yield opened


def draw(ledger: Ledger, epsilon: int, *keys: str, fresh: bool = False) -> None:
    reserved = ledger.reserve(
        RecognisedTable("private.csv", "table"),
        {key: {"id": key} for key in keys},
        lambda _: Charge(Fraction(epsilon), Fraction(0), "sequential"),
        fresh=fresh,
    )
    assert reserved is not None
    ledger.record(reserved[0], dict.fromkeys(keys, YES))


def test_the_last_run_that_drew_an_answer_paid_for_it(ledger: Ledger) -> None:
    draw(ledger, 1, "a", "b")
    draw(ledger, 2, "c")
    draw(ledger, 4, "b", fresh=True)
    account = ledger.account("table")
    assert account is not None

    def paid(*keys: str) -> list[tuple[int, Fraction]]:
        return [(run.number, run.epsilon) for run in account.earlier_runs(set(keys))]

    assert paid() == paid("unknown") == []
    assert paid("a") == [(1, Fraction(1))]
    assert paid("b") == [(3, Fraction(4))]
    assert paid("c", "a", "b") == [(1, Fraction(1)), (2, Fraction(2)), (3, Fraction(4))]
    (run,) = account.earlier_runs({"c"})
    assert run.day == account.runs[1].time[:10]
    assert len(run.day) == len("2026-11-23")


FIRST = EarlierRun(1, "2026-11-20", Fraction(1), Fraction(0))
SECOND = EarlierRun(2, "2026-11-22", Fraction(1, 2), Fraction(1, 10**6))


def test_a_replay_says_what_it_cost_and_when() -> None:
    replay = Cost(earlier=(FIRST,))
    assert spent_cell(replay) == "0 (1 before)"
    assert list(cost_sentences(replay, "a"))[1] == (
        "What cost nothing now was paid for on 2026-11-20 by an earlier run: epsilon 1."
    )
    both = Cost(Fraction(1, 4), earlier=(FIRST, SECOND))
    assert spent_cell(both) == "0.25 (and 1.5 before)"
    assert list(cost_sentences(both, "a"))[1] == (
        "What cost nothing now was paid for between 2026-11-20 and 2026-11-22 by 2 earlier runs: "
        "epsilon 1.5 and delta 1e-06."
    )
    assert spent_cell(Cost(Fraction(1, 4))) == "0.25"


def test_the_meaning_of_epsilon_is_its_factor_rounded_up_earlier_runs_included() -> None:
    assert meaning_sentence(Cost()) == ""
    text = "with or without any one person's data, a report like this is at most"
    assert meaning_sentence(Cost(Fraction(1))) == (
        f"Epsilon 1 means: {text} 2.72 times as probable; "
        "a guess of 50 % that a person is in the table becomes at most 73.2 %."
    )
    assert meaning_sentence(Cost(Fraction(1, 2), earlier=(FIRST, SECOND))) == (
        f"Epsilon 2 means: {text} 7.39 times as probable, but for a chance of 1e-06."
    )
    assert "at most exp(500) times" in meaning_sentence(Cost(Fraction(500)))


def test_the_day_is_stated_or_that_of_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    for stated, day in (("0", "1970-01-01"), ("1700000000", "2023-11-14")):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", stated)
        assert today() == day
    for nonsense in ("", "yesterday", "9" * 30):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", nonsense)
        before = datetime.now(UTC).date().isoformat()
        assert before <= today() <= datetime.now(UTC).date().isoformat()
