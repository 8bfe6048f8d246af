"""Texts of cells: how a reader names them, and why columns and marginals have none."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from pqd.reports.text.numbers import number_text

NULL = "NULL"
UNSEEN = "not in the copy"
OTHERS = "other values of the copy"
EMPTY = "empty text"
_MOST_SIGNS = 60
_DIGITS = (6, 9, 12, 17)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def text_labels(values: Sequence[str]) -> tuple[str, ...]:
    """Labels of texts: on one line, cut to 60 signs, in quotes where they read as another cell."""
    return tuple(map(_text_label, values))


def _text_label(value: str) -> str:
    if not value:
        return EMPTY
    line = "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in value)
    short = line if len(line) <= _MOST_SIGNS else line[: _MOST_SIGNS - 3] + "..."
    return f'"{short}"' if short in {NULL, UNSEEN, OTHERS, EMPTY} else short


def number_labels(values: Sequence[float]) -> tuple[str, ...]:
    """Labels of distinct numbers, with as many digits as tell them apart."""
    labels: tuple[str, ...] = ()
    for digits in _DIGITS:
        labels = tuple(number_text(float(value), digits) for value in values)
        if len(set(labels)) == len(labels):
            break
    return labels


def time_labels(values: Sequence[float]) -> tuple[str, ...]:
    """Labels of times in microseconds since 1970: days where all are midnights."""
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
    """Labels of bins between ``edges``: the lower one is in, the upper one in the last alone.

    A ``single`` bin holds its lower edge alone; the next one begins above that.
    """
    labels: list[str] = []
    for place, (low, high) in enumerate(pairwise(edges)):
        start = f"above {edges[place - 1]}" if place and single[place - 1] else low
        last = place == len(single) - 1
        end = f"to {high}" if last else f"to < {high}"
        labels.append(low if single[place] else f"{start} {end}")
    return tuple(labels)


def outside_label(low: str, high: str) -> str:
    """Label of the cell of values beyond stated edges."""
    return f"outside {low} to {high}"


def between_labels(values: Sequence[str]) -> tuple[str, ...]:
    """Labels of the values, of what is between two of them, and beyond the first and the last."""
    labels = [f"below {values[0]}" if values else "any value"]
    for value, following in zip(values, [*values[1:], None], strict=True):
        after = f"above {value}" if following is None else f"between {value} and {following}"
        labels += [value, after]
    return tuple(labels)


def near_unique_reason(distinct: int, rows: int) -> str:
    """Reason why a column of nearly unique texts is left out."""
    return (
        f"its texts are nearly unique ({distinct:,} different ones in {rows:,} rows of the copy), "
        "as free text and identifiers are; name it in --columns to profile it all the same"
    )


def identifier_reason(rows: int) -> str:
    """Reason why a column of distinct whole numbers is left out."""
    return (
        f"it holds {rows:,} whole numbers, no two alike, as an identifier does; name it in "
        "--columns to profile it all the same"
    )


UNIT_REASON = "it names the person (--unit)"
NOT_PRIVATE_REASON = "the private table has no such column"


def absent_reason(table: str) -> str:
    """Reason why a column that another copy lacks is left out."""
    return f"{table} has no such column"


def many_cells_reason(cells: int, most: int, *, rows: int | None) -> str:
    """Reason why a marginal of too many cells is left out; ``rows`` where they are the limit."""
    limit = f"more than {most:,}" if rows is None else f"more than the copy has rows ({rows:,})"
    return f"it has {cells:,} cells, {limit}; give its columns fewer (--cells COLUMN=5)"
