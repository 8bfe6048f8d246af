"""Baselines: what checks came to before, so that a build fails on what is new alone."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pqd.commands.gates import status_of
from pqd.errors import BaselineError
from pqd.paths import unlinked, usable, write_text
from reports.text.numbers import share_text

if TYPE_CHECKING:
    from reports.models.check import CheckReport, CheckResult

_KIND, _VERSION = "pqd-baseline", 1
_LEAST_SHOWN = 0.001
_BADNESS = {"as expected": 0, "undecided": 1, "not as expected": 2}
_FAILING = {"fail", "known"}


@dataclass(frozen=True, slots=True)
class Kept:
    """What a check came to: what it asked, its gate, and how bad each of its verdicts was."""

    asked: str
    gate: str
    badness: Mapping[str, int]


Baseline = dict[str, Kept]


def read_baseline(path: str | Path) -> Baseline:
    """Return what each check came to, by its id.

    Raises
    ------
    BaselineError
        If the file is missing or is no baseline.
    """
    path = usable(path)
    if path.exists() and not path.is_file():
        raise BaselineError(f"the baseline {path} is no file")
    try:
        found: Any = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BaselineError(
            f"the baseline {path} does not exist; make it with --update-baseline"
        ) from None
    except (OSError, ValueError, RecursionError):
        raise BaselineError(f"the baseline {path} cannot be read as JSON") from None
    try:
        fits = (found["kind"], found["schema_version"]) == (_KIND, _VERSION)
        kept = {str(name): _kept(check) for name, check in found["checks"].items()}
    except (AttributeError, KeyError, TypeError, ValueError):
        fits, kept = False, {}
    if not fits:
        raise BaselineError(
            f"{path} is no baseline of this version of pqd; make it again with --update-baseline"
        )
    return kept


def _kept(check: Mapping[str, Any]) -> Kept:
    badness = {str(name): int(bad) for name, bad in check["badness"].items()}
    return Kept(str(check["asked"]), str(check["gate"]), badness)


def write_baseline(path: str | Path, report: CheckReport, before: Baseline | None = None) -> None:
    """Write what the checks of ``report`` came to; checks that were not run keep what they had.

    Raises
    ------
    RunError
        If the file cannot be written.
    """
    decided = {e.id: _kept_of(e) for e in report.checks if e.verdicts}
    checks = {name: asdict(kept) for name, kept in sorted({**(before or {}), **decided}.items())}
    text = json.dumps({"kind": _KIND, "schema_version": _VERSION, "checks": checks}, indent=2)
    write_text(unlinked(usable(path)), text + "\n")


def _kept_of(entry: CheckResult) -> Kept:
    asked = f"{entry.sql} | {entry.tolerance} | {entry.expect}"
    bad = {v.group or "": _BADNESS[status_of(v, entry.expect)] for v in entry.verdicts}
    return Kept(asked, entry.gate, bad)


def against(report: CheckReport, before: Baseline, name: str) -> CheckReport:
    """Return ``report`` with failures that ``before`` had already taken for known.

    Known is what failed there, asked alike, with no verdict worse than it was.  A failure that is
    new gets the probability that noise alone made it.
    """
    checks = tuple(_compared(entry, before) for entry in report.checks)
    return replace(report, checks=checks, baseline=name)


def _compared(entry: CheckResult, before: Baseline) -> CheckResult:
    if entry.gate != "fail":
        return entry
    now, was = _kept_of(entry), before.get(entry.id)
    if was is None or was.asked != now.asked:
        return replace(entry, message=f"{entry.message}; not asked like this in the baseline")
    worse = [name for name, bad in now.badness.items() if bad > was.badness.get(name, 0)]
    if was.gate in _FAILING and not worse:
        return replace(entry, gate="known", message=f"{entry.message}; as in the baseline")
    odds = flip_probability(entry)
    noise = "noise alone may have done that"
    if odds is not None:
        # Rounded up, since it is a bound.
        bound = share_text(math.ceil(odds * 1000) / 1000) if odds > _LEAST_SHOWN else "0.1 %"
        noise = f"noise alone does that with probability {bound} at most"
    return replace(entry, flip=odds, message=f"{entry.message}; new since the baseline: {noise}")


def flip_probability(entry: CheckResult) -> float | None:
    """Return a bound on the probability that noise alone made this failure, None if unknown.

    Each verdict against expectation is, if the truth is as expected, as unlikely as its p-value;
    without one, nothing is known.  One of n groups fails by noise alone with at most n times the
    smallest (the union bound).
    """
    odds = []
    for verdict in entry.verdicts:
        against_expectation = (verdict.outcome == "yes") != (entry.expect == "close")
        if status_of(verdict, entry.expect) == "as expected" or not against_expectation:
            continue
        odds.append(verdict.p_value)
    known = [each for each in odds if each is not None]
    return min(1.0, len(entry.verdicts) * min(known)) if known else None
