"""Accounts: for each private table its limit, its spent budget, and its stored answers.

The ledger holds them as entries (pqd/accounting/ledger.py); ``Accounts.apply`` reads one entry.
"""

from __future__ import annotations

import os
import socket
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from pqd.accounting.composition import Charge
from pqd.accounting.hash_chain import Body
from pqd.accounting.periods import Period, PeriodKind, period_kind
from pqd.deciders.estimators import EstimatorOutput
from pqd.deciders.numbers import epsilon_text
from pqd.deciders.single.base import Decision
from pqd.errors import BudgetError
from pqd.reports.models.audit import EarlierRun
from pqd.reports.models.ledger import AccountFacts, RunFacts

if TYPE_CHECKING:
    from pqd.deciders.batch.base import BatchOutput

    Answer = Decision | EstimatorOutput | BatchOutput


@dataclass(frozen=True, slots=True)
class Budget:
    """Budget of one table: the most that may ever be spent; None means no limit."""

    epsilon: Fraction | None = None
    delta: Fraction | None = None

    def least(self, other: Budget) -> Budget:
        """Tighter of two budgets, in epsilon and in delta separately."""
        return Budget(_least(self.epsilon, other.epsilon), _least(self.delta, other.delta))

    def exceeds(self, other: Budget) -> bool:
        """Whether this budget allows more than another one, in epsilon or in delta."""
        return self.least(other) != self


def _least(first: Fraction | None, second: Fraction | None) -> Fraction | None:
    return min((x for x in (first, second) if x is not None), default=None)


NO_LIMIT = Budget()


@dataclass(frozen=True, slots=True)
class Allowance:
    """Limit of a table and what is spent of it: ever, or in one ``period`` of the calendar."""

    limit: Budget = NO_LIMIT
    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    period: Period | None = None

    def __str__(self) -> str:
        """Period in words, as it follows what is spent; empty without a period."""
        return f" in {self.period} (UTC)" if self.period else ""

    @property
    def remedy(self) -> str:
        """Day on which the next period begins, as a sentence of a refusal."""
        return f" The next {self.period.kind} begins on {self.period.after}." if self.period else ""


@dataclass(frozen=True, slots=True)
class Reservation:
    """Charge on the disk: its number in the chain, the number of its table, and its amount."""

    charge: int
    table: int
    amount: Charge

    def place(self) -> Body:
        """Fields of an entry that name the table and the charge by their numbers."""
        return {"table": self.table, "charge": self.charge}


@dataclass(frozen=True, slots=True)
class Run:
    """Run of an account: its time, its charge, and the ids of the queries that it paid for.

    ``number`` is the charge's number in the chain.  ``keys`` are the cache keys of the measurements
    that the run paid for, ``questions`` what their verdicts asked.  ``unit`` is the column that
    names people; None if each row was a person.
    """

    number: int
    time: str
    charge: Charge
    queries: tuple[str, ...]
    unit: str | None = None
    keys: frozenset[str] = frozenset()
    questions: tuple[str, ...] = ()

    def facts(self, *, unused: bool) -> RunFacts:
        """Run as a report shows it."""
        charge = self.charge
        amounts = charge.epsilon, charge.delta, charge.rule
        return RunFacts(self.time, *amounts, self.queries, self.unit, unused)


class Owner(NamedTuple):
    """Process that has paid for a measurement."""

    host: str
    process: int

    @classmethod
    def here(cls) -> Owner:
        """Owner for the current process."""
        return cls(socket.gethostname(), os.getpid())

    def is_running(self) -> bool:
        """Whether the owner is another process on this machine that is still running."""
        host, process = self.here()
        if self.host != host or self.process == process or os.name != "posix":
            return False
        try:
            os.kill(self.process, 0)
        except PermissionError:
            return True
        except (OSError, OverflowError):
            return False
        return True


class ReleasedRows(NamedTuple):
    """Number of private rows as an earlier run released it.

    The exact number differs from ``rows`` by more than ``within`` with a probability of at most
    ``ROWS_LEVEL`` (pqd/run/measurement.py).  ``within`` is 0 for a number that a caller states.
    """

    rows: int
    within: int


