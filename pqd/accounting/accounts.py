"""Account: one version of a private table, with its charges and its stored answers.

The versions of one table are a data set (pqd/accounting/data_sets.py), which has the limit.
"""

from __future__ import annotations

import os
import socket
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from pqd.accounting.composition import Charge
from pqd.accounting.hash_chain import Body
from pqd.accounting.periods import Period
from pqd.deciders.estimators import EstimatorOutput
from pqd.deciders.numbers import epsilon_text
from pqd.deciders.options import option
from pqd.deciders.single.base import Decision
from pqd.errors import BudgetError
from pqd.reports.models.audit import EarlierRun
from pqd.reports.models.ledger import AccountFacts, MeasurementFacts, PeriodFacts, RunFacts

if TYPE_CHECKING:
    from pqd.deciders.batch.base import BatchOutput

    Answer = Decision | EstimatorOutput | BatchOutput


@dataclass(frozen=True, slots=True)
class Budget:
    """Budget of one data set: the most that may ever be spent; None means no limit."""

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
    """Limit of a data set and what is spent of it: ever, or in one ``period`` of the calendar.

    ``planned`` is the part of ``epsilon`` that the same run needs before, and has not spent yet.
    """

    limit: Budget = NO_LIMIT
    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    period: Period | None = None
    planned: Fraction = Fraction(0)

    def __str__(self) -> str:
        """Period in words, as it follows what is spent; empty without a period."""
        return f" in {self.period} (UTC)" if self.period else ""

    def facts(self) -> PeriodFacts:
        """Period as a report shows it; TypeError without a period."""
        if self.period is None:
            raise TypeError("an allowance for all time has no period")
        ends = self.period.first.isoformat(), self.period.after.isoformat()
        limits = self.limit.epsilon, self.limit.delta
        return PeriodFacts(self.period.kind, *ends, *limits, self.epsilon, self.delta)

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
    """Run of an account: its time, its charge, and the measurements that it paid for.

    ``number`` is the charge's number in the chain, and ``body`` its entry.  ``keys`` are the cache
    keys of the measurements, ``questions`` what their verdicts asked.  ``unit`` is the column that
    names people; None if each row was a person.
    """

    number: int
    time: str
    charge: Charge
    body: Body = field(repr=False, compare=False)
    unit: str | None = None
    keys: frozenset[str] = frozenset()
    questions: tuple[str, ...] = ()

    def facts(self, counted: Charge, *, unused: bool) -> RunFacts:
        """Run as a report shows it; ``counted`` is its charge as it counts for the data set."""
        charge, asked = self.charge, self.body["questions"]
        facts = RunFacts(
            entry=self.number,
            time=self.time,
            epsilon=charge.epsilon,
            delta=charge.delta,
            rule=charge.rule,
            command=str(self.body.get("command", "")),
            copies=tuple(map(str, self.body.get("copies", ()))),
            measurements=tuple(map(_measurement_facts, asked)),
            unit=self.unit,
            max_rows=max((facts.get("max_rows") or 0 for facts in asked), default=0) or None,
            row_is_person=any(facts.get("row_is_person", False) for facts in asked),
            unused=unused,
        )
        if counted == charge:
            return facts
        return replace(facts, counted=counted.epsilon, counted_delta=counted.delta)


