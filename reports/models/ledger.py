"""The ledger as a reader sees it: per table what was spent, when, and for which queries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from rich.text import Text

from reports.json import json_text, json_values
from reports.models.audit import SCHEMA_VERSION
from reports.terminal.audit import indented, wrapped
from reports.text.escape import visible
from reports.text.numbers import epsilon_text

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

_MOST_NAMED = 8


@dataclass(frozen=True, slots=True)
class RunFacts:
    """One charge: its time (UTC), what it cost, by which rule, and the ids of its queries.

    ``unit`` is the column whose values were people, None where each row was one.
    """

    time: str
    epsilon: Fraction
    delta: Fraction
    rule: str
    queries: tuple[str, ...]
    unit: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountFacts:
    """One private table, called as when it was first charged; a limit is None where there is none.

    ``answers`` counts the queries that would be replayed at no cost.
    """

    number: int
    label: str
    since: str
    epsilon: Fraction
    delta: Fraction
    limit: Fraction | None
    limit_delta: Fraction | None
    answers: int
    runs: tuple[RunFacts, ...]


@dataclass(frozen=True, slots=True)
class LedgerFacts:
    """A whole ledger; ``head`` stands for all its ``entries``, ``limit`` holds for every table."""

    name: str
    head: str
    entries: int
    tables: tuple[AccountFacts, ...]
    limit: Fraction | None = None
    limit_delta: Fraction | None = None


def ledger_json(facts: LedgerFacts) -> str:
    """Return the ledger as JSON text (docs/report-schema.md)."""
    return json_text({"schema_version": SCHEMA_VERSION, "kind": "ledger", **json_values(facts)})


class TerminalLedger:
    """A rich renderable of a ledger."""

    def __init__(self, facts: LedgerFacts) -> None:
        """Keep the facts."""
        self._facts = facts

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield one block per table, then the head."""
        facts, width = self._facts, options.max_width
        for account in facts.tables:
            title = (
                f"table {account.number}   {visible(account.label)}   since {account.since[:10]}"
            )
            yield from wrapped(Text(title, style="bold"), console, width)
            for line in _lines(account):
                yield from indented(Text(line), console, width)
            yield Text()
        if not facts.tables:
            yield Text("Nothing was ever charged.")
        if facts.limit is not None:
            most = f"At most epsilon {epsilon_text(facts.limit)} on every table."
            yield from wrapped(Text(most), console, width)
        if len(facts.tables) > 1:
            people = "Each table has a budget of its own: a person in several pays in each."
            yield from wrapped(Text(people), console, width)
        yield from wrapped(Text(f"{facts.entries} entries, head {facts.head}"), console, width)


def _lines(account: AccountFacts) -> Iterator[str]:
    spent = f"spent epsilon {epsilon_text(account.epsilon)}"
    if account.limit is not None:
        left = max(account.limit - account.epsilon, Fraction(0))
        spent += f" of {epsilon_text(account.limit)}, {epsilon_text(left)} left"
    if account.delta or account.limit_delta:
        most = "" if account.limit_delta is None else f" of {float(account.limit_delta):.3g}"
        spent += f"; delta {float(account.delta):.3g}{most}"
    yield spent
    asked = "question" if account.answers == 1 else "questions"
    yield f"{account.answers} {asked} answered, replayed at no cost when asked again"
    for run in account.runs:
        names = ", ".join(visible(name) for name in run.queries[:_MOST_NAMED])
        more = len(run.queries) - _MOST_NAMED
        names += f" and {more} more" if more > 0 else ""
        moment = run.time[:16].replace("T", " ")
        whom = f", per {visible(run.unit)}" if run.unit else ""
        yield f"{moment}  epsilon {epsilon_text(run.epsilon)} ({run.rule}{whom}): {names}"