@dataclass(slots=True)
class Account:
    """Account of one private table.

    ``files`` are keyed digests of files that hold the table.  ``answers`` maps cache keys to
    answers.  ``pending`` holds the measurements that are paid for and not answered yet: it maps
    each cache key to the process that paid.  ``unused`` are the runs that drew nothing; later runs
    may use their charges.  ``period_limits`` are limits on what is spent in each period.
    ``row_counts`` are the measurements whose first released number is the number of rows: it maps
    each cache key to the reach of the noise, in rows.
    """

    number: int
    fingerprint: str
    label: str
    since: str
    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    limit: Budget = NO_LIMIT
    period_limits: dict[PeriodKind, Budget] = field(default_factory=dict)
    files: set[str] = field(default_factory=set)
    runs: list[Run] = field(default_factory=list)
    answers: dict[str, Answer] = field(default_factory=dict)
    pending: dict[str, Owner] = field(default_factory=dict)
    unused: list[Run] = field(default_factory=list)
    row_counts: dict[str, int] = field(default_factory=dict)

    @property
    def released_rows(self) -> ReleasedRows | None:
        """Number of rows that was released with the least noise; None if none was."""
        released = [
            ReleasedRows(max(0, _numbers(self.answers[key])[0]), within)
            for key, within in self.row_counts.items()
            if key in self.answers
        ]
        return min(released, key=lambda each: each.within, default=None)

    def spent_in(self, period: Period) -> tuple[Fraction, Fraction]:
        """Epsilon and delta of all charges in a period, by the times of their entries."""
        charges = [run.charge for run in self.runs if period.holds(run.time)]
        nothing = Fraction(0)
        epsilon = sum((charge.epsilon for charge in charges), nothing)
        return epsilon, sum((charge.delta for charge in charges), nothing)

    def earlier_runs(self, keys: AbstractSet[str]) -> tuple[EarlierRun, ...]:
        """Runs that drew the answers of ``keys``, oldest first; for each key the last run."""
        open_keys, runs = set(keys), []
        for number, run in reversed(list(enumerate(self.runs, 1))):
            if open_keys and not open_keys.isdisjoint(run.keys):
                open_keys -= run.keys
                charge = run.charge
                day = run.time.partition("T")[0]
                runs.append(EarlierRun(number, day, charge.epsilon, charge.delta))
        return tuple(reversed(runs))

    @property
    def looks(self) -> Mapping[str, int]:
        """Number of times that each question was drawn and paid for, in whatever run.

        A question of a batch does not count, and neither does one that an older version asked.
        """
        return Counter(
            question for run in self.runs if run not in self.unused for question in run.questions
        )

    def facts(self, limit: Budget) -> AccountFacts:
        """Account as a report shows it, given the ``limit`` of every table."""
        tightest = self.limit.least(limit)
        return AccountFacts(
            number=self.number,
            label=self.label,
            since=self.since,
            epsilon=self.epsilon,
            delta=self.delta,
            limit=tightest.epsilon,
            limit_delta=tightest.delta,
            answers=len(self.answers),
            runs=tuple(run.facts(unused=run in self.unused) for run in self.runs),
        )


class Accounts:
    """Accounts of a ledger, and the limit of every table."""

    def __init__(self) -> None:
        """Begin without any account."""
        self.accounts: list[Account] = []
        self.limit = NO_LIMIT
        self.period_limits: dict[PeriodKind, Budget] = {}

    def account(self, fingerprint: str) -> Account | None:
        """Account of the table with this fingerprint; None if the table was never charged."""
        return next((a for a in self.accounts if a.fingerprint == fingerprint), None)

    def apply(self, body: Body, number: int) -> None:
        """Apply entry ``number``; KeyError, ValueError or the like if the entry is malformed."""
        match body["kind"]:
            case "table":
                opened = body["table"], body["fingerprint"], body["label"], body["time"]
                self.accounts.append(Account(*opened))
            case "charge":
                self._charge(self._account_of(body), body, number)
            case "answers":
                account = self._account_of(body)
                for key, answer in body["answers"].items():
                    account.answers[key] = decode(answer)
                    account.pending.pop(key, None)
            case "unused":
                account = self._account_of(body)
                (run,) = (run for run in account.runs if run.number == body["charge"])
                account.unused.append(run)
                for key in run.keys:
                    account.pending.pop(key, None)
            case "used":
                account = self._account_of(body)
                (run,) = (run for run in account.unused if run.number == body["charge"])
                account.unused.remove(run)
                account.pending |= dict.fromkeys(run.keys, Owner(*body["by"]))
            case "limit":
                limit = Budget(_read(body["epsilon"]), _read(body["delta"]))
                whose = self if body["table"] is None else self._account_of(body)
                if body["period"] is None:
                    whose.limit = limit
                else:
                    whose.period_limits[period_kind(body["period"])] = limit
            case other:
                raise ValueError(other)

    def _account_of(self, body: Body) -> Account:
        number = int(body["table"])
        if number < 1:
            raise ValueError(number)
        return self.accounts[number - 1]

    def _charge(self, account: Account, body: Body, number: int) -> None:
        charge = Charge(Fraction(body["epsilon"]), Fraction(body["delta"]), body["rule"])
        account.epsilon += charge.epsilon
        account.delta += charge.delta
        account.files |= {str(body["file"])} if body.get("file") else set()
        names = tuple(str(facts["id"]) for facts in body["questions"])
        keys = frozenset(str(facts["key"]) for facts in body["questions"])
        unit = unit_of(body["questions"])
        asked = tuple(str(facts["question"]) for facts in body["questions"] if "question" in facts)
        account.runs.append(Run(number, body["time"], charge, names, unit, keys, asked))
        account.pending |= dict.fromkeys(keys, Owner(*body["by"]))
        account.row_counts |= {
            str(facts["key"]): int(facts["rows_within"])
            for facts in body["questions"]
            if "rows_within" in facts
        }


