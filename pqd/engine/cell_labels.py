"""Labels of cells: the names of a marginal's cells in reports and for ``--zoom``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from pqd.deciders.numbers import number_text

NULL = "NULL"
UNSEEN = "not in the copy"
OTHERS = "other values of the copy"
EMPTY = "empty text"
# Cells of a column that a copy lacks: those of private rows, and those of the copy's rows.
LACKING = ("rows with this column", "rows without it")
_MOST_SIGNS = 60
_DIGITS = (6, 9, 12, 17)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def text_labels(values: Sequence[str]) -> tuple[str, ...]:
    """Labels of texts: one line, at most 60 signs, in quotes if it reads as another cell."""
    return tuple(map(_text_label, values))


def _text_label(value: str) -> str:
    if not value:
        return EMPTY
    line = "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in value)
    short = line if len(line) <= _MOST_SIGNS else line[: _MOST_SIGNS - 3] + "..."
    return f'"{short}"' if short in {NULL, UNSEEN, OTHERS, EMPTY} else short


def range_labels(bins: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Labels of bins of texts: a first and a last text, or the only one."""
    return tuple(" to ".join(text_labels(tuple(dict.fromkeys(each)))) for each in bins)


def number_labels(values: Sequence[float]) -> tuple[str, ...]:
    """Labels of distinct numbers, with enough digits to tell them apart."""
    labels: tuple[str, ...] = ()
    for digits in _DIGITS:
        labels = tuple(number_text(float(value), digits) for value in values)
        if len(set(labels)) == len(labels):
            break
    return labels


def time_labels(values: Sequence[float]) -> tuple[str, ...]:
    """Labels of times in microseconds since 1970; only days, if all times are midnights."""
    days = all(math.isfinite(value) and value % 86_400_000_000 == 0 for value in values)
    return tuple(_time_label(value, days=days) for value in values)


def _time_label(microseconds: float, *, days: bool) -> str:
    try:
        moment = _EPOCH + timedelta(microseconds=int(microseconds))
    except (OverflowError, ValueError):
        return "infinite" if microseconds > 0 else "-infinite"
    text = moment.replace(tzinfo=None).isoformat(" ")
    return text[:10] if days else text


def bin_labels(edges: Sequence[str], single: Sequence[bool]) -> tuple[str, ...]:
    """Labels of bins between ``edges``: a bin holds its lower edge, the last bin both its edges.

    A ``single`` bin holds its lower edge alone; the next bin begins above this edge.
    """
    labels: list[str] = []
    for place, (low, high) in enumerate(pairwise(edges)):
        start = f"above {edges[place - 1]}" if place and single[place - 1] else low
        last = place == len(single) - 1
        end = f"to {high}" if last else f"to < {high}"
        labels.append(low if single[place] else f"{start} {end}")
    return tuple(labels)


def outside_label(low: str, high: str) -> str:
    """Label of the cell for values outside stated edges."""
    return f"outside {low} to {high}"


def between_labels(values: Sequence[str]) -> tuple[str, ...]:
    """Labels of cells at values, between two values, below the first and above the last value."""
    labels = [f"below {values[0]}" if values else "any value"]
    for value, following in zip(values, [*values[1:], None], strict=True):
        after = f"above {value}" if following is None else f"between {value} and {following}"
        labels += [value, after]
    return tuple(labels)
