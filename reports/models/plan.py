"""The plan model and its terminal rendering: what verdicts will be worth, before any is bought."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from reports.json import json_values
from reports.models.audit import SCHEMA_VERSION, CandidateFacts, QueryFacts
from reports.models.report import Plotted, Rendered
from reports.terminal.audit import indented, left_out, rendered_text, wrapped
from reports.terminal.chart import chart_lines
from reports.text.audit import (
    budget_text,
    proof_sentence,
    question,
    share_text,
    threshold_text,
    tolerance,
)
from reports.text.escape import visible
from reports.text.numbers import epsilon_text, number_text

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console, ConsoleOptions, RenderResult

    from reports.models.refusals import Refused

# Below this width a table would cut its numbers off.
_NARROW = 72


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedQuery(QueryFacts):
    """One query of a plan; ``decider`` is the one that ``auto`` takes."""


@dataclass(frozen=True, slots=True)
class PlanReport(Rendered, Plotted):
    """A plan: no private table was read and nothing was spent.

    ``price`` is what an audit of all queries would cost, None without a budget.
    """

    queries: tuple[PlannedQuery, ...]
    synthetic: str
    tolerance: str
    epsilon: Fraction | None
    alpha: Fraction
    notes: tuple[str, ...] = ()
    price: Fraction | None = None
    refused: tuple[Refused, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain JSON values."""
        return {"schema_version": SCHEMA_VERSION, "kind": "plan", **json_values(self)}

    def to_frame(self) -> pd.DataFrame:
        """Return one row per query and candidate; a query not planned has but a reason."""
        import pandas as pd  # noqa: PLC0415 - a heavy import that only frames need

        rows = []
        for entry in self.queries:
            public = {"id": entry.id, "q_synthetic": entry.q_synthetic, "tau": entry.tau}
            for candidate in entry.candidates:
                facts = {k: v for k, v in json_values(candidate).items() if k != "curve"}
                rows.append({**public, **facts, "chosen": candidate.decider == entry.decider})
        rows += [{"id": each.id, "reason": each.reason} for each in self.refused]
        return pd.DataFrame(rows)

    def _plotted(self) -> tuple[QueryFacts, ...]:
        return self.queries

    def __str__(self) -> str:
        """Return the terminal plan as plain text, 80 columns wide."""
        return rendered_text(TerminalPlan(self), 80)


class TerminalPlan:
    """A rich renderable of a plan; ``verbose`` adds the charts where they were computed."""

    def __init__(self, plan: PlanReport, *, verbose: bool = False) -> None:
        """Keep the plan."""
        self._plan, self._verbose = plan, verbose

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield one block per query, then the summary."""
        unicode = options.encoding.lower().startswith("utf")
        for entry in self._plan.queries:
            yield from wrapped(_head(entry), console, options.max_width)
            text = question(entry.aggregate, entry.attribute, entry.p, entry.where)
            yield from indented(Text(text), console, options.max_width)
            stated = tolerance(entry.tau, self._plan.tolerance, "±" if unicode else "+-")
            answer = f"synthetic answer {number_text(entry.q_synthetic)}, {stated}"
            yield from indented(Text(answer), console, options.max_width)
            if options.max_width < _NARROW:
                for candidate in entry.candidates:
                    yield from indented(_line(entry, candidate), console, options.max_width)
            else:
                yield _table(entry, with_budget=self._plan.epsilon is not None)
            if self._verbose:
                for line in chart_lines(
                    entry.candidates, entry.decider, unicode=unicode, width=options.max_width
                ):
                    yield from indented(Text(line, no_wrap=True), console, options.max_width)
            yield Text()
        for sentence in _summary(self._plan):
            yield from wrapped(sentence, console, options.max_width)


def _head(entry: PlannedQuery) -> Text:
    if entry.decidable is None:
        return Text.assemble((visible(entry.id), "bold"))
    if entry.decidable:
        return Text.assemble(("OK   ", "bold green"), (visible(entry.id), "bold"))
    needed = budget_text(entry.chosen.epsilon_needed)
    remedy = "no epsilon would do" if needed == "none" else f"about epsilon {needed} would do"
    told = proof_sentence(entry.chosen) or f"tau below threshold; {remedy}"
    return Text.assemble(
        ("LOW  ", "bold yellow"), (visible(entry.id), "bold"), (f"   {told}", "yellow")
    )


def _line(entry: PlannedQuery, candidate: CandidateFacts) -> Text:
    """Return one candidate in words, where a table has no room."""
    taken = candidate.decider == entry.decider
    parts = [f"{'>' if taken else ' '} {candidate.decider}: "]
    if candidate.tau_min is not None:
        parts.append(f"least tau {threshold_text(candidate.tau_min)}, ")
        parts.append(f"false no {share_text(candidate.false_no)}, ")
        parts.append(f"false yes {share_text(candidate.false_yes)}, ")
    parts.append(f"epsilon for tau about {budget_text(candidate.epsilon_needed)}")
    return Text("".join(parts), style="bold" if taken else "")


def _table(entry: PlannedQuery, *, with_budget: bool) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("     decider", no_wrap=True)
    titles = ["least tau", "false no", "false yes"] if with_budget else []
    for title in [*titles, "epsilon for tau, about"]:
        table.add_column(title, justify="right")
    for candidate in entry.candidates:
        taken = candidate.decider == entry.decider
        cells = [f"   {'>' if taken else ' '} {candidate.decider}"]
        if with_budget:
            cells.append(threshold_text(candidate.tau_min))
            cells += [share_text(candidate.false_no), share_text(candidate.false_yes)]
        table.add_row(*cells, budget_text(candidate.epsilon_needed), style="bold" if taken else "")
    return table


def _summary(plan: PlanReport) -> Iterator[Text]:
    count = len(plan.queries)
    level = number_text(float(plan.alpha) * 100, 3)
    if plan.epsilon is not None:
        enough = sum(entry.decidable is True for entry in plan.queries)
        total = epsilon_text(plan.epsilon * count if plan.price is None else plan.price)
        yield Text(
            f"{enough} of {count} decidable at epsilon {epsilon_text(plan.epsilon)} each "
            f"({total} in total).",
            style="bold",
        )
    yield from left_out(plan.refused)
    yield Text(
        f"Planned on {visible(plan.synthetic)} alone: no private table was read, nothing was "
        "spent. > marks the decider that would be used."
    )
    errors = " (false no, false yes)" if plan.epsilon is not None else ""
    yield Text(
        f"Decidable: at most {level} % wrong{errors} at this tau where the answers agree or lie "
        "2 tau apart, on stand-ins made from the synthetic table. Epsilon for tau is the worst of "
        "several shapes that the private table might have; no bound."
    )
    for note in plan.notes:
        yield Text(visible(note))