def _numbers(answer: Answer) -> tuple[int, ...]:
    """Numbers that an answer released."""
    if isinstance(answer, EstimatorOutput):
        return answer.numbers
    return answer.released if isinstance(answer, Decision) else ()


def unit_of(measurements: Iterable[Body]) -> str | None:
    """Column that names the people of a run; None if each row is a person."""
    return next((str(facts["unit"]) for facts in measurements if facts.get("unit")), None)


def check_unit(account: Account | None, measurements: Iterable[Body]) -> None:
    """Refuse a run whose privacy unit is not the account's: epsilons of two units do not add up.

    Raises
    ------
    BudgetError
        If the units differ; the message names both units.
    """
    if account is None or not account.runs:
        return
    before, now = account.runs[-1].unit, unit_of(measurements)
    if (before or "").lower() != (now or "").lower():
        earlier, current = (f'per "{unit}"' if unit else "per row" for unit in (before, now))
        raise BudgetError(
            f"what was spent on this table protects {earlier}, and this run would protect "
            f"{current}: the two do not add up. Nothing was spent. Ask {earlier}"
        )


def charge_within(
    charge_at: Callable[[Fraction], Charge], *allowances: Allowance, where: str = ""
) -> Charge:
    """Charge of a run that fits into every allowance.

    ``charge_at`` computes it from the least delta that an allowance leaves.

    Raises
    ------
    BudgetError
        If epsilon or delta exceeds what is left; the message gives all the figures.
    """
    nothing = Fraction(0)
    deltas = [a.limit.delta - a.delta for a in allowances if a.limit.delta is not None]
    charge = charge_at(min(deltas, default=nothing))
    for allowance in allowances:
        _check_delta(charge.delta, allowance, where)
    for allowance in allowances if charge.epsilon else ():
        limit, spent = allowance.limit.epsilon, allowance.epsilon
        if limit is None or charge.epsilon + spent <= limit:
            continue
        left = max(limit - spent, nothing)
        needs, most, done, rest = map(epsilon_text, (charge.epsilon, limit, spent, left))
        raise BudgetError(
            f"this run needs epsilon {needs}; of {most} for this table {done} are "
            f"spent{allowance} and {rest} left{where}. Nothing was spent.{allowance.remedy} Use "
            "fewer queries, lower their epsilon, or raise the budget if that is yours to decide"
        )
    return charge


def _check_delta(needed: Fraction, allowance: Allowance, where: str) -> None:
    """Refuse a charge whose delta exceeds what is left of a stated limit."""
    limit, spent = allowance.limit.delta, allowance.delta
    if limit is None or not needed or needed + spent <= limit:
        return
    left = max(limit - spent, Fraction(0))
    needs, most, done, rest = (f"{float(x):.3g}" for x in (needed, limit, spent, left))
    raise BudgetError(
        f"this run needs delta {needs}; of {most} for this table {done} are spent{allowance} "
        f"and {rest} left{where}. Nothing was spent.{allowance.remedy} Leave delta (--delta) out, "
        "lower it, or raise the limit on delta if that is yours to decide"
    )


def _read(text: str | None) -> Fraction | None:
    return None if text is None else Fraction(text)


def encode(answer: Answer) -> Body:
    """Answer of a measurement, as an entry holds it."""
    if isinstance(answer, EstimatorOutput):
        return {"released": list(answer.numbers)}
    if isinstance(answer, Decision):
        verdict = {"yes": answer.outcome, "p_value": answer.p_value, "margin": answer.margin}
        if answer.rows_beyond is not None:
            verdict["rows_beyond"] = answer.rows_beyond
        return {**verdict, "statistic": list(answer.released)} if answer.released else verdict
    ends = {"thresholds": answer.thresholds, "deviations": answer.deviations}
    return {"batch": answer.answers, **ends}


def decode(body: Body) -> Answer:
    """Answer of a measurement that an entry holds."""
    if "released" in body:
        return EstimatorOutput(tuple(map(int, body["released"])))
    if "batch" in body:
        # Imported here: only a ledger with a batch needs the mechanisms of batches.
        from pqd.deciders.batch.base import BatchOutput  # noqa: PLC0415

        return BatchOutput.of(body["batch"], body["thresholds"], body["deviations"])
    statistic = tuple(map(int, body.get("statistic", ())))
    return Decision(
        bool(body["yes"]),
        body["p_value"],
        body["margin"],
        statistic,
        rows_beyond=body.get("rows_beyond"),
    )
