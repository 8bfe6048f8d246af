"""The tables of a spec held against the table of known keys; problems are gathered, not raised."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deciders import ParameterError
from pqd.spec.schema import NAME_PATTERN, SECTION, SECTIONS, Section
from pqd.spec.toml import SINGLE_CHECK
from pqd.spec.value_types import found, near_to, nearest, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pqd.spec.positions import Places, Where

Values = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong in a spec; ``line`` is None where it is the whole file."""

    line: int | None
    text: str


class Document:
    """The content of a spec file, and the problems found in it so far."""

    def __init__(self, data: dict[str, Any], places: Places) -> None:
        """Note tables that are unknown or missing."""
        self.data, self.problems = data, list[Problem]()
        self._places = places
        for name in data.keys() - SECTION.keys():
            self._unknown(name)
        for section in SECTIONS:
            if section.required and section.form != "list":
                self.check_present(section.name)

    def add(self, where: Where, text: str) -> None:
        """Note a problem at a place."""
        self.problems.append(Problem(self._places.line(where), text))

    def line(self, where: Where) -> int:
        """Return the line of a place."""
        return self._places.line(where)

    def check_present(self, name: str) -> None:
        """Note that a table is missing, unless its name is there misspelt."""
        section = SECTION[name]
        if not any(other == name or near_to(other, SECTION) == name for other in self.data):
            lines = ", ".join(key.example for key in section.keys if key.required)
            text = f"there is no {section.header}; add {section.example} with {lines}"
            self.problems.append(Problem(None, text))

    def _unknown(self, name: str) -> None:
        value = self.data[name]
        homes = [section.header for section in SECTIONS if name in section.key]
        if homes and not isinstance(value, dict):
            hint = f"it belongs under {' or '.join(homes)}"
            self.add((name,), f"{shown(name)} stands before every table; {hint}")
            return
        near = near_to(name, SECTION)
        headers = ", ".join(section.header for section in SECTIONS)
        hint = f"did you mean {SECTION[near].header}?" if near else f"use {headers}"
        what = "table" if isinstance(value, (dict, list)) else "key"
        self.add((name,), f"the {what} {shown(name)} is unknown; {hint}")

    def one(self, name: str) -> Values:
        """Return the values of a table that stands once or not at all."""
        if name not in self.data:
            return {}
        section = SECTION[name]
        return self._values(section, self.data[name], section.header, (name,))

    def named(self, name: str) -> Iterator[tuple[str, Values]]:
        """Yield name and values of each table ``[name.NAME]``."""
        section, tables = SECTION[name], self.data.get(name, {})
        if not isinstance(tables, dict):
            self.add((name,), f"{name} is {found(tables)}; write {section.example}")
        elif not tables and name in self.data and section.required:
            self.add((name,), f"[{name}] is empty; write {section.example}")
        elif bare := [k for k in section.key if k in tables and not isinstance(tables[k], dict)]:
            text = f"[{name}] has the key {bare[0]} but no name; write {section.example}"
            self.add((name, bare[0]), text)
        else:
            for key, table in tables.items():
                yield key, self._named(section, key, table)

    def _named(self, section: Section, key: str, table: object) -> Values:
        where = (section.name, key)
        bare = re.fullmatch(NAME_PATTERN, key)
        if not bare and section.names.get("pattern") == NAME_PATTERN:
            self.add(where, f"{shown(key)} is no name; use letters, digits, _ and - in it")
        elif not key.strip():
            self.add(where, f"[{section.name}] has an empty name; write {section.example}")
        return self._values(section, table, header(*where), where)

    def each(self, name: str) -> Iterator[tuple[str, Values]]:
        """Yield label and values of each table ``[[name]]``."""
        section, tables = SECTION[name], self.data.get(name, [])
        if isinstance(tables, dict):
            self.add((name,), SINGLE_CHECK)
        elif not isinstance(tables, list):
            self.add((name,), f"{name} is {found(tables)}; write {section.header}")
        else:
            for number, table in enumerate(tables):
                label = f"{section.header} {_label(table, number)}"
                yield label, self._values(section, table, label, (name, number))

    def _values(self, section: Section, table: object, label: str, where: Where) -> Values:
        """Return the values of one table that are right; note what is not."""
        if not isinstance(table, dict):
            self.add(where, f"{label} is {found(table)}; write a table of key = value lines")
            return {}
        for name in table.keys() - section.key.keys():
            hint = nearest(name, tuple(section.key))
            self.add((*where, name), f"{label} has the unknown key {shown(name)}; {hint}")
        values = {}
        for key in section.keys:
            if key.name in table:
                try:
                    values[key.name] = key.form.read(table[key.name], key.name)
                except ParameterError as error:
                    self.add((*where, key.name), f"{label}: {error}")
            elif key.required:
                self.add(where, f"{label} has no {key.name}; add {key.example}")
        return values


def header(section: str, name: str) -> str:
    """Return the header of a table with a name of the user's."""
    bare = re.fullmatch(NAME_PATTERN, name)
    return f"[{section}.{name if bare else shown(name)}]"


def _label(table: object, number: int) -> str:
    """Return what a check is called in messages: its id, else which one it is."""
    name = table.get("id") if isinstance(table, dict) else None
    return shown(name) if isinstance(name, str) and name.strip() else f"number {number + 1}"