def _measurement_facts(facts: Body) -> MeasurementFacts:
    """Measurement as a report shows it, from the public facts of its charge."""
    return MeasurementFacts(
        id=str(facts["id"]),
        sql=str(facts.get("sql", "")),
        columns=tuple(map(str, facts.get("columns", ()))),
        epsilon=Fraction(facts.get("epsilon", 0)),
        mechanism=str(facts.get("decider", "")),
        bounds=facts.get("bounds"),
    )


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
    """Account of one version of a private table.

    ``files`` are keyed digests of files that hold the table.  ``answers`` maps cache keys to
    answers.  ``pending`` holds the measurements that are paid for and not answered yet: it maps
    each cache key to the process that paid.  ``unused`` are the runs that drew nothing; later runs
    may use their charges.  ``row_counts`` are the measurements whose first released number is the
    number of rows: it maps each cache key to the reach of the noise, in rows.  ``public`` is the
    custodian's reason why the table is public and was charged by mistake; None if it is private.
    """

    number: int
    fingerprint: str
    label: str
    since: str
    files: set[str] = field(default_factory=set)
    runs: list[Run] = field(default_factory=list)
    answers: dict[str, Answer] = field(default_factory=dict)
    pending: dict[str, Owner] = field(default_factory=dict)
    unused: list[Run] = field(default_factory=list)
    row_counts: dict[str, int] = field(default_factory=dict)
    public: str | None = None

    @property
    def epsilon(self) -> Fraction:
        """Sum of the epsilons of all charges, as they were charged."""
        return sum((run.charge.epsilon for run in self.runs), Fraction(0))

    @property
    def delta(self) -> Fraction:
        """Sum of the deltas of all charges, as they were charged."""
        return sum((run.charge.delta for run in self.runs), Fraction(0))

    @property
    def released_rows(self) -> ReleasedRows | None:
        """Number of rows that was released with the least noise; None if none was."""
        released = [
            ReleasedRows(max(0, _numbers(self.answers[key])[0]), within)
            for key, within in self.row_counts.items()
            if key in self.answers
        ]
        return min(released, key=lambda each: each.within, default=None)

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

    def facts(self, counted: Callable[[Charge, str | None], Charge]) -> AccountFacts:
        """Account as a report shows it; ``counted`` is a charge as it counts for the data set."""
        charges = [counted(run.charge, run.unit) for run in self.runs]
        return AccountFacts(
            number=self.number,
            label=self.label,
            since=self.since,
            epsilon=sum((charge.epsilon for charge in charges), Fraction(0)),
            delta=sum((charge.delta for charge in charges), Fraction(0)),
            answers=len(self.answers),
            runs=tuple(
                run.facts(charge, unused=run in self.unused)
                for run, charge in zip(self.runs, charges, strict=True)
            ),
            public=self.public,
        )

    def apply(self, body: Body, number: int) -> None:
        """Apply entry ``number`` on this table; KeyError or the like if the entry is malformed."""
        match body["kind"]:
            case "charge":
                self._add_charge(body, number)
            case "answers":
                for key, answer in body["answers"].items():
                    self.answers[key] = decode(answer)
                    self.pending.pop(key, None)
            case "unused":
                (run,) = (run for run in self.runs if run.number == body["charge"])
                self.unused.append(run)
                for key in run.keys:
                    self.pending.pop(key, None)
            case "used":
                (run,) = (run for run in self.unused if run.number == body["charge"])
                self.unused.remove(run)
                self.pending |= dict.fromkeys(run.keys, Owner(*body["by"]))
            case "public":
                self.public = str(body["because"])
            case "private":
                self.public = None
            case other:
                raise ValueError(other)

    def _add_charge(self, body: Body, number: int) -> None:
        charge = Charge(
            Fraction(body["epsilon"]),
            Fraction(body["delta"]),
            body["rule"],
            Fraction(body.get("rho", 0)),
            Fraction(body.get("pure", 0)),
        )
        self.files |= {str(body["file"])} if body.get("file") else set()
        keys = frozenset(str(facts["key"]) for facts in body["questions"])
        unit = unit_of(body["questions"])
        asked = tuple(str(facts["question"]) for facts in body["questions"] if "question" in facts)
        self.runs.append(Run(number, body["time"], charge, body, unit, keys, asked))
        self.pending |= dict.fromkeys(keys, Owner(*body["by"]))
        self.row_counts |= {
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


def charge_within(
    charge_at: Callable[[Fraction], Charge],
    *allowances: Allowance,
    where: str = "",
    counted: Callable[[Charge], Charge] | None = None,
) -> Charge:
    """Charge of a run that fits into every allowance.

    ``charge_at`` computes it from the least delta that an allowance leaves.

    If ``counted`` is given, the charge counts as ``counted(charge)``, and ``charge_at`` gets no
    delta, since its delta would count many times.

    Raises
    ------
    BudgetError
        If epsilon or delta exceeds what is left; the message gives all the figures.
    """
    nothing = Fraction(0)
    deltas = [a.limit.delta - a.delta for a in allowances if a.limit.delta is not None]
    charge = charge_at(nothing if counted else min(deltas, default=nothing))
    needed = counted(charge) if counted else charge
    per_row = f" per person ({epsilon_text(charge.epsilon)} per row)" if counted else ""
    for allowance in allowances:
        _check_delta(needed.delta, allowance, where)
    for allowance in allowances if needed.epsilon else ():
        limit, spent = allowance.limit.epsilon, allowance.epsilon
        if limit is None or needed.epsilon + spent <= limit:
            continue
        left = max(limit - spent, nothing)
        paid = spent - allowance.planned
        needs, most, done, rest = map(epsilon_text, (needed.epsilon, limit, paid, left))
        first = epsilon_text(allowance.planned)
        # The budget of a spec limits its own runs, so others may have spent more.
        by = " by all commands" if paid > limit else ""
        more = f", {first} are for what this run draws first" if allowance.planned else ""
        raise BudgetError(
            f"this run needs epsilon {needs}{per_row}; of {most} for this data set {done} are "
            f"spent{by}{allowance}{more} and {rest} left{where}. Nothing was spent."
            f"{allowance.remedy} Ask for less, at a lower epsilon, or raise the budget if "
            "that is yours to decide"
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
        f"this run needs delta {needs}; of {most} for this data set {done} are spent{allowance} and"
        f" {rest} left{where}. Nothing was spent.{allowance.remedy} Leave delta out "
        f"({option('--delta')}, or the option delta of a mechanism), lower it, or raise the limit "
        "on delta ([budget] delta, pqd ledger limit) if that is yours to decide"
    )


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
