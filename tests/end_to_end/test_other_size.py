"""A copy of another size: a warning before anything is spent, where the sizes are public."""

import html
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pqd
from pqd.accounting.ledger import Ledger
from pqd.errors import ParameterError
from pqd.progress import strict

Command = Callable[..., tuple[int, str, str]]
OLD = "SELECT COUNT(*) FROM D WHERE age > 60"
MEAN = "SELECT AVG(age) FROM D"
SUM = "SELECT SUM(age) FROM D"
ROWS = "SELECT COUNT(*) FROM D"
FACTS = {"age": {"bounds": (0, 120), "step": 1}}
SIZE = "copy.parquet has 400 rows and the private table {}."
STATED, RELEASED = SIZE.format("4,000, as stated"), "as was released before."


def people(rows: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    jobs = rng.choice(["cook", "smith", "nurse"], rows, p=[0.6, 0.3, 0.1])
    return pd.DataFrame({"job": jobs, "age": rng.integers(18, 80, rows)})


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a private table, a copy of a tenth of its rows and a copy of its size."""
    people(4_000, 1).to_parquet(tmp_path / "private.parquet")
    people(400, 2).to_parquet(tmp_path / "copy.parquet")
    people(4_000, 3).to_parquet(tmp_path / "whole.parquet")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def spec(head: str = "", check: str = "") -> str:
    text = (
        f'[private]\npath = "private.parquet"\nrows = 4000\n[synthetic.copy]\npath = "copy.parquet"'
        f'\n[ledger]\npath = "ledger.sqlite"\n[budget]\n{head}\n[defaults]\ntau = "10%"\n'
        f'{"" if head else "epsilon = 1"}\n[[check]]\nid = "old"\nsql = "{OLD}"\n{check}\n'
    )
    Path("audit.toml").write_text(text, encoding="utf-8")
    return "audit.toml"


def audit(copy: str = "copy.parquet", *texts: str, **more: Any) -> Any:
    return pqd.audit(
        "private.parquet",
        copy,
        list(texts or (OLD, MEAN, SUM)),
        **{"tau": "10%", "epsilon": 1, "columns": FACTS, "ledger": "ledger.sqlite", **more},
    )


def gate(**more: Any) -> Any:
    more = {"ledger": "ledger.sqlite", "tau": "10%", **more}
    return pqd.gate("private.parquet", "copy.parquet", OLD, epsilon=1, **more)


def compare(**more: Any) -> Any:
    copies = {"copy.parquet": "copy.parquet", "whole": "whole.parquet"}
    more = {"ledger": "ledger.sqlite", "tau": "10%", "epsilon": 1, **more}
    return pqd.compare("private.parquet", copies, OLD, **more)


def check(**more: Any) -> Any:
    return pqd.check(spec(check='scale = "rows"' if more.get("scale") else ""))


def gated_check(**more: Any) -> Any:
    own = 'scale = "rows"' if more.get("scale") else ""
    return pqd.check(spec("gate = 1", check=f'{own}\ntau = "{more.get("tau", "10%")}"'))


def plan(**more: Any) -> Any:
    return pqd.plan("copy.parquet", OLD, tau="10%", **more)


RUNS = [audit, gate, compare, check, gated_check, plan]


def notes(report: Any, code: str = "other-size") -> list[str]:
    return [each.sentence for each in report.notes if each.code == code]


@pytest.mark.parametrize("run", RUNS)
def test_sizes_that_are_stated_are_warned_of_before_anything_is_spent(
    run: Callable[..., Any], folder: Path
) -> None:
    with strict(stated=True), pytest.raises(ParameterError, match="1 warning"):
        run(private_rows=4_000)
    ledger = folder / "ledger.sqlite"
    assert not ledger.exists() or not Ledger(ledger).accounts
    (sentence,) = notes(run(private_rows=4_000))
    assert sentence.startswith(STATED)
    assert "about 10 % of the private one: " in sentence
    assert "AVG" not in sentence
    assert notes(run(private_rows=4_000, scale="rows")) == []


@pytest.mark.parametrize("run", [gate, gated_check])
def test_a_gate_per_row_passes_a_right_copy_of_a_tenth(run: Callable[..., Any]) -> None:
    assert run(scale="rows", tau="40%").gate.outcome == "holds"
    assert run(tau="40%").gate.outcome == "fails"
    older = people(400, 2)
    older.assign(age=older["age"] + 25).to_parquet("copy.parquet")
    assert run(scale="rows", tau="40%").gate.outcome == "fails"


def test_only_queries_that_grow_are_named() -> None:
    (sentence,) = notes(audit(private_rows=4_000))
    assert ': q1, q3. scale="rows"' in sentence
    assert notes(audit("copy.parquet", MEAN, private_rows=4_000)) == []


def test_a_private_table_is_never_counted_for_it() -> None:
    assert notes(audit()) == []
    # Sums and shares tell no number of rows either.
    assert notes(audit(tau="20%")) == []


def test_sizes_within_a_per_cent_are_equal() -> None:
    assert notes(audit(private_rows=404)) == []
    assert notes(audit(private_rows=405)) != []


def test_a_copy_in_another_ratio_is_larger() -> None:
    (sentence,) = notes(audit("whole.parquet", OLD, private_rows=400))
    assert "about 1,000 % of the private one" in sentence


def profiled() -> Any:
    return pqd.profile(
        "private.parquet", "copy.parquet", total_epsilon=2, anyway=True, ledger="ledger.sqlite"
    )


def ranked() -> Any:
    copies = {"a": "copy.parquet", "b": "whole.parquet"}
    return pqd.compare("private.parquet", copies, total_epsilon=2, ledger="ledger.sqlite")


def gated() -> Any:
    return pqd.gate(
        "private.parquet", "whole.parquet", tau="10%", epsilon=4, ledger="ledger.sqlite"
    )


def counted() -> Any:
    return audit("copy.parquet", ROWS, decider="noisy_count")


def estimated() -> Any:
    copies = {"a": "copy.parquet", "b": "whole.parquet"}
    return pqd.compare("private.parquet", copies, ROWS, tau=10, epsilon=1, ledger="ledger.sqlite")


@pytest.mark.parametrize("earlier", [profiled, ranked, gated, counted, estimated])
def test_a_number_of_rows_that_was_released_before_is_known(earlier: Callable[[], Any]) -> None:
    earlier()
    (sentence,) = notes(audit())
    assert RELEASED in sentence
    assert "the private table about " in sentence
    assert notes(audit(scale="rows")) == []
    assert notes(audit("whole.parquet")) == []
    with strict(stated=True), pytest.raises(ParameterError, match="1 warning"):
        audit(epsilon=2)
    # A frame with the same rows has the same account.
    frame = pd.read_parquet("private.parquet")
    known: dict[str, Any] = {"tau": "10%", "epsilon": 1, "ledger": "ledger.sqlite"}
    assert notes(pqd.audit(frame, "copy.parquet", OLD, **known))
    # What is stated goes before what was released.
    assert notes(audit(private_rows=400)) == []


def test_a_number_of_counted_rows_of_persons_is_no_number_of_rows() -> None:
    table = people(4_000, 1).assign(person=np.arange(4_000) // 2)
    table.to_parquet("private.parquet")
    more: dict[str, Any] = {"unit": "person", "ledger": "ledger.sqlite"}
    pqd.profile("private.parquet", "copy.parquet", total_epsilon=4, anyway=True, max_rows=2, **more)
    assert notes(audit("copy.parquet", OLD, unit="person")) == []


@pytest.mark.parametrize("run", [profiled, ranked])
def test_distances_are_of_shares_and_only_note_the_sizes(run: Callable[[], Any]) -> None:
    assert notes(run()) == []
    (own,) = (each for each in run().notes if each.code == "other-size-of-shares")
    assert RELEASED in own.sentence
    assert not own.warns


def test_reports_show_the_warning(command: Command) -> None:
    stated = "audit", "private.parquet", "copy.parquet", "-q", OLD, "--tau", "10%", "--epsilon", "1"
    renderings = "--html", "r.html", "--json", "r.json", "--markdown", "r.md"
    code, out, err = command(*stated, "--private-rows", "4000", *renderings)
    assert code == 0
    assert "Warning: copy.parquet has 400 rows" in " ".join(err.split())
    assert "Warning: copy.parquet has 400 rows" in " ".join(out.split())
    for name in ("r.html", "r.json", "r.md"):
        assert "copy.parquet has 400 rows" in Path(name).read_text(encoding="utf-8")


YOUNG = "SELECT COUNT(*) FROM D WHERE age < 40"


@pytest.mark.parametrize("run", [audit, lambda: checked(OLD, YOUNG, SUM)])
def test_verdicts_that_are_all_no_name_the_size_as_a_reason(run: Callable[[], Any]) -> None:
    (sentence,) = notes(run(), "sizes-unlike")
    assert "Every COUNT and SUM is a NO: if the private table has another" in sentence
    assert "number of rows than copy.parquet (400)" in sentence


def checked(*texts: str, **keys: str) -> Any:
    """Report of a spec with a check of each query."""
    checks = "".join(
        f'[[check]]\nid = "c{k}"\nsql = "{text}"\n{keys.get(f"c{k}", "")}\n'
        for k, text in enumerate(texts)
    )
    head = '[private]\npath = "private.parquet"\n[synthetic.copy]\npath = "copy.parquet"\n'
    more = '[defaults]\ntau = "10%"\nepsilon = 1\n[columns.age]\nbounds = [0, 120]\n'
    ledger = '[ledger]\npath = "ledger.sqlite"\n'
    Path("audit.toml").write_text(f"{head}{ledger}{more}{checks}", encoding="utf-8")
    return pqd.check("audit.toml")


def test_the_size_is_no_reason_where_it_is_known_or_where_a_verdict_says_otherwise() -> None:
    whole = audit("whole.parquet", OLD, "SELECT COUNT(*) FROM D WHERE age > 70", tau="0.01%")
    for report in (
        audit("copy.parquet", OLD, MEAN),
        audit(scale="rows"),
        audit(private_rows=4_000),
        audit(private_rows=400),
        audit("copy.parquet", OLD, "SELECT COUNT(*) FROM D WHERE age > 200", tau="10% of rows"),
        checked(OLD, YOUNG, c0='expect = "far"'),
    ):
        assert notes(report, "sizes-unlike") == []
    assert all(verdict.outcome != "yes" for verdict in whole)
    # A number of rows that this run released tells it, too, and one that is that of the copy ends
    # the doubt.
    assert notes(audit("copy.parquet", ROWS, OLD, decider="noisy_count"), "sizes-unlike")
    assert notes(audit(), "other-size")
    assert notes(audit(), "sizes-unlike") == []


def test_a_size_of_persons_has_no_number() -> None:
    people(4_000, 1).assign(person=np.arange(4_000)).to_parquet("private.parquet")
    people(400, 2).assign(person=np.arange(400)).to_parquet("copy.parquet")
    report = audit("copy.parquet", OLD, YOUNG, unit="person")
    (sentence,) = notes(report, "sizes-unlike")
    assert "Every COUNT is a NO: if the private table has another" in sentence
    assert "number of persons than copy.parquet, " in sentence


@pytest.mark.parametrize(
    ("text", "step"),
    [
        (OLD, 'if the copy has another size, scale = "rows" compares per row'),
        (ROWS, "if the copy has another size on purpose, write the spec anew with pqd init"),
    ],
)
def test_a_gate_that_names_a_count_names_the_size(command: Command, text: str, step: str) -> None:
    Path("audit.toml").write_text(
        '[private]\npath = "private.parquet"\n[synthetic.copy]\npath = "copy.parquet"\n'
        f'[budget]\ngate = 1\nnames = 4\n[[check]]\nid = "c"\nsql = "{text}"\ntau = "10%"\n',
        encoding="utf-8",
    )
    code, out, _ = command("check", "audit.toml", "--verbose", "--output", "junit=r.xml")
    assert code == 1
    assert step in " ".join(out.split())
    assert step in html.unescape(Path("r.xml").read_text(encoding="utf-8"))
