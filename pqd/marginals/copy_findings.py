"""Findings in a copy: what can be said of the synthetic table alone; all of it is public."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from pqd.deciders.note import Note, note
from pqd.engine.cell_labels import number_labels, text_labels, time_labels
from pqd.engine.counting.column_types import codes_of
from pqd.engine.counting.misfits import way_in
from pqd.errors import NothingSelectedError
from pqd.marginals.bound_profile import bind_profile
from pqd.marginals.profile_parameters import ProfileRequest
from pqd.marginals.profiled_columns import MOST_DISTINCT, are_whole, looks_unique
from pqd.marginals.relations import CopyRelations, nearly_independent
from pqd.parameters import Criteria
from pqd.planning.binding import bind
from pqd.planning.bound_workload import QueryRequest
from pqd.planning.query_warnings import header_warnings
from pqd.reports.models.lint import Finding, LintedColumn
from pqd.sql.query import Query
from pqd.sql.schema import Kind, fold_case
from pqd.stated.metadata import Metadata
from pqd.stated.stated_column import StatedColumn

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pqd.engine.marginals import ValueCounts
    from pqd.engine.synthetic_tables import SyntheticTables
    from pqd.sql.schema import Schema
    from pqd.stated.column_facts import Facts

# A text column of which at least this share of the cells reads as one kind is probably of the kind.
_MOSTLY = 0.9
# A column of which more than this share of the values differs looks like a key.
_NEARLY_ALL = 0.9
# Rows were duplicated if, whatever column is left out, more than this share of the pairs of rows
# that agree in all other columns agree in it, too.
_DUPLICATED = 0.9
# Whole numbers of days, such as 20240131, lie between these; other days are worth a look.
_DAYS = (19_000_101, 21_001_231)
_USUAL_TIMES = tuple(
    int(np.datetime64(day, "us").astype(np.int64)) for day in ("1800-01-01", "2200-01-01")
)


@dataclass(frozen=True, slots=True, eq=False)
class CopyColumns:
    """Columns of the first synthetic table, loaded, with the kinds that findings refer to.

    ``own`` are the kinds that the table itself gives; ``schema`` prefers stated kinds.  ``keys``
    are the columns that are stated as identifiers.
    """

    tables: SyntheticTables
    own: Schema
    schema: Schema
    names: Sequence[str]
    keys: frozenset[str] = frozenset()
    summaries: dict[str, ValueCounts] = field(default_factory=dict)

    def summary(self, name: str) -> ValueCounts:
        """Distinct values of a column, with the rows of each value."""
        if name not in self.summaries:
            self.summaries[name] = self.tables.engine.value_counts(self.schema, name)
        return self.summaries[name]

    def labels(self, name: str, values: NDArray[Any]) -> tuple[str, ...]:
        """Values of a column as texts of one line."""
        kind = self.schema[name]
        if kind is Kind.NUMBER:
            return number_labels(values.tolist())
        if kind is Kind.TIME:
            return time_labels(values.tolist())
        return text_labels([str(value) for value in values])


def copy_findings(columns: CopyColumns) -> Iterator[Finding]:
    """Yield findings in single columns and in whole rows, without any stated fact."""
    for each in header_warnings(columns.tables, columns.names):
        yield Finding(note=each, fault=True)
    for name in columns.names:
        for each in _column_notes(columns, name):
            yield Finding(note=each, columns=(name,), fault=each.code in _FAULTS)
    yield from _repeated_rows(columns)


def short_findings(columns: CopyColumns) -> Iterator[Finding]:
    """Yield the findings that a profile shows: those that cost no more than its own counts."""
    for name in columns.names:
        for each in _value_notes(columns, name):
            yield Finding(note=each, columns=(name,), fault=each.code in _FAULTS)


# Codes of findings that hardly any real table has.
_FAULTS = {"column-empty"}


def _value_notes(columns: CopyColumns, name: str) -> Iterator[Note]:
    """Yield a note on a column that is empty, constant or nearly a key."""
    summary = columns.summary(name)
    filled = summary.rows - summary.nulls
    if not filled:
        # If no cell fits a stated kind, this is told already.
        if columns.own[name] is columns.schema[name]:
            yield note("column-empty", column=name)
    elif summary.distinct == 1:
        (value,) = columns.labels(name, summary.values)
        yield note("column-constant", column=name, value=value, filled=filled, rows=summary.rows)
    elif _is_not_read(columns, name):
        return
    elif _NEARLY_ALL * filled < summary.distinct < filled and _is_coded(columns, name):
        repeated = int(summary.counts[summary.counts > 1].sum())
        yield note("key-nearly", column=name, repeated=repeated, filled=filled)


def _is_not_read(columns: CopyColumns, name: str) -> bool:
    """True if the cells are numbers or days in a form that nobody has stated.

    The texts of such cells all differ, so the column would be told as a key or as free text.
    """
    return fold_case(name) in columns.tables.hints


def _is_coded(columns: CopyColumns, name: str) -> bool:
    """Whether a column of many values may be a key: no measurement with a fraction, no words."""
    summary, kind = columns.summary(name), columns.schema[name]
    if summary.distinct <= MOST_DISTINCT or fold_case(name) in columns.keys:
        return False
    if kind is Kind.NUMBER:
        return are_whole(summary)
    return kind is Kind.TEXT and not _has_words(summary.values)


def _column_notes(columns: CopyColumns, name: str) -> Iterator[Note]:
    """Yield notes on the values of one column."""
    summary, kind = columns.summary(name), columns.schema[name]
    yield from _value_notes(columns, name)
    if summary.distinct <= 1:
        return
    yield from _kind_notes(columns, name)
    yield from _identifier_notes(columns, name)
    if kind is Kind.NUMBER and (example := _day_number(summary.values)):
        yield note("days-as-numbers", column=name, example=example)
    if kind is Kind.TIME:
        early, late = np.searchsorted(summary.values, _USUAL_TIMES)
        odd = np.concatenate([summary.values[:early], summary.values[late:]])
        if odd.size:
            cells = int(summary.counts[:early].sum() + summary.counts[late:].sum())
            example = columns.labels(name, odd[-1:])[0]
            yield note("days-unusual", column=name, cells=cells, example=example)


def _kind_notes(columns: CopyColumns, name: str) -> Iterator[Note]:
    """Yield notes on a text column whose cells, or nearly all of them, read as another kind."""
    if columns.schema[name] is not Kind.TEXT or columns.own[name] is not Kind.TEXT:
        return
    if hint := columns.tables.hints.get(fold_case(name)):
        yield hint
        return
    texts = columns.summary(name).values
    for kind in (Kind.NUMBER, Kind.TIME, Kind.BOOLEAN):
        found = columns.tables.engine.misfits(name, kind)
        if found is None or found.unfit > (1 - _MOSTLY) * found.cells:
            continue
        if found.unfit:
            facts = {"unfit": found.unfit, "cells": found.cells, "example": found.example}
            yield note("kind-nearly", column=name, kind=str(kind), **facts)
        elif kind is Kind.NUMBER and (codes := codes_of(texts_array(texts)).to_pylist()):
            yield note("codes-as-text", column=name, example=codes[0])
        return


def texts_array(texts: NDArray[Any]) -> Any:  # noqa: ANN401 - an array of pyarrow
    """Texts as an array of pyarrow."""
    import pyarrow as pa  # noqa: PLC0415

    return pa.array(texts.tolist(), pa.large_string())


def _identifier_notes(columns: CopyColumns, name: str) -> Iterator[Note]:
    """Yield a note on a column that a profile does not judge, unless it is stated as a key."""
    summary = columns.summary(name)
    is_known = fold_case(name) in columns.keys or _is_not_read(columns, name)
    if is_known or not looks_unique(columns.schema[name], summary):
        return
    filled, is_coded = summary.rows - summary.nulls, _is_coded(columns, name)
    if is_coded and summary.distinct == filled:
        yield note("identifier-like", column=name, filled=filled)
    elif not (is_coded and summary.distinct > _NEARLY_ALL * filled):
        yield note("text-free", column=name, distinct=summary.distinct, filled=filled)


def _has_words(texts: NDArray[Any]) -> bool:
    """Whether more than half of ``texts`` have several words."""
    return 2 * sum(" " in text.strip() for text in texts) > len(texts)


def _day_number(values: NDArray[Any]) -> str:
    """First number of a column if all are days such as 20240131; else empty."""
    low, high = _DAYS
    if not (low <= values[0] and values[-1] <= high and np.all(values == np.rint(values))):
        return ""
    whole = values.astype(np.int64)
    months, days = whole // 100 % 100, whole % 100
    fits = np.all((months >= 1) & (months <= 12) & (days >= 1) & (days <= 31))
    return str(whole[0]) if fits else ""


def _repeated_rows(columns: CopyColumns) -> Iterator[Finding]:
    """Yield a finding on rows that are equal in every cell.

    In a real table most rows that agree in all columns but one differ in some column, if this
    column is chosen well: in five public tables (Adult, bank, taxi, CPS, blood) at most half agree.
    If nearly all agree whatever the column, rows were duplicated.
    """
    found = columns.tables.engine.repeated_rows()
    if not found.repeated:
        return
    shares = {
        name: (found.pairs, nearly)
        for name, nearly in zip(columns.names, found.nearly, strict=True)
    }
    name = min(columns.names, key=lambda each: found.pairs / shares[each][1])
    pairs, nearly = shares[name]
    told = {"repeated": found.repeated, "rows": columns.tables.engine.rows(), "most": found.most}
    repeats = note("rows-repeat", **told, column=name, pairs=pairs, nearly=nearly)
    yield Finding(note=repeats, fault=pairs > _DUPLICATED * nearly)


def person_findings(tables: SyntheticTables) -> Iterator[Finding]:
    """Yield a finding on a repeated key of persons, which ``public_tables`` has noted."""
    for each in tables.notes:
        if each.code == "person-key":
            yield Finding(note=each, columns=(str(dict(each.facts)["column"]),))


def relations_findings(tables: SyntheticTables) -> Iterator[Finding]:
    """Yield a finding on columns that are nearly independent; nothing if there are no pairs."""
    try:
        bound = bind_profile(tables, ProfileRequest(distances=("tv",)))
    except NothingSelectedError:
        return
    if independence := nearly_independent(CopyRelations(bound)):
        yield Finding(note=note("columns-independent", independence=independence), fault=True)


def stated_findings(columns: CopyColumns, stated: Metadata) -> Iterator[Finding]:
    """Yield findings that contradict stated facts: kinds, ranges, values, keys and columns."""
    known = {fold_case(name): name for name in columns.names}
    listed = {fold_case(name): name for name in stated.columns}
    missing = tuple(name for folded, name in listed.items() if folded not in known)
    if missing:
        yield Finding(note=note("columns-missing", names=missing), columns=missing, fault=True)
    unlisted = tuple(name for folded, name in known.items() if folded not in listed)
    if unlisted and stated.complete:
        yield Finding(note=note("columns-unlisted", names=unlisted), columns=unlisted, fault=True)
    for name, facts in stated.columns.items():
        if own := known.get(fold_case(name)):
            for each in _stated_notes(columns, own, facts):
                yield Finding(note=each, columns=(own,), fault=True)
    for key in stated.keys:
        names = tuple(known[fold_case(name)] for name in key if fold_case(name) in known)
        if len(names) < len(key):
            continue
        counts = columns.tables.engine.multiplicities(names)
        if repeated := int(counts[counts > 1].sum()):
            facts_of_key = {"columns": names, "repeated": repeated, "rows": int(counts.sum())}
            yield Finding(note=note("key-repeats", **facts_of_key), columns=names, fault=True)


def rule_findings(tables: SyntheticTables, rules: Sequence[str], facts: Facts) -> Iterator[Finding]:
    """Yield a finding on each rule that rows of the copy violate.

    Raises
    ------
    ParameterError, QueryError
        If a rule is no condition on columns of the copy.
    """
    if not rules:
        return
    criteria = Criteria.of(tau=1, alpha="0.05")
    requests = [
        QueryRequest(Query.rule(must, f"rule{number}"), criteria)
        for number, must in enumerate(rules, 1)
    ]
    workload = bind(tables.reopened(), requests, facts, None)
    workload.check()
    for must, bound in zip(rules, workload.queries, strict=True):
        if violations := bound.synthetic[0].mass:
            told = {"rule": must, "violations": violations, "rows": bound.rows[0]}
            names = tuple(name for name, _ in bound.kinds)
            yield Finding(note=note("rule-violated", **told), columns=names, fault=True)


def _stated_notes(columns: CopyColumns, name: str, facts: StatedColumn) -> Iterator[Note]:
    summary, label = columns.summary(name), columns.tables.label
    kind = facts.kind
    if kind is not None:
        found = columns.tables.engine.misfits(name, kind)
        if found and found.unfit:
            way = way_in(found.example)
            told = {"column": name, "kind": str(kind), "table": label, "cells": found.cells}
            yield note("cells-misfit", **told, unfit=found.unfit, example=found.example, way=way)
    if facts.required and summary.nulls:
        yield note("cells-required", column=name, cells=summary.nulls, rows=summary.rows)
    if facts.unique and (repeated := int(summary.counts[summary.counts > 1].sum())):
        rows = summary.rows - summary.nulls
        yield note("key-repeats", columns=(name,), repeated=repeated, rows=rows)
    outside = _outside(summary, facts)
    if outside is not None and outside.any():
        example = columns.labels(name, summary.values[outside][-1:])[0]
        told = {"column": name, "cells": int(summary.counts[outside].sum()), "example": example}
        if facts.values:
            yield note("values-unlisted", **told, values=int(outside.sum()))
        else:
            low, high = facts.low or "", facts.high or ""
            yield note("cells-outside", **told, low=low, high=high)


def _outside(summary: ValueCounts, facts: StatedColumn) -> NDArray[np.bool_] | None:
    """Which values of a column lie outside the stated values or range; None if it has neither."""
    values = summary.values
    if facts.values:
        allowed = set(facts.values)
        return np.array([not allowed & _spellings(value) for value in values], np.bool_)
    if facts.low is None and facts.high is None:
        return None
    if values.dtype.kind != "f":
        return np.zeros(len(values), np.bool_)
    low, high = facts.ends
    return (values < low) | (values > high)


def _spellings(value: object) -> set[str]:
    """Texts that name a value in a list of stated values, such as 1 and 1.0."""
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return {str(int(value)), str(float(value))}
    return {str(value), str(value).lower()} if isinstance(value, (bool, np.bool_)) else {str(value)}


def linted_column(columns: CopyColumns, name: str) -> LintedColumn:
    """Public facts of a column, for the table of columns."""
    summary, kind = columns.summary(name), columns.schema[name]
    ends = ("", "")
    if summary.distinct and kind in {Kind.NUMBER, Kind.TIME}:
        low, high = columns.labels(name, summary.values[[0, -1]])
        ends = (low, high)
    top = int(np.argmax(summary.counts)) if summary.distinct else None
    return LintedColumn(
        name=name,
        kind=str(kind),
        filled=summary.rows - summary.nulls,
        distinct=summary.distinct,
        low=ends[0],
        high=ends[1],
        frequent="" if top is None else columns.labels(name, summary.values[[top]])[0],
        most=0 if top is None else int(summary.counts[top]),
    )
