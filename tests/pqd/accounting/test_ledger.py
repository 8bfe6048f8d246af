"""The ledger: exact accounts, limits that hold, a table known whatever it is called."""

import json
import re
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

import pqd.accounting.accountant
import pqd.accounting.ledger
from pqd.accounting.accountant import Accountant
from pqd.accounting.accounts import NO_LIMIT, Account, Budget, Reservation
from pqd.accounting.composition import Charge
from pqd.accounting.data_sets import RecognisedTable
from pqd.accounting.hash_chain import Entry, HashChain, entry_hash
from pqd.accounting.ledger import Ledger
from pqd.commands.audit import run_audit
from pqd.deciders.single.base import Decision
from pqd.engine.synthetic_table import SyntheticTable
from pqd.engine.tables import open_table
from pqd.errors import BudgetError, LedgerError, ParameterError, PqdError
from pqd.parameters import Parameters
from pqd.reports.models.audit import AuditReport
from pqd.sql.workload_files import as_queries
from tests.support.drawing import examples
from tests.support.likeness import like
from tests.support.noises import Watched

Price = Callable[[Fraction], Charge]
Ran = tuple[int, str, str]

YES = Decision(outcome=True, p_value=0.1 + 0.2, margin=-(10**30))
NO = Decision(outcome=False)
TABLE, OTHER = "table", "other"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def ledger(path: Path) -> Iterator[Ledger]:
    with closing(Ledger(path, wait=0.01)) as opened:
        yield opened


def costing(epsilon: str | Fraction, delta: str | Fraction = "0") -> Price:
    return lambda _: Charge(Fraction(epsilon), Fraction(delta), "sequential")


def asked(*names: str) -> dict[str, dict[str, Any]]:
    return {name: {"id": f"q-{name}"} for name in names}


def version(fingerprint: str) -> RecognisedTable:
    """Table whose data set has a name of its own."""
    return RecognisedTable("label", fingerprint, name=f"data of {fingerprint}")


def pay(
    ledger: Ledger,
    *names: str,
    epsilon: str | Fraction = "1",
    table: str = TABLE,
    budget: Budget = NO_LIMIT,
) -> Reservation:
    """Pay for queries that nobody has asked before."""
    paid = ledger.reserve(version(table), asked(*names), costing(epsilon), budget=budget)
    assert paid is not None
    return paid[0]


def spent(ledger: Ledger, table: str = TABLE) -> Fraction:
    data_set = ledger.data_set(version(table))
    return (data_set.spent.epsilon if data_set else None) or Fraction(0)


State = tuple[object, ...]


def started(path: Path) -> str:
    """Head of a ledger that holds nothing."""
    with closing(Ledger(path)) as ledger:
        return ledger._chain.start


def state(ledger: Ledger) -> State:
    return ledger.entries, ledger.head, ledger.limit, ledger.accounts, ledger.data_sets


def stored(path: Path) -> State:
    """State of the file as another process sees it."""
    with closing(Ledger(path, wait=0.01)) as opened:
        return state(opened)


# Accounts ----------------------------------------------------------------------------------------


def test_a_new_ledger_is_empty(ledger: Ledger) -> None:
    assert state(ledger) == ((), ledger._chain.start, NO_LIMIT, (), ())
    assert ledger.account(TABLE) is None
    assert ledger.answers(TABLE) == {}
    assert ledger.tightest_limit(version(TABLE)) == NO_LIMIT


@pytest.mark.parametrize("epsilon", ["1/3", "1e-12", "7/1000000007", "123456789012345678901/7"])
def test_amounts_are_exact(ledger: Ledger, path: Path, epsilon: str) -> None:
    for number in range(3):
        pay(ledger, str(number), epsilon=epsilon)
    with closing(Ledger(path)) as again:
        assert spent(again) == spent(ledger) == 3 * Fraction(epsilon)
    # A sum of floats would be over or under.
    ledger.set_limit(Budget(4 * Fraction(epsilon)))
    pay(ledger, "last", epsilon=epsilon)
    with pytest.raises(BudgetError):
        pay(ledger, "more", epsilon=Fraction(1, 10**30))


def test_an_answer_survives_as_it_is(ledger: Ledger, path: Path) -> None:
    ledger.record(pay(ledger, "a", "b"), {"a": YES, "b": NO})
    with closing(Ledger(path)) as again:
        assert again.answers(TABLE) == ledger.answers(TABLE) == {"a": YES, "b": NO}


def test_a_later_answer_replaces_an_earlier_one(ledger: Ledger, path: Path) -> None:
    ledger.record(pay(ledger, "a"), {"a": YES})
    paid = ledger.reserve(version(TABLE), asked("a"), costing("1"), fresh=True)
    assert paid is not None
    ledger.record(paid[0], {"a": NO})
    assert spent(ledger) == 2
    with closing(Ledger(path)) as again:
        assert again.answers(TABLE) == {"a": NO}


