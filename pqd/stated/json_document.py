"""JSON document whose values know their place, such as ``columns.age.range_min``.

A message on a mistake names the place.  It shows a value at the place only, and cuts it short,
since another file may be given by mistake.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pqd.deciders import ParameterError
from pqd.deciders.names import pasted
from pqd.paths import usable

FORMS = (
    "metadata of SDV for one table (METADATA_SPEC_VERSION) or a table schema of Frictionless "
    "(fields) are understood"
)
# Metadata of one table is small: a larger file, or a longer list, is a mistake.
_MOST_BYTES, _MOST_VALUES = 16 * 2**20, 100_000


def read_json(path: str | Path, name: str | None = None) -> object:
    """Content of a JSON file of metadata, which messages call by its path or by ``name``.

    Raises
    ------
    ParameterError
        If there is no such file, or if it is no JSON document of a small size.
    """
    file, path = usable(path), path if name is None else name
    try:
        # A pipe may have no writer, and is not waited for.
        content = b"" if file.is_fifo() else _beginning(file)
    except FileNotFoundError:
        advice = f"pqd init PRIVATE COPY --metadata {pasted(str(path))} writes one from the copy"
        raise ParameterError(f"metadata: there is no {path}; {advice}") from None
    except OSError:
        raise ParameterError(f"metadata: {path} cannot be read; name a JSON file") from None
    if len(content) > _MOST_BYTES:
        raise ParameterError(
            f"metadata: {path} is larger than {_MOST_BYTES // 2**20} MiB; metadata of one table "
            f"is small: {FORMS}"
        )
    try:
        return json.loads(content.decode("utf-8-sig"), object_pairs_hook=_object)
    except RecursionError:
        raise ParameterError(f"metadata: {path} is nested too deeply; {FORMS}") from None
    except ValueError:
        raise ParameterError(f"metadata: {path} is no JSON; {FORMS}") from None


def _beginning(file: Path) -> bytes:
    """Content of a file, or a little more than the most that is read."""
    with file.open("rb") as opened:
        return opened.read(_MOST_BYTES + 1)


class _Twice(dict[str, Any]):
    """JSON object with a key that stands in it twice."""

    key: str = ""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """JSON object, which remembers a key that stands twice."""
    whole = dict(pairs)
    if len(whole) == len(pairs):
        return whole
    twice, seen = _Twice(whole), set[str]()
    for key, _ in pairs:
        if key in seen:
            twice.key = key
        seen.add(key)
    return twice


@dataclass(frozen=True, slots=True)
class Node:
    """Value in a JSON document, and its place there, such as ``columns.age``."""

    value: Any
    place: str

    def __getitem__(self, key: str) -> Node:
        """Value of a key of an object; None if the object lacks it."""
        place = f"{self.place}.{written_key(str(key))}".removeprefix(".")
        return Node(self.value.get(key), place)

    def error(self, what: str) -> ParameterError:
        """Error that says ``what`` is wrong with the value at its place."""
        return ParameterError(f"{self.place or 'it'} {what}")

    def wrong(self, allowed: str) -> ParameterError:
        """Error for a value that is not ``allowed``."""
        return self.error(f"is {shown(self.value)}; {allowed}")

    def named(self) -> dict[str, Node]:
        """Values of an object by key; ParameterError for any other value."""
        if not isinstance(self.value, Mapping):
            raise self.error(f"is {shown(self.value)} and no JSON object; {FORMS}")
        if isinstance(self.value, _Twice):
            raise self[self.value.key].error("stands there twice; leave one of the two out")
        return {str(key): self[key] for key in self.value}

    def listed(self) -> list[Node]:
        """Items of a list, each at its place; ParameterError for any other value."""
        if isinstance(self.value, str) or not isinstance(self.value, Sequence):
            raise self.wrong("write a list")
        if len(self.value) > _MOST_VALUES:
            raise self.error(f"has {len(self.value):,} items; at most {_MOST_VALUES:,} are read")
        return [Node(each, f"{self.place}[{place}]") for place, each in enumerate(self.value)]

    def text(self) -> str | None:
        """Text; None if it is not stated; ParameterError for any other value."""
        if self.value is not None and not isinstance(self.value, str):
            raise self.wrong("write a text")
        return self.value

    def flag(self) -> bool:
        """True or false; false if it is not stated; ParameterError for any other value."""
        if self.value is not None and not isinstance(self.value, bool):
            raise self.wrong("write true or false")
        return bool(self.value)


def written_key(key: str) -> str:
    """Key as a place has it: in quotes, and cut short, if it is no plain name."""
    return key if re.fullmatch(r"[A-Za-z0-9_-]{1,60}", key) else json.dumps(key[:60])


def shown(value: object) -> str:
    """Value as JSON, cut short; of an object or a list only what it is."""
    if value is None:
        return "missing"
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, str):
        return json.dumps(value[:40])
    if isinstance(value, Sequence):
        return "a list"
    if not isinstance(value, (int, float)):
        return f"a {type(value).__name__}"
    return "no finite number" if is_infinite(value) else json.dumps(value)[:40]


def is_infinite(value: object) -> bool:
    """Whether a value is a float, but no finite number."""
    return isinstance(value, float) and not math.isfinite(value)
