"""The HTML rendering of ``pqd check``: one page that needs nothing else, and runs nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reports.check_words import (
    HOW_TO_READ,
    advice,
    badge,
    cost_lines,
    counts_sentence,
    group_line,
    message_head,
    remark_lines,
    result,
    row,
    worst_first,
)
from reports.terminal import SIMULATED
from reports.visible import visible
from reports.words import sentences

if TYPE_CHECKING:
    from reports.check import CheckEntry, CheckReport

# What the column of messages has room for.
_WIDTH = 56


def html_text(report: CheckReport) -> str:
    """Return ``report`` as a page of HTML; whatever it quotes is text there, never a tag."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - heavy

    environment = Environment(
        loader=PackageLoader("reports"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_harmless,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template("check.html.j2").render(
        report=report,
        result=result(report),
        counts=counts_sentence(report),
        stamp=SIMULATED if report.simulated else "",
        checks=[_check(entry) for entry in worst_first(report)],
        cost=list(cost_lines(report)),
        reading=[*HOW_TO_READ, *remark_lines(report)],
    )


def _harmless(value: object) -> object:
    return visible(value, keep="\n") if type(value) is str else value


def _check(entry: CheckEntry) -> dict[str, Any]:
    grouped = len(entry.verdicts) > 1
    single = () if grouped else entry.verdicts
    groups = entry.verdicts if grouped else ()
    return {
        "entry": entry,
        "badge": badge(entry),
        "bad": entry.gate in {"error", "fail"},
        "simulated": any(verdict.simulated for verdict in entry.verdicts),
        "message": message_head(entry.message, _WIDTH),
        "cells": row(entry),
        "sentences": [t for v in single for t, _ in sentences(v, entry.tolerance, "±")],
        "groups": [group_line(verdict) for verdict in groups],
        "advice": list(advice(entry)),
    }
