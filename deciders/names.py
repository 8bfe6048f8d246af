"""Names in messages: the name nearest to an unknown name, and the first of many names."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence


def closest_name(name: str, known: Iterable[str]) -> str | None:
    """Name in ``known`` that was probably meant, in any letter case; None if no name is near."""
    lowered = {other.lower(): other for other in known}
    near = difflib.get_close_matches(name.lower(), lowered, n=1)
    return lowered[near[0]] if near else None


def nearest_names(name: str, known: Iterable[str], cutoff: float = 0.5) -> list[str]:
    """Up to three names in ``known`` that are similar to ``name``, the nearest first."""
    return difflib.get_close_matches(name, list(known), n=3, cutoff=cutoff)


def nearest_tables(name: str, known: Mapping[str, str]) -> list[str]:
    """Up to three tables whose names are similar to ``name`` in any letter case.

    ``known`` has, by its whole name such as ``public.visits``, the name of each table.
    """
    lowered = {whole: own.lower() for whole, own in known.items()}
    near = nearest_names(name.lower(), dict.fromkeys(lowered.values()))
    return [whole for own in near for whole in lowered if lowered[whole] == own][:3]


def near_hint(near: Sequence[str]) -> str:
    """Part of a message that names the nearest names; empty if there are none."""
    return f"; the nearest {'is' if len(near) == 1 else 'are'} {', '.join(near)}" if near else ""


def suggestion(name: str, known: Collection[str]) -> str:
    """Hint for a name that is not in ``known``."""
    near = closest_name(name, known)
    return f"did you mean {near}?" if near else f"use {', '.join(known)}"


def pasted(name: str, rest: str = "") -> str:
    """Name as a word of a command that a shell reads, in quotes where it needs them.

    ``rest`` follows the name in the same word, as in ``age=0:120``.  The quotes are double, or
    single around signs that a shell reads within double quotes.
    """
    text = f'"{name}"{rest}' if rest and name != name.strip() else f"{name}{rest}"
    word = shlex.quote(text)
    return word if word == text or re.search(r"[\"$`\\!]", text) else f'"{text}"'


def names_and_more(names: Sequence[str], most: int, separator: str = ", ") -> str:
    """First names, and the number of names that are left out: ``a, b and 3 more``."""
    more = len(names) - most
    return separator.join(names[:most]) + (f" and {more:,} more" if more > 0 else "")
