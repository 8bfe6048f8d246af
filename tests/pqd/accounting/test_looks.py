"""Looks: a question that is asked again at another epsilon is told as such."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import pqd
from pqd.commands.verdicts import look_notes
from tests.support.likeness import like

COPY = pd.DataFrame({"age": [i % 90 for i in range(900)], "sex": ["f", "m"] * 450})
QUERY = "SELECT COUNT(*) FROM D WHERE age > 40"


def asked(ledger: Path, query: str = QUERY, **changed: Any) -> tuple[int, list[str]]:
    terms: dict[str, Any] = {"tau": 20, "epsilon": 0.25, "ledger": ledger, **changed}
    report = pqd.audit(like(COPY), COPY, query, **terms)
    notes = [note.sentence for note in report.notes if note.code == "looked-again"]
    return report.verdicts[0].looks, notes


def test_another_look_is_told_with_what_it_does_to_the_error(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.sqlite"
    assert asked(ledger) == (1, [])
    assert asked(ledger) == (1, []), "a replay is no look"
    looks, (told,) = asked(ledger, epsilon=0.5)
    assert looks == 2
    assert told == (
        "q1 was asked 2 times on this table, this time included. Each time a wrong verdict is "
        "decided with probability at most 5 %, over all 2 times with at most 10 %: over all of "
        "them a p-value counts 2 times as much."
    )
    assert asked(ledger, decider="inv_count")[0] == 3
    assert asked(ledger, fresh=True)[0] == 4
    # The first answer, shown again, is one of four by now.
    assert asked(ledger)[0] == 4


@pytest.mark.parametrize(
    ("query", "changed"),
    [
        ("SELECT  COUNT(*) FROM D WHERE (age > 40)", {"epsilon": 0.5}),
        (QUERY, {"epsilon": 0.5, "tau": "20.0"}),
    ],
)
def test_a_question_is_known_in_other_words(
    query: str, changed: dict[str, Any], tmp_path: Path
) -> None:
    ledger = tmp_path / "ledger.sqlite"
    asked(ledger)
    assert asked(ledger, query, **changed)[0] == 2


@pytest.mark.parametrize(
    ("query", "changed"),
    [
        ("SELECT COUNT(*) FROM D WHERE age > 41", {}),
        ("SELECT SUM(age) FROM D WHERE age > 40", {}),
        (QUERY, {"tau": 21, "epsilon": 0.5}),
    ],
)
def test_another_question_is_no_look(query: str, changed: dict[str, Any], tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.sqlite"
    asked(ledger)
    assert asked(ledger, query, **changed) == (1, [])


def test_a_charge_of_which_nothing_was_drawn_is_no_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = tmp_path / "ledger.sqlite"

    def breaks(*_: object) -> None:
        raise RuntimeError

    with monkeypatch.context() as broken:
        broken.setattr("pqd.run.execution._scan", breaks)
        with pytest.raises(Exception, match=r".*"):
            asked(ledger)
    assert asked(ledger, epsilon=0.5) == (1, [])


def test_verdicts_of_one_number_of_looks_share_a_note(tmp_path: Path) -> None:
    ledger, queries = tmp_path / "ledger.sqlite", [QUERY, "SELECT SUM(age) FROM D"]
    terms: dict[str, Any] = {"tau": "5%", "ledger": ledger}
    pqd.audit(like(COPY), COPY, queries, epsilon=0.25, **terms)
    report = pqd.audit(like(COPY), COPY, queries, epsilon=0.5, **terms)
    (note,) = look_notes(report.verdicts)
    assert dict(note.facts)["queries"] == ("q1", "q2")
    assert "q1, q2 were each asked 2 times" in report.to_markdown()
    assert "asked 2 times" in str(report)