def test_what_was_answered_is_not_charged_again(ledger: Ledger, path: Path) -> None:
    ledger.record(pay(ledger, "a"), {"a": YES})
    before = stored(path)
    assert ledger.reserve(version(TABLE), asked("a"), costing("1")) is None
    # Not even in part: the caller must look again at what it needs.
    assert ledger.reserve(version(TABLE), asked("a", "b"), costing("1")) is None
    assert stored(path) == state(ledger) == before


def test_what_was_paid_and_never_answered_is_paid_again(ledger: Ledger) -> None:
    pay(ledger, "a")
    pay(ledger, "a")
    assert spent(ledger) == 2
    assert ledger.answers(TABLE) == {}


def test_tables_are_apart(ledger: Ledger) -> None:
    ledger.record(pay(ledger, "a"), {"a": YES})
    pay(ledger, "a", table=OTHER, epsilon="2")
    assert spent(ledger) == 1
    assert spent(ledger, OTHER) == 2
    assert ledger.answers(OTHER) == {}
    assert [account.number for account in ledger.accounts] == [1, 2]
    assert [account.fingerprint for account in ledger.accounts] == [TABLE, OTHER]


def test_two_that_have_it_open_see_each_other(path: Path) -> None:
    with closing(Ledger(path)) as first, closing(Ledger(path)) as second:
        assert first.accounts == second.accounts == ()
        reservation = pay(first, "a")
        assert spent(second) == 0, "a run reads the chain once"
        second.refresh()
        assert spent(second) == 1
        first.record(reservation, {"a": YES})
        # Whoever writes sees what was written before.
        second.set_limit(Budget(Fraction(2)))
        assert second.answers(TABLE) == {"a": YES}
        pay(second, "b", table=OTHER)
        with pytest.raises(BudgetError):
            pay(first, "c", epsilon="3/2")
        first.refresh()
        assert state(first) == state(second) == stored(path)


def test_a_charge_is_on_the_disk_when_it_is_granted(ledger: Ledger, path: Path) -> None:
    with closing(sqlite3.connect(path)) as other:
        reservation = pay(ledger, "a", epsilon="1/3")
        ((body,),) = other.execute("SELECT body FROM entries WHERE number = 3").fetchall()
        assert json.loads(body)["epsilon"] == "1/3"
        amount = Charge(Fraction(1, 3), rule="sequential")
        assert reservation == Reservation(charge=3, table=1, amount=amount)


class Clock(datetime):
    """A clock that runs backwards, a day at each look."""

    looks = 0

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> "Clock":
        cls.looks += 1
        moment = datetime(2030, 3, 31, 2, 30, tzinfo=UTC) - timedelta(days=cls.looks)
        return cls.fromtimestamp(moment.timestamp(), tz)


