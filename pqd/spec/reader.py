"""The spec of an audit as a file: what is compared with what, on which terms, what must hold.

The format is that of docs/audit-spec.schema.json.  All problems of a file are reported at once,
each with its line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from deciders.exact import Number, exact
from pqd.columns import parse_columns
from pqd.errors import NothingSelectedError, ParameterError, PqdError
from pqd.parameters import privacy_unit
from pqd.paths import usable
from pqd.planning.choose_decider import AUTO
from pqd.spec.positions import Places
from pqd.spec.schema import DEFAULTS, SECTION, SECTIONS, SHARED, SOMEWHERE
from pqd.spec.toml import UnreadableError, read_toml
from pqd.spec.validation import Document, Problem, Values, header
from pqd.spec.value_types import nearest, printable, shown

if TYPE_CHECKING:
    from pqd.spec.positions import Where

_MOST_PROBLEMS = 20
_VARIABLE = re.compile(r"\$\$\{|\$\{([^}]*)(\}?)")
_VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

Scalar = str | int | bool | Decimal


@dataclass(frozen=True, slots=True)
class Source:
    """A file that the spec names.

    ``written`` is the path as it stands in the spec, and what messages show: ``path`` may hold
    what the environment keeps secret, so no repr has it.
    """

    path: Path = field(repr=False)
    written: str


@dataclass(frozen=True, slots=True)
class Check:
    """One ``[[check]]`` with its defaults filled in; ``line`` is that of its header, from 1.

    ``tau`` is as written, for ``Parameters.parse``; ``synthetic`` has the names of the tables.
    ``keys`` holds a tuple for each key where several columns are grouped; ``epsilon`` is None where
    the check shares that of ``[shared_budget]``.
    """

    id: str
    sql: str
    tau: Number
    epsilon: Fraction | None
    alpha: Fraction
    decider: str
    expect: Literal["close", "far"]
    severity: Literal["error", "warn"]
    on_undecided: Literal["fail", "warn", "pass"]
    synthetic: tuple[str, ...]
    bins: str | None
    keys: tuple[Scalar | tuple[Scalar, ...], ...] | None
    line: int


@dataclass(frozen=True, slots=True)
class ReleaseSpec:
    """What ``[release]`` says: a file of queries, a synthetic table's name, and the terms."""

    queries: Source
    synthetic: str
    total_epsilon: Fraction
    mechanism: str
    alpha: Fraction


@dataclass(frozen=True, slots=True)
class Spec:
    """A spec file as read; what is None is not stated.

    ``epsilon`` and ``delta`` are the most that the private table may ever spend in its ledger.
    ``shared_budget`` is what checks without an epsilon share in all, and how they share it.
    """

    path: Path
    private: Source
    synthetic: Mapping[str, Source]
    ledger: Source | None
    epsilon: Fraction | None
    delta: Fraction
    shared_budget: tuple[Fraction, str] | None
    release: ReleaseSpec | None
    unit: str | None
    max_rows: int | None
    columns: dict[str, dict[str, Any]]
    checks: tuple[Check, ...]


class SpecError(PqdError, ValueError):
    """A spec file that cannot be used; ``problems`` has all of them, the message the first 20."""

    def __init__(self, file: str, problems: Sequence[Problem]) -> None:
        """Put each problem on a line of its own, in the order of the file."""
        self.problems = tuple(sorted(problems, key=lambda problem: problem.line or 0))
        lines = [
            f"{file}{f', line {problem.line}' if problem.line else ''}: {problem.text}"
            for problem in self.problems[:_MOST_PROBLEMS]
        ]
        if len(self.problems) > _MOST_PROBLEMS:
            lines.append(f"{file}: and {len(self.problems) - _MOST_PROBLEMS} more problems")
        super().__init__("\n".join(map(printable, lines)))


