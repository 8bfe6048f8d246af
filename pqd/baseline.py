"""Baselines: what checks came to before, so that a build fails on what is new alone."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pqd.errors import BaselineError, RunError
from pqd.gates import status_of
from reports.words import share_text

if TYPE_CHECKING:
    from reports.check import CheckEntry, CheckReport

_KIND, _VERSION = "pqd-baseline", 1
_LEAST_SHOWN = 0.001
_AS_EXPECTED = "as expected"

Baseline = dict[str, str]


def read_baseline(path: str | Path) -> Baseline:
    """Return the status of each check by its id.

    Raises
    ------
    BaselineError
        If the file is missing or is no baseline.
    """
    path = Path(path)
    try:
        found: Any = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BaselineError(
            f"the baseline {path} does not exist; make it with --update-baseline"
        ) from None
    except (OSError, ValueError, RecursionError):
        raise BaselineError(f"the baseline {path} cannot be read as JSON") from None
    checks = found.get("checks") if isinstance(found, dict) else None
    if (
        not isinstance(checks, dict)
        or (found.get("kind"), found.get("schema_version")) != (_KIND, _VERSION)
        or not all(isinstance(status, str) for status in checks.values())
    ):
        raise BaselineError(
            f"{path} is no baseline of this version of pqd; make it again with --update-baseline"
        )
    return dict(checks)


def write_baseline(path: str | Path, report: CheckReport, before: Baseline | None = None) -> None:
    """Write what the checks of ``report`` came to; checks that were not run keep what they had.

    Raises
    ------
    RunError
        If the file cannot be written.
    """
    decided = {e.id: e.status for e in report.entries if e.status not in {"broken", "planned"}}
    checks = dict(sorted({**(before or {}), **decided}.items()))
    text = json.dumps({"kind": _KIND, "schema_version": _VERSION, "checks": checks}, indent=2)
    try:
        Path(path).write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise RunError(f"the baseline {path} was not written: {error.strerror}") from None


def against(report: CheckReport, before: Baseline, name: str) -> CheckReport:
    """Return ``report`` with failures that ``before`` had already taken for known.

    A failure that is new gets the probability that noise alone made it.
    """
    entries = tuple(_compared(entry, before) for entry in report.entries)
    return replace(report, entries=entries, baseline=name)


def _compared(entry: CheckEntry, before: Baseline) -> CheckEntry:
    if entry.gate != "fail":
        return entry
    was = before.get(entry.id)
    if was is not None and was != _AS_EXPECTED:
        return replace(entry, gate="known", message=f"{entry.message}; as in the baseline ({was})")
    if was is None:
        return replace(entry, message=f"{entry.message}; not in the baseline")
    odds = flip_probability(entry)
    noise = "noise alone may have done that"
    if odds is not None:
        # Rounded up, since it is a bound.
        bound = share_text(math.ceil(odds * 1000) / 1000) if odds > _LEAST_SHOWN else "0.1 %"
        noise = f"noise alone does that with probability {bound} at most"
    return replace(entry, flip=odds, message=f"{entry.message}; the baseline had {was}: {noise}")


def flip_probability(entry: CheckEntry) -> float | None:
    """Return a bound on the probability that noise alone made this failure, None if unknown.

    Each verdict against expectation is, if the truth is as expected, as unlikely as its p-value;
    without one, as its decider's error on public stand-ins.  One of n groups fails by noise alone
    with at most n times the smallest (the union bound).
    """
    odds = []
    for verdict in entry.verdicts:
        against_expectation = (verdict.outcome == "yes") != (entry.expect == "close")
        if status_of(verdict, entry.expect) == _AS_EXPECTED or not against_expectation:
            continue
        chosen = verdict.chosen
        error = chosen.false_no if entry.expect == "close" else chosen.false_yes
        odds.append(error if verdict.p_value is None else verdict.p_value)
    known = [each for each in odds if each is not None]
    return min(1.0, len(entry.verdicts) * min(known)) if known else None
