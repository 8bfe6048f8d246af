"""Validation of a spec: its sections and keys are compared with the known ones.

Problems are collected, not raised.  value_types.py reads the values, such as an epsilon.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any

from pqd.deciders import ParameterError
from pqd.deciders.names import closest_name, suggestion
from pqd.spec.problems import Code, Place, Problem, SpecValueError
from pqd.spec.schema import NAME_PATTERN, SECTION, SECTIONS, Section
from pqd.spec.toml import SINGLE_CHECK
from pqd.spec.value_types import quoted, value_text

if TYPE_CHECKING:
    from pqd.spec.positions import Places, Where

Values = dict[str, Any]
# Keys that people expect, with those that they mean.
_MEANT = {
    "attacks": "risk",
    "columns": "marginal",
    "name": "id",
    "query": "sql",
    "tolerance": "tau",
}


class Document:
    """Content of a spec file, and the problems found in it so far."""

    def __init__(self, data: dict[str, Any], places: Places) -> None:
        """Note problems with unknown and missing sections."""
        self.data, self.problems = data, list[Problem]()
        self._places = places
        for name in data.keys() - SECTION.keys():
            self._unknown(name)
        for section in SECTIONS:
            if section.required and section.form != "list":
                self.require(section.name)

    def add(self, code: Code, where: Where, message: str) -> None:
        """Note a problem at a place."""
        section, key = _section_and_key(where)
        place = Place(section, key, self._places.line(where))
        self.problems.append(Problem(code, place, message))

    def line(self, where: Where) -> int:
        """Line of a place."""
        return self._places.line(where)

    def require(self, name: str) -> None:
        """Note that a section is missing, unless the file has its name misspelt."""
        section = SECTION[name]
        if not any(other == name or closest_name(other, SECTION) == name for other in self.data):
            needed = (key for key in section.keys if key.required or key.name in section.one_of[:1])
            lines = ", ".join(key.example for key in needed)
            message = f"there is no {section.header}; add {section.example} with {lines}"
            self.problems.append(Problem(Code.MISSING_SECTION, Place(name), message))

    def _unknown(self, name: str) -> None:
        value = self.data[name]
        homes = [section.header for section in SECTIONS if name in section.key]
        if homes and not isinstance(value, dict):
            hint = f"it belongs under {' or '.join(homes)}"
            message = f"{quoted(name)} stands before every table; {hint}"
            self._add_key(Code.MISPLACED_KEY, name, message)
            return
        near = closest_name(name, SECTION)
        headers = ", ".join(section.header for section in SECTIONS)
        hint = f"did you mean {SECTION[near].header}?" if near else f"use {headers}"
        if isinstance(value, (dict, list)):
            message = f"the table {quoted(name)} is unknown; {hint}"
            self.add(Code.UNKNOWN_SECTION, (name,), message)
        else:
            self._add_key(Code.UNKNOWN_KEY, name, f"the key {quoted(name)} is unknown; {hint}")

    def _add_key(self, code: Code, name: str, message: str) -> None:
        """Note a problem with a key that stands before the first section."""
        place = Place(key=name, line=self._places.line((name,)))
        self.problems.append(Problem(code, place, message))

    def table(self, name: str) -> Values:
        """Values of a section that occurs at most once, with the defaults of its keys."""
        section = SECTION[name]
        if name not in self.data:
            return section.defaults
        stated = self._values(section, self.data[name], section.header, (name,))
        return section.defaults | stated

    def named_tables(self, name: str) -> Iterator[tuple[str, Values]]:
        """Name and values of each table ``[name.NAME]``."""
        section, tables = SECTION[name], self.data.get(name, {})
        if not isinstance(tables, dict):
            message = f"{name} is {value_text(tables)}; write {section.example}"
            self.add(Code.WRONG_TYPE, (name,), message)
        elif not tables and name in self.data and section.required:
            self.add(Code.EMPTY_VALUE, (name,), f"[{name}] is empty; write {section.example}")
        elif bare := [k for k in section.key if k in tables and not isinstance(tables[k], dict)]:
            message = f"[{name}] has the key {bare[0]} but no name; write {section.example}"
            self.add(Code.MISPLACED_KEY, (name, bare[0]), message)
        else:
            for key, table in tables.items():
                yield key, self._named(section, key, table)

    def _named(self, section: Section, key: str, table: object) -> Values:
        where = (section.name, key)
        bare = re.fullmatch(NAME_PATTERN, key)
        if not bare and section.names == NAME_PATTERN:
            message = f"{quoted(key)} is no name; use letters, digits, _ and - in it"
            self.add(Code.INVALID_VALUE, where, message)
        elif not key.strip():
            message = f"[{section.name}] has an empty name; write {section.example}"
            self.add(Code.EMPTY_VALUE, where, message)
        return self._values(section, table, header(*where), where)

    def list_of_tables(self, name: str) -> Iterator[tuple[str, Values]]:
        """Label and values of each table ``[[name]]``."""
        section, tables = SECTION[name], self.data.get(name, [])
        if isinstance(tables, dict):
            self.add(Code.WRONG_TYPE, (name,), SINGLE_CHECK)
        elif not isinstance(tables, list):
            message = f"{name} is {value_text(tables)}; write {section.header}"
            self.add(Code.WRONG_TYPE, (name,), message)
        else:
            for number, table in enumerate(tables):
                label = f"{section.header} {_label(table, number)}"
                yield label, self._values(section, table, label, (name, number))

    def _values(self, section: Section, table: object, label: str, where: Where) -> Values:
        """Valid values of one table; a problem is noted for every other value."""
        if not isinstance(table, dict):
            message = f"{label} is {value_text(table)}; write a table of key = value lines"
            self.add(Code.WRONG_TYPE, where, message)
            return {}
        stated, known = set(table), tuple(section.key)
        for name in table.keys() - section.key.keys():
            meant = _MEANT.get(name, "")
            near = meant if meant in known else closest_name(name, known)
            stated.update([near] if near else [])
            hint = f"did you mean {near}?" if near else suggestion(name, known)
            message = f"{label} has the unknown key {quoted(name)}; {hint}"
            self.add(Code.UNKNOWN_KEY, (*where, name), message)
        values = {}
        for key in section.keys:
            if key.name in table:
                try:
                    values[key.name] = key.value_type.read(table[key.name], key.name)
                except ParameterError as error:
                    code = error.code if isinstance(error, SpecValueError) else Code.INVALID_VALUE
                    self.add(code, (*where, key.name), f"{label}: {error}")
            elif key.required:
                message = f"{label} has no {key.name}; add {key.example}"
                self.add(Code.MISSING_KEY, (*where, key.name), message)
        self._check_combination(section, stated, label, where)
        return values

    def _check_combination(
        self, section: Section, stated: AbstractSet[str], label: str, where: Where
    ) -> None:
        """Note missing and contradictory keys, by ``one_of``, ``together`` and ``apart``.

        ``max_rows`` without ``unit`` is not noted here, but by the reader.
        """
        if not section.one_of:
            return
        chosen = [name for name in section.one_of if name in stated]
        if not chosen:
            first, *others = (section.key[name].example for name in section.one_of)
            message = f"{label} has no {section.one_of[0]}; add {first}, or {' or '.join(others)}"
            self.add(Code.MISSING_KEY, (*where, section.one_of[0]), message)
            return
        if len(chosen) > 1:
            message = f"{label} has {' and '.join(chosen)}; a check is about one of them"
            self.add(Code.CONTRADICTION, (*where, chosen[1]), message)
            return
        for name, other in section.together.items():
            if name not in stated or other in stated:
                continue
            if name in section.one_of:
                message = f"{label} has {name} without {other}; add {section.key[other].example}"
                self.add(Code.MISSING_KEY, (*where, other), message)
            else:
                message = f"{label} has {name}, which belongs to {other}; leave it out"
                self.add(Code.CONTRADICTION, (*where, name), message)
        for name, excluded in section.apart.items():
            for other in excluded:
                if name in stated and other in stated:
                    a = "an" if name == "alarm" else "a"
                    message = f"{label} has {other}, but {a} {name} has none; leave it out"
                    self.add(Code.CONTRADICTION, (*where, other), message)


def _section_and_key(where: Where) -> tuple[str, str | None]:
    """Names of the section and the key of a place: ``columns.age`` and ``bounds``."""
    section = SECTION.get(str(where[0]))
    depth = 1 if section is None or section.form == "table" else 2
    names = [str(name) for name in where[:depth] if isinstance(name, str)]
    return ".".join(names), str(where[depth]) if len(where) > depth else None


def header(section: str, name: str) -> str:
    """Header of a table of ``section`` that has this ``name``, which the user chose."""
    bare = re.fullmatch(NAME_PATTERN, name)
    return f"[{section}.{name if bare else quoted(name)}]"


def _label(table: object, number: int) -> str:
    """Name of a check in messages: its id, or its number if it has no id."""
    name = table.get("id") if isinstance(table, dict) else None
    return quoted(name) if isinstance(name, str) and name.strip() else f"number {number + 1}"