def read_spec(path: str | Path, environ: Mapping[str, str] = os.environ) -> Spec:
    """Read a spec file; no table is opened and no SQL is parsed.

    ``environ`` is where ``${NAME}`` in a path is looked up; ``$${`` stands for ``${`` itself.

    Raises
    ------
    SpecError
        If the file cannot be read or anything in it is wrong; no message holds a value of
        ``environ``.
    NothingSelectedError
        If all is well but there is no check and no release.
    """
    path = Path(path)
    try:
        text, data = read_toml(path)
    except UnreadableError as error:
        name = path.name if error.line else str(path)
        raise SpecError(name, [Problem(error.line, str(error))]) from None
    if data and not data.keys() & SECTION.keys():
        # Nothing of it is quoted: it may be anything.
        headers = ", ".join(section.header for section in SECTIONS)
        raise SpecError(path.name, [Problem(None, f"it is no spec: it has none of {headers}")])
    tables = Document(data, Places(text))
    files = _Files(tables, path.parent, environ)
    synthetic = {
        name: files.source(v, ("synthetic", name)) for name, v in tables.named("synthetic")
    }
    private = files.source(tables.one("private"), ("private",))
    ledger = files.source(tables.one("ledger"), ("ledger",))
    budget, privacy = tables.one("budget"), _privacy(tables)
    columns, shared_budget = _columns(tables), _shared_budget(tables)
    publication = _publication(tables, files, tuple(synthetic))
    checks = list(_checks(tables, tuple(synthetic)))
    if tables.problems or private is None:
        if not checks and "release" not in data:
            tables.check_present("check")
        raise SpecError(path.name, tables.problems)
    if not checks and not publication:
        raise NothingSelectedError(
            f"{printable(path.name)} has no [[check]] and no [release], so there is nothing to "
            'do; add [[check]] with id = "rows", sql = "SELECT COUNT(*) FROM D"'
        )
    return Spec(
        path=path,
        private=private,
        synthetic={name: source for name, source in synthetic.items() if source},
        ledger=ledger,
        epsilon=budget.get("epsilon"),
        delta=budget.get("delta", Fraction(0)),
        shared_budget=shared_budget,
        release=publication,
        unit=privacy.get("unit"),
        max_rows=privacy.get("max_rows"),
        columns=columns,
        checks=tuple(Check(**check) for check in checks),
    )


@dataclass(frozen=True)
class _Files:
    """How paths in a spec become files."""

    tables: Document
    folder: Path
    environ: Mapping[str, str] = field(repr=False)

    def source(self, values: Values, where: Where, key: str = "path") -> Source | None:
        """Return the file that ``key`` names; None if there is none or it has a problem."""
        written = values.get(key)
        if written is None:
            return None
        try:
            path = usable(self.folder / self._expanded(written), "it")
            return Source(path, written)
        except ParameterError as error:
            self.tables.add((*where, key), f"{key} = {shown(written)}: {error}")
            return None

    def _expanded(self, written: str) -> str:
        return _VARIABLE.sub(lambda match: self._value(match[0], match[1], match[2]), written)

    def _value(self, sign: str, name: str | None, end: str | None) -> str:
        if name is None:
            return sign[1:]
        if not end:
            raise ParameterError("${ has no }; write ${NAME}, or $${ for the signs ${ themselves")
        if not _VARIABLE_NAME.fullmatch(name):
            raise ParameterError(
                f"{shown(name)} is no name of a variable; write ${{NAME}}, or $${{ for ${{ itself"
            )
        value = self.environ.get(name)
        if not value:
            raise ParameterError(
                f"the environment variable {name} is not set; set it, or write the path itself"
            )
        return value


def _privacy(tables: Document) -> Values:
    values = tables.one("privacy")
    given = tables.data.get("privacy")
    if isinstance(given, dict) and "max_rows" in given and "unit" not in given:
        text = '[privacy] has max_rows without unit; add the column of a person: unit = "person_id"'
        tables.add(("privacy", "max_rows"), text)
        return values
    try:
        privacy_unit(values.get("unit"), values.get("max_rows", 1))
    except ParameterError as error:
        tables.add(("privacy", "max_rows"), f"[privacy]: {error}")
    return values