def test_a_clock_that_goes_back_changes_nothing(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lived(place: Path) -> tuple[list[Any], list[Any]]:
        with closing(Ledger(place)) as one:
            for number in range(4):
                one.record(pay(one, str(number), epsilon="1/3"), {str(number): YES})
            one.set_limit(Budget(Fraction(5, 3)))
            pay(one, "last", epsilon="1/3")
            with pytest.raises(BudgetError):
                pay(one, "more", epsilon="1/3")
        with closing(Ledger(place)) as again:
            again.verify()
            accounts = [(a.epsilon, a.answers, len(a.runs)) for a in again.accounts]
            return accounts, [entry.body["time"] for entry in again.entries]

    usual, _ = lived(path)
    monkeypatch.setattr(pqd.accounting.ledger, "datetime", Clock)
    back, times = lived(tmp_path / "back.sqlite")
    assert back == usual
    assert times == sorted(times, reverse=True)
    # The first charge, its table and its data set are written together.
    assert len(set(times)) == len(times) - 2


# Limits ------------------------------------------------------------------------------------------


def limits(*amounts: str | None) -> list[Budget]:
    return [Budget(None if amount is None else Fraction(amount)) for amount in amounts]


@pytest.mark.parametrize(
    ("whole", "table", "caller", "least"),
    [
        (None, None, None, None),
        ("2", None, None, "2"),
        (None, "2", None, "2"),
        (None, None, "2", "2"),
        ("2", "3", "4", "2"),
        ("4", "2", "3", "2"),
        ("3", "4", "2", "2"),
        ("0", "3", None, "0"),
        ("1e-12", "1", "1/3", "1e-12"),
    ],
)
def test_the_tightest_limit_counts(
    ledger: Ledger, whole: str | None, table: str | None, caller: str | None, least: str | None
) -> None:
    assert ledger.reserve(version(TABLE), asked("a"), costing("0")) is not None
    every, one, budget = limits(whole, table, caller)
    ledger.set_limit(every)
    ledger.set_limit(one, 1)
    assert [ledger.tightest_limit(version(TABLE), budget)] == limits(least)
    if least is None:
        pay(ledger, "b", epsilon="1e30", budget=budget)
        return
    with pytest.raises(BudgetError) as caught:
        pay(ledger, "b", epsilon=Fraction(least) + Fraction(1, 10**20), budget=budget)
    assert caught.value.exit_code == 4
    assert spent(ledger) == 0
    if Fraction(least):
        pay(ledger, "b", epsilon=least, budget=budget)
        assert spent(ledger) == Fraction(least)


def test_a_limit_of_one_table_is_not_that_of_another(ledger: Ledger) -> None:
    pay(ledger, "a")
    pay(ledger, "a", table=OTHER)
    ledger.set_limit(Budget(Fraction(1)), table=1)
    with pytest.raises(BudgetError):
        pay(ledger, "b")
    pay(ledger, "b", table=OTHER)
    ledger.set_limit(Budget(Fraction(2)))
    with pytest.raises(BudgetError):
        pay(ledger, "c", table=OTHER)
    # It holds for tables that nobody has seen yet, too.
    with pytest.raises(BudgetError):
        pay(ledger, "c", table="third", epsilon="3")
    assert ledger.account("third") is None


def test_a_limit_below_what_is_spent_and_up_again(ledger: Ledger, path: Path) -> None:
    ledger.record(pay(ledger, "a", epsilon="3"), {"a": YES})
    ledger.set_limit(Budget(Fraction(1)))
    with pytest.raises(
        BudgetError, match=r"of 1 for this data set 3 are spent by all commands and 0 left"
    ):
        pay(ledger, "b", epsilon="1e-9")
    # What costs nothing is still granted.
    assert ledger.check_budget(version(TABLE), costing("0")) == Charge(rule="sequential")
    assert ledger.answers(TABLE) == {"a": YES}
    ledger.set_limit(Budget(Fraction(4)), raising=True)
    pay(ledger, "b", epsilon="1")
    with pytest.raises(BudgetError):
        pay(ledger, "c", epsilon="1e-9")
    ledger.set_limit(NO_LIMIT, raising=True)
    pay(ledger, "c", epsilon="100")
    assert stored(path) == state(ledger)


def test_a_limit_of_a_table_that_is_not_there(ledger: Ledger, path: Path) -> None:
    pay(ledger, "a")
    before = stored(path)
    for number in (0, -1, 2):
        with pytest.raises(LedgerError, match=f"has no table {number}; see pqd ledger show"):
            ledger.set_limit(Budget(Fraction(1)), number)
    assert stored(path) == state(ledger) == before


def test_a_refusal_gives_all_the_figures(ledger: Ledger) -> None:
    pay(ledger, "a", epsilon="1/2")
    ledger.set_limit(Budget(Fraction(1)))
    with pytest.raises(BudgetError) as caught:
        pay(ledger, "b", epsilon="3/4")
    message = str(caught.value)
    for figure in ("needs epsilon 0.75", "of 1 for", "0.5 are spent", "0.5 left", str(ledger.path)):
        assert figure in message
    assert "Nothing was spent. Ask for less" in message


def test_delta_is_spent_down_to_nothing(ledger: Ledger, path: Path) -> None:
    seen: list[Fraction] = []

    def half(left: Fraction) -> Charge:
        seen.append(left)
        return Charge(Fraction(1), max(left, Fraction(0)) / 2, "optimal")

    def offered(budget: Budget = NO_LIMIT) -> Fraction:
        name = str(len(ledger.entries))
        assert ledger.reserve(version(TABLE), asked(name), half, budget=budget) is not None
        return seen[-1]

    tiny = Fraction(1, 10**12)
    assert offered() == 0
    ledger.set_limit(Budget(None, 8 * tiny))
    assert [offered(), offered()] == [8 * tiny, 4 * tiny]
    assert offered(Budget(None, 7 * tiny)) == tiny
    # Below what is spent there is none left, and no more is taken.
    ledger.set_limit(Budget(None, tiny), table=1)
    assert offered() < 0
    account = ledger.account(TABLE)
    assert account is not None
    assert account.delta == Fraction(13, 2) * tiny
    assert account.epsilon == 5
    with closing(Ledger(path)) as again:
        assert again.accounts == ledger.accounts
        assert again.tightest_limit(version(TABLE)) == Budget(None, tiny)


# Refusals leave nothing --------------------------------------------------------------------------


def no_price(error: type[BaseException]) -> Price:
    def price(left: Fraction) -> Charge:
        raise error(str(left))

    return price


@pytest.mark.parametrize("table", [TABLE, "unseen"])
@pytest.mark.parametrize("error", [BudgetError, ValueError, KeyboardInterrupt])
def test_a_refused_reservation_leaves_nothing(
    ledger: Ledger, path: Path, table: str, error: type[BaseException]
) -> None:
    ledger.record(pay(ledger, "a"), {"a": YES})
    ledger.set_limit(Budget(Fraction(2)))
    before = stored(path)
    with pytest.raises(error):
        ledger.reserve(version(table), asked("b"), no_price(error))
    assert stored(path) == state(ledger) == before
    pay(ledger, "b", table=table)
    assert stored(path) == state(ledger)


@pytest.mark.parametrize("table", [TABLE, "unseen"])
def test_a_full_disk_leaves_nothing(ledger: Ledger, path: Path, table: str) -> None:
    pay(ledger, "a")
    before = stored(path)
    ledger._chain._execute("PRAGMA max_page_count = 1")
    many = [f"{number}" * 50 for number in range(100)]
    with pytest.raises(LedgerError, match=r"the disk is full; make room\.$"):
        pay(ledger, *many, table=table)
    assert stored(path) == state(ledger) == before
    ledger._chain._execute("PRAGMA max_page_count = 1000")
    pay(ledger, *many, table=table)
    assert stored(path) == state(ledger) != before


def test_a_locked_ledger_leaves_nothing(ledger: Ledger, path: Path) -> None:
    reservation = pay(ledger, "a")
    before = state(ledger)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        for act in (
            lambda: pay(ledger, "b"),
            lambda: ledger.record(reservation, {"a": YES}),
            lambda: ledger.set_limit(NO_LIMIT),
        ):
            with pytest.raises(LedgerError, match="another process held it"):
                act()
            assert state(ledger) == before
    assert stored(path) == before
    ledger.record(reservation, {"a": YES})
    assert stored(path) == state(ledger)


NONSENSE = [
    {},
    {"kind": "gift"},
    {"kind": "limit"},
    {"kind": "limit", "period": None, "dataset": 1, "epsilon": None, "delta": None},
    {"kind": "limit", "period": None, "dataset": None, "epsilon": "much", "delta": None},
    {"kind": "limit", "period": None, "dataset": None, "epsilon": "1/0", "delta": None},
    {"kind": "limit", "period": None, "dataset": None, "epsilon": [], "delta": None},
    {"kind": "limit", "period": "decade", "dataset": None, "epsilon": None, "delta": None},
    {"kind": "dataset", "dataset": 2, "name": None, "places": []},
    {"kind": "dataset", "dataset": 1, "name": None, "places": [1]},
    {"kind": "union", "dataset": 1, "other": 1},
    {"kind": "end", "dataset": 1, "because": "other people"},
    {"kind": "rows", "dataset": 1, "rows_per_person": 2},
    {"kind": "public", "table": 1, "because": "a copy"},
    {"kind": "charge", "table": 1},
    {"kind": "answers", "table": "1", "answers": {}},
    {"kind": "table", "table": 1},
    {"kind": "table", "table": 1, "dataset": 1, "fingerprint": "f", "label": "l", "time": "t"},
    {"kind": "unused", "table": 1, "charge": 1},
    {"kind": "used", "table": 1, "charge": 1},
]


def test_an_entry_that_is_too_deep_is_not_passed_over(path: Path) -> None:
    text = "[" * 10**6
    with closing(HashChain(path)) as chain, chain.writing():
        body = (1, text, entry_hash(chain.start, text))
        chain._execute("INSERT INTO entries VALUES (?, ?, ?)", *body)
    with pytest.raises(LedgerError, match=r"entry \(1\) that this version of pqd does not"):
        Ledger(path)


@pytest.mark.parametrize("body", NONSENSE, ids=str)
def test_an_entry_that_makes_no_sense_is_not_passed_over(
    path: Path, body: Mapping[str, Any]
) -> None:
    with closing(HashChain(path)) as chain, chain.writing():
        chain.append(dict(body))
    with pytest.raises(LedgerError, match=r"entry \(1\) that this version of pqd does not"):
        Ledger(path)


# The random walk ---------------------------------------------------------------------------------

AMOUNTS = st.fractions(min_value=Fraction(1, 10**12), max_value=3, max_denominator=10**12)
LIMITS = st.none() | st.fractions(min_value=0, max_value=6, max_denominator=100)
NAMES = st.sets(st.sampled_from("abcdef"), min_size=1, max_size=3)
TABLES = st.sampled_from([TABLE, OTHER, "third"])


@dataclass
class Model:
    """What must hold of one table, kept in the simplest way."""

    spent: list[Fraction] = field(default_factory=list)
    answers: dict[str, Decision] = field(default_factory=dict)
    limit: Fraction | None = None


class Walk(RuleBasedStateMachine):
    """Any sequence of acts leaves the accounts that a few sums in memory give."""

    paid = Bundle("paid")

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "ledger.sqlite"
        self.ledger = Ledger(self.path)
        self.tables: dict[str, Model] = {}
        self.limit: Fraction | None = None

    def teardown(self) -> None:
        self.ledger.close()
        self.folder.cleanup()

    @rule(
        target=paid,
        table=TABLES,
        names=NAMES,
        epsilon=AMOUNTS,
        budget=LIMITS,
        fresh=st.booleans(),
    )
    def reserve(
        self, table: str, names: set[str], epsilon: Fraction, budget: Fraction | None, fresh: bool
    ) -> tuple[str, frozenset[str], Reservation | None]:
        model = self.tables.get(table, Model())
        bounds = [x for x in (self.limit, model.limit, budget) if x is not None]
        over = bool(bounds) and sum(model.spent, epsilon) > min(bounds)
        measurements = asked(*sorted(names))
        reserve = partial(self.ledger.reserve, version(table), measurements, costing(epsilon))
        paid: tuple[Reservation, Charge] | None = None
        try:
            paid = reserve(budget=Budget(budget), fresh=fresh)
            refused = False
        except BudgetError:
            refused = True
        known = not fresh and bool(names & model.answers.keys())
        assert refused == (over and not known)
        assert (paid is None) == (refused or known)
        if paid is None:
            return table, frozenset(), None
        self.tables.setdefault(table, model).spent.append(epsilon)
        return table, frozenset(names), paid[0]

    @rule(bought=paid, outcome=st.booleans())
    def record(self, bought: tuple[str, frozenset[str], Reservation | None], outcome: bool) -> None:
        table, names, reservation = bought
        if reservation is not None:
            answers = {name: Decision(outcome, 0.25, 1) for name in names}
            self.ledger.record(reservation, answers)
            self.tables[table].answers |= answers

    @rule(limit=LIMITS, raising=st.booleans())
    def limit_all(self, limit: Fraction | None, raising: bool) -> None:
        if self.limits(limit, self.limit, raising=raising):
            self.limit = limit

    @rule(limit=LIMITS, number=st.integers(1, 3), raising=st.booleans())
    def limit_one(self, limit: Fraction | None, number: int, raising: bool) -> None:
        models = [*self.tables.values()]
        if number > len(models):
            with pytest.raises(LedgerError):
                self.ledger.set_limit(Budget(limit), number, raising=raising)
        elif self.limits(limit, models[number - 1].limit, number, raising=raising):
            models[number - 1].limit = limit

    def limits(
        self,
        limit: Fraction | None,
        before: Fraction | None,
        number: int | None = None,
        *,
        raising: bool,
    ) -> bool:
        """Whether the ledger takes a limit, which it must unless the limit is raised unasked."""
        try:
            self.ledger.set_limit(Budget(limit), number, raising=raising)
        except ParameterError:
            assert not raising
            assert before is not None
            assert limit is None or limit > before
            return False
        assert raising or before is None or (limit is not None and limit <= before)
        return True

    @rule()
    def open_again(self) -> None:
        before = state(self.ledger)
        self.ledger.close()
        self.ledger = Ledger(self.path)
        assert state(self.ledger) == before

    @invariant()
    def the_accounts_are_those_of_the_model(self) -> None:
        accounts = self.ledger.accounts
        assert self.ledger.limit == Budget(self.limit)
        assert [account.fingerprint for account in accounts] == [*self.tables]
        sets = self.ledger.data_sets
        for account, data_set, model in zip(accounts, sets, self.tables.values(), strict=True):
            assert data_set.versions == (account,)
            assert data_set.spent.epsilon == sum(model.spent)
            assert [run.charge.epsilon for run in account.runs] == model.spent
            assert account.answers == model.answers
            assert data_set.limit == Budget(model.limit)


TestWalk = Walk.TestCase
TestWalk.settings = settings(examples(40), stateful_step_count=15)


# Older copies ------------------------------------------------------------------------------------


def test_an_older_copy_is_whole_and_only_what_was_kept_reveals_it(
    ledger: Ledger, path: Path, tmp_path: Path
) -> None:
    ledger.record(pay(ledger, "a"), {"a": YES})
    copy, early = path.read_bytes(), ledger.head
    (tmp_path / "early.jsonl").write_text(ledger.export(), encoding="utf-8")
    pay(ledger, "b", epsilon="5")
    late = ledger.head
    (tmp_path / "late.jsonl").write_text(ledger.export(), encoding="utf-8")
    for head in (None, ledger._chain.start, early, late, f" {late.upper()}\n"):
        ledger.verify(head)
    for name in ("early", "late"):
        ledger.verify(export=tmp_path / f"{name}.jsonl")
    ledger.close()
    path.write_bytes(copy)
    with closing(Ledger(path)) as older:
        assert spent(older) == 1
        older.verify()
        older.verify(early, tmp_path / "early.jsonl")
        for head, export in ((late, None), (None, tmp_path / "late.jsonl")):
            with pytest.raises(LedgerError, match="put back to an older copy") as caught:
                older.verify(head, export)
            assert caught.value.exit_code == 3


def test_a_ledger_begun_anew_is_revealed(ledger: Ledger, path: Path, tmp_path: Path) -> None:
    pay(ledger, "a", table=ledger.fingerprint("content"))
    head, export = ledger.head, tmp_path / "export.jsonl"
    export.write_text(ledger.export(), encoding="utf-8")
    ledger.close()
    path.unlink()
    with closing(Ledger(path)) as anew:
        for _ in range(2):
            with pytest.raises(LedgerError, match="begun anew"):
                anew.verify(head)
            with pytest.raises(LedgerError, match="begun anew"):
                anew.verify(export=export)
            pay(anew, "a", table=anew.fingerprint("content"))


def test_an_export_that_is_none_is_refused(ledger: Ledger, tmp_path: Path) -> None:
    pay(ledger, "a")
    pay(ledger, "b")
    whole, file = ledger.export(), tmp_path / "export.jsonl"
    lines = whole.splitlines(keepends=True)
    for text in (
        whole.replace("q-a", "q-z"),
        "".join(lines[1:]),
        lines[0] + lines[2] + lines[1],
        whole[:-20],
        "{}\n",
        "5\n",
        "text\n",
        "\x00",
    ):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(LedgerError, match="is no whole export of a ledger"):
            ledger.verify(export=file)
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(LedgerError, match="is no whole export of a ledger"):
        ledger.verify(export=file)
    for place in (tmp_path / "missing", tmp_path):
        with pytest.raises(LedgerError, match="cannot be read: "):
            ledger.verify(export=place)


def test_an_export_holds_no_secret(ledger: Ledger, path: Path) -> None:
    content = '[["age"], "3", "1", "2"]'
    pay(ledger, "a", table=ledger.fingerprint(content))
    ledger.set_limit(Budget(Fraction(3)))
    keys = [ledger._chain.secret, *map(ledger.key, ("table", "rows", "sample"))]
    assert len(set(keys)) == 4
    # They are in the file, or made of what is; the export is what one shows around.
    assert keys[0] in path.read_bytes()
    texts = [ledger.export(), *(str(error) for error in refusals(ledger)), repr(ledger)]
    for text in texts:
        for key in keys:
            assert key.hex() not in text.lower()
            assert repr(key)[2:-1] not in text
        assert content not in text
    assert len(ledger.export().splitlines()) == 1 + len(ledger.entries) == 5


def refusals(ledger: Ledger) -> Iterator[PqdError]:
    acts: list[Callable[[], object]] = [
        lambda: pay(ledger, "b", epsilon="9"),
        lambda: ledger.verify("0" * 64),
        lambda: ledger.set_limit(NO_LIMIT, 7),
    ]
    for act in acts:
        with pytest.raises(PqdError) as caught:
            act()
        yield caught.value


# What a table is ---------------------------------------------------------------------------------

ROWS: list[tuple[str, ...]] = [
    ("17", "f", ""),
    ("17", "f", ""),
    ("40", "Zoë, 'x'", "1.5"),
    ("", "m", "0.1"),
]
NAMED = ("age", "sex", "pay")


@pytest.fixture
def known(ledger: Ledger) -> Callable[[object], str]:
    """Give the fingerprint of a table in one ledger."""
    return partial(fingerprint, ledger)


def fingerprint(ledger: Ledger, source: object) -> str:
    table = open_table(source, "private")
    engine = SyntheticTable()
    return ledger.fingerprint(engine.content(table, ledger.key("rows")).text)


def csv_of(path: Path, rows: Iterable[tuple[str, ...]], names: tuple[str, ...] = NAMED) -> Path:
    lines = [",".join(names)]
    lines += [",".join(f'"{cell}"' if "," in cell else cell for cell in row) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def frame_of(rows: Iterable[tuple[str, ...]], names: tuple[str, ...] = NAMED) -> pd.DataFrame:
    return pd.DataFrame([[cell or None for cell in row] for row in rows], columns=list(names))


def test_a_copy_is_the_same_table(tmp_path: Path, known: Callable[[object], str]) -> None:
    original = known(csv_of(tmp_path / "original.csv", ROWS))
    permuted = [(pay, age, sex) for age, sex, pay in ROWS]
    turned = csv_of(tmp_path / "turned.csv", permuted, ("pay", "age", "sex"))
    shuffled = csv_of(tmp_path / "shuffled.csv", [ROWS[i] for i in (2, 0, 3, 1)])
    capitals = csv_of(tmp_path / "capitals.csv", ROWS, ("AGE", "Sex", "pay"))
    frame_of(ROWS).to_parquet(tmp_path / "as.parquet")
    tabbed = tmp_path / "as.tsv"
    tabbed.write_text("\n".join("\t".join(row) for row in (NAMED, *ROWS)) + "\n", encoding="utf-8")
    (tmp_path / "elsewhere").mkdir()
    renamed = csv_of(tmp_path / "elsewhere" / "renamed.csv", ROWS)
    for copy in (turned, shuffled, capitals, tmp_path / "as.parquet", tabbed, renamed):
        assert known(copy) == original, copy
    assert known(frame_of(ROWS)) == original


def test_whole_numbers_of_a_parquet_file_are_those_of_a_csv(
    tmp_path: Path, known: Callable[[object], str]
) -> None:
    pd.DataFrame({"age": [1, 22, 333]}).to_parquet(tmp_path / "a.parquet")
    written = csv_of(tmp_path / "a.csv", [("22",), ("333",), ("1",)], ("age",))
    assert known(tmp_path / "a.parquet") == known(written)


def test_one_changed_cell_is_another_table(tmp_path: Path, known: Callable[[object], str]) -> None:
    others = [ROWS]
    for number, row in enumerate(ROWS):
        for place in range(3):
            cells = [*row[:place], row[place] + "7", *row[place + 1 :]]
            others.append([*ROWS[:number], tuple(cells), *ROWS[number + 1 :]])
    others += [ROWS[:-1], [*ROWS, ROWS[0]], [*ROWS, ("", "", "")], []]
    # Cells that move within a row, or whose border moves.
    others += [[(age, pay, sex) for age, sex, pay in ROWS]]
    others += [[("1", "7f", ""), *ROWS[1:]], [("17f", "", ""), *ROWS[1:]]]
    found = [known(csv_of(tmp_path / "other.csv", rows)) for rows in others]
    # The first two rows are alike, and the order of rows does not matter.
    assert found[1:4] == found[4:7]
    assert len(set(found)) == len(found) - 3


def test_a_renamed_column_is_another_table(tmp_path: Path, known: Callable[[object], str]) -> None:
    names = [NAMED, ("age", "sex", "wage"), ("sex", "age", "pay")]
    assert len({known(csv_of(tmp_path / "a.csv", ROWS, each)) for each in names}) == 3


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("aab", "abb"),
        ("aa", "bb"),
        ("aa", ""),
        ("a", "aaa"),
        ("ab", "cc"),
        ("aaaa", "aabb"),
        ("a" * 256, ""),
        ("a" * 1000, "b" * 1000),
    ],
)
def test_duplicates_count(known: Callable[[object], str], first: str, second: str) -> None:
    # An exclusive or of the rows' hashes takes pairs for nothing.
    tables = [pd.DataFrame({"x": pd.Series(list(text), dtype=str)}) for text in (first, second)]
    assert known(tables[0]) != known(tables[1])


def test_the_fingerprint_is_of_its_ledger(
    tmp_path: Path, known: Callable[[object], str], ledger: Ledger
) -> None:
    table = csv_of(tmp_path / "a.csv", ROWS)
    prints = {known(table)}
    for number in range(3):
        with closing(Ledger(tmp_path / f"{number}.sqlite")) as other:
            prints.add(fingerprint(other, table))
    assert len(prints) == 4
    with closing(Ledger(ledger.path)) as again:
        assert fingerprint(again, table) in prints
    # Neither does what the engine says of a table give it away: it is keyed as well.
    engine = SyntheticTable()
    opened = open_table(table, "private")
    assert len({engine.content(opened, key) for key in (b"a", b"b", ledger.key("rows"))}) == 3


# In a run ----------------------------------------------------------------------------------------

COUNTED = pd.DataFrame({"age": range(50)})


def audited(accountant: Accountant, act: Callable[[], object], queries: int = 1) -> AuditReport:
    workload = [f"SELECT COUNT(*) FROM D WHERE age > {number}" for number in range(queries)]
    terms = Parameters.parse(tau=5, epsilon="1/3", alpha="0.05", mechanism="auto", columns=None)
    noise = Watched(act)
    return run_audit(
        like(COUNTED), COUNTED, as_queries(workload), terms, noise, accountant=accountant
    )