def _shared_budget(tables: Document) -> tuple[Fraction, str] | None:
    """Budget that checks share; a problem is noted if no check can take part in it."""
    values, defaults = tables.one("shared_budget"), tables.data.get("defaults")
    if "shared_budget" in tables.data and isinstance(defaults, dict) and "epsilon" in defaults:
        text = "[defaults] gives every check an epsilon of its own, so none shares [shared_budget]"
        tables.add(("shared_budget",), f"{text}; leave one of them out")
    if "total_epsilon" not in values:
        return None
    return values["total_epsilon"], values.get("sharing", AUTO)


def _publication(tables: Document, files: _Files, synthetic: tuple[str, ...]) -> ReleaseSpec | None:
    """Return what is to be released, None if nothing is or something is wrong with it."""
    values = tables.one("release")
    if "synthetic" in values:
        named = {"synthetic": (values["synthetic"],)}
        _check_synthetic(tables, SECTION["release"].header, ("release",), named, synthetic)
    queries = files.source(values, ("release",), "queries")
    if queries is None or "total_epsilon" not in values or not synthetic:
        return None
    return ReleaseSpec(
        queries,
        values.get("synthetic", synthetic[0]),
        values["total_epsilon"],
        values.get("mechanism", AUTO),
        values.get("alpha", exact(DEFAULTS["alpha"])),
    )


def _columns(tables: Document) -> dict[str, dict[str, Any]]:
    """Return the facts of columns, once the library has accepted them."""
    columns = {}
    for name, facts in tables.named("columns"):
        columns[name] = facts
        try:
            parse_columns({name: facts})
        except ParameterError as error:
            tables.add(("columns", name, "bounds"), f"{header('columns', name)}: {error}")
    return columns


def _checks(tables: Document, synthetic: tuple[str, ...]) -> Iterator[Values]:
    """Yield the fields of each check; those with a problem lack some."""
    general: Values = {**DEFAULTS, "synthetic": synthetic, "bins": None, "keys": None}
    general["epsilon"] = None
    general["alpha"] = exact(DEFAULTS["alpha"])
    shared = tables.one("defaults")
    _check_synthetic(tables, SECTION["defaults"].header, ("defaults",), shared, synthetic)
    lines: dict[str, int] = {}
    for number, (label, values) in enumerate(tables.each("check")):
        where, line = ("check", number), tables.line(("check", number))
        _check_terms(tables, label, where)
        _check_synthetic(tables, label, where, values, synthetic)
        if (name := values.get("id")) in lines:
            text = f"{label} has the id of the check in line {lines[name]}; ids must differ"
            tables.add((*where, "id"), text)
        elif name:
            lines[name] = line
        yield {**general, **shared, **values, "line": line}


def _check_terms(tables: Document, label: str, where: tuple[str, int]) -> None:
    """Note what neither the check nor [defaults] says, right or wrong."""
    own, shared = tables.data[where[0]][where[1]], tables.data.get("defaults")
    if not isinstance(own, dict):
        return
    for name in SOMEWHERE:
        if SHARED.get(name) in tables.data:
            continue
        if name not in own and not (isinstance(shared, dict) and name in shared):
            example = SECTION["check"].key[name].example
            others = f", or {SECTION[SHARED[name]].example} for all" if name in SHARED else ""
            text = f"{label} has no {name}; add {example} to it or to [defaults]{others}"
            tables.add(where, text)


def _check_synthetic(
    tables: Document, label: str, where: Where, values: Values, known: tuple[str, ...]
) -> None:
    """Note names of synthetic tables that the file does not have."""
    for name in values.get("synthetic", ()):
        if known and name not in known:
            tables.add(
                (*where, "synthetic"),
                f"{label}: there is no synthetic table {shown(name)}; {nearest(name, known)}",
            )