# How a message ends once a run has drawn what it charged.
CHARGED = " Epsilon {} was charged and stays charged \\(pqd ledger show\\); a repeated run"


def bodies(path: Path, kind: str) -> list[Mapping[str, Any]]:
    with closing(Ledger(path, wait=0.01)) as opened:
        return [entry.body for entry in opened.entries if entry.body["kind"] == kind]


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a run wait for a lock no longer than a moment."""
    monkeypatch.setattr(pqd.accounting.accountant, "Ledger", partial(Ledger, wait=0.01))


def test_the_charge_is_on_the_disk_before_the_first_draw(path: Path) -> None:
    seen: list[Account] = []

    def look() -> None:
        with closing(Ledger(path)) as other:
            seen.extend(other.accounts)

    report = audited(Accountant(path, dataset="people"), look, queries=3)
    (account,) = seen
    assert account.epsilon == 1
    assert account.answers == {}
    assert report.spent == 1
    assert len(bodies(path, "answers")[0]["answers"]) == 3


def test_an_interrupted_draw_stays_paid(path: Path) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    for times in (1, 2):
        with pytest.raises(KeyboardInterrupt):
            audited(Accountant(path, dataset="people"), interrupt)
        assert len(bodies(path, "charge")) == times
    assert bodies(path, "answers") == []


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("hold", ["BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"])
def test_a_ledger_locked_at_the_reservation(path: Path, hold: str) -> None:
    Ledger(path).close()
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute(hold)
        drawn: list[bool] = []
        with pytest.raises(LedgerError, match=r"try again later\. Nothing was spent\.$"):
            audited(Accountant(path, dataset="people"), lambda: drawn.append(True))
        assert not drawn
    assert stored(path) == ((), started(path), NO_LIMIT, (), ())


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("hold", ["BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"])
def test_a_ledger_locked_at_the_record(path: Path, hold: str) -> None:
    Ledger(path).close()
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        with pytest.raises(LedgerError, match=f"try again later.{CHARGED.format(r'2/3 .0.666.')}"):
            audited(Accountant(path, dataset="people"), lambda: other.execute(hold), queries=2)
        other.execute("ROLLBACK")
    # Drawn and not answered: asked again, it costs again.
    again = audited(Accountant(path, dataset="people"), lambda: None, queries=2)
    assert not any(verdict.replayed for verdict in again.verdicts)
    assert again.spent == Fraction(2, 3)
    assert again.cost.total == Fraction(4, 3)


def test_a_full_disk_at_the_record(path: Path) -> None:
    accountant = Accountant(path)

    def fill() -> None:
        accountant.ledger._chain._execute("PRAGMA max_page_count = 1")

    # As many as fill more than one page.
    with pytest.raises(LedgerError, match=f"the disk is full; make room.{CHARGED.format('16')}"):
        audited(accountant, fill, queries=48)
    assert (len(bodies(path, "charge")), bodies(path, "answers")) == (1, [])


def test_a_ledger_broken_at_the_record(path: Path) -> None:
    def meddle() -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("INSERT INTO entries VALUES (4, '{}', '')")

    with pytest.raises(LedgerError, match=f"changed by hand.*{CHARGED.format(r'1/3 .0.333.')}"):
        audited(Accountant(path, dataset="people"), meddle)


LIMITED = """
import resource, sys
from pathlib import Path
ledger = Path(sys.argv.pop(1))

def fill():
    resource.setrlimit(resource.RLIMIT_FSIZE, (ledger.stat().st_size,) * 2)

if {late}:
    from pqd.deciders import SecureNoise
    draw = SecureNoise._draw

    def drawn(*arguments):
        fill()
        return draw(*arguments)

    SecureNoise._draw = drawn
else:
    fill()
from pqd.cli import main
main()
"""


@pytest.fixture
def limited(tmp_path: Path, path: Path, process: Callable[..., Ran]) -> Callable[[bool], Ran]:
    """Run an audit of 48 queries on a disk that is full from the start, or after the charge."""
    pytest.importorskip("resource")
    Ledger(path).close()
    rows = [(str(number),) for number in range(50)]
    copy = csv_of(tmp_path / "copy.csv", rows, ("age",))
    private = csv_of(tmp_path / "age.csv", [(*row, "1") for row in rows], ("age", "aside"))
    queries = tmp_path / "queries.sql"
    texts = (f"SELECT COUNT(*) FROM D WHERE age > {number};" for number in range(48))
    queries.write_text("\n".join(texts), encoding="utf-8")
    arguments = ["audit", str(private), str(copy), "--queries", str(queries)]
    arguments += ["--tau", "5", "--epsilon", "1/4", "--ledger", str(path)]

    def run_limited(late: bool) -> Ran:
        return process("-B", "-c", LIMITED.format(late=late), str(path), *arguments)

    return run_limited


def test_a_real_full_disk_at_the_reservation(limited: Callable[[bool], Ran], path: Path) -> None:
    code, out, err = limited(False)
    assert (code, out) == (3, "")
    assert "cannot be written" in err
    assert "Nothing was spent." in err
    assert stored(path) == ((), started(path), NO_LIMIT, (), ())


def test_a_real_full_disk_at_the_record(limited: Callable[[bool], Ran], path: Path) -> None:
    code, out, err = limited(True)
    assert (code, out) == (3, "")
    assert re.search(f"cannot be written.*{CHARGED.format('12')}", err)
    assert (len(bodies(path, "charge")), bodies(path, "answers")) == (1, [])


def test_a_run_reads_the_chain_once_and_once_under_each_lock(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[bool] = []
    entries = HashChain.entries

    def counted(self: HashChain) -> tuple[Entry, ...]:
        reads.append(self._connection is not None and self._connection.in_transaction)
        return entries(self)

    monkeypatch.setattr(HashChain, "entries", counted)
    audited(Accountant(path, dataset="people"), lambda: None, queries=3)
    # Opened; what others have added since, before a price is named; then charged, then recorded.
    assert reads == [False, False, True, True]
    reads.clear()
    audited(Accountant(path, dataset="people"), lambda: None, queries=3)
    assert reads == [False, False], "what is replayed takes no lock"
