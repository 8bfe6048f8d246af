"""``pqd lint``: what can be said of a copy alone, without a private table and at no cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pqd.commands.cell_progress import cell_progress
from pqd.errors import ParameterError
from pqd.keywords import with_keyword_advice
from pqd.marginals.copy_findings import (
    CopyColumns,
    copy_findings,
    linted_column,
    person_findings,
    relations_findings,
    rule_findings,
    stated_findings,
)
from pqd.planning.table_separation import public_tables
from pqd.progress import Progress, Step, silent
from pqd.reports.models.lint import LintReport
from pqd.run.costs import today
from pqd.sql.schema import fold_case
from pqd.stated.column_facts import (
    Facts,
    check_facts,
    parse_columns,
    unknown_column,
)
from pqd.stated.metadata_files import MetadataFile, TableMetadata, table_metadata
from pqd.stated.text_formats import StatedFormat, text_formats


@with_keyword_advice
def lint(
    synthetic: object,
    *,
    metadata: MetadataFile | None = None,
    columns: Mapping[str, Mapping[str, Any]] | None = None,
    keys: Sequence[str | Sequence[str]] = (),
    rules: Sequence[str] = (),
    text_format: StatedFormat = None,
) -> LintReport:
    """Look at a copy alone: its kinds, ranges, keys, identifiers, repeated rows; at no cost.

    Parameters
    ----------
    synthetic
        The copy, as for ``pqd.audit``.
    metadata
        The path of a JSON file, or its content: metadata of SDV for one table, or a table schema of
        Frictionless.  Kinds, keys, ranges and lists of values are read.  By default the file
        ``copy.metadata.json`` beside a copy ``copy.csv``.
    columns
        Public facts of columns, as for ``pqd.audit``; they go before those of the metadata.
    keys
        Names of columns, or lists of names, whose values must differ from row to row.
    rules
        Conditions that each row must keep, such as ``"age >= 18"``.
    text_format
        As for ``pqd.audit``.

    Returns
    -------
    LintReport
        ``report.findings``, faults first; a fault contradicts a stated fact, or hardly any real
        table is so.  ``report.columns`` has the facts of each column.

    Raises
    ------
    PqdError
        TableError if the copy cannot be read or is known as a private table; ParameterError for
        facts, keys or metadata that are not understood.
    """
    stated = stated_metadata(synthetic, metadata, parse_columns(columns), keys)
    formats = text_formats(text_format, stated[0].metadata.text_format)
    synthetic = formats.table(synthetic, "synthetic")
    with cell_progress() as progress:
        return run_lint(synthetic, stated, rules, progress)


def stated_metadata(
    synthetic: object,
    metadata: MetadataFile | None,
    facts: Facts,
    keys: Sequence[str | Sequence[str]],
) -> tuple[TableMetadata, Facts]:
    """Facts of the metadata with the caller's own facts and keys, and these own facts alone."""
    known, notes = table_metadata(metadata, None, [synthetic])
    if isinstance(keys, str):
        raise ParameterError('keys are a list, such as ["id"] or [["ward", "bed"]]')
    named = [(key,) if isinstance(key, str) else tuple(key) for key in keys]
    return TableMetadata(known.with_facts(facts, named), notes), facts


def run_lint(
    synthetic: object,
    stated: tuple[TableMetadata, Facts],
    rules: Sequence[str] = (),
    progress: Progress = silent,
) -> LintReport:
    """Lint of a copy; see ``pqd.lint``."""
    if isinstance(rules, str):
        raise ParameterError('rules are a list, such as ["age >= 18"]')
    (metadata, notes), facts = stated
    progress(Step.READING_COPY)
    tables = public_tables(synthetic, names=None)
    own = tables.schema(tables.columns, {})
    check_facts(facts, own, [])
    for name in (name for key in metadata.keys for name in key):
        if fold_case(name) not in set(map(fold_case, own)) and not metadata.complete:
            raise unknown_column(name, tables.columns, "keys")
    kinds = {name: column.kind for name, column in metadata.columns.items() if column.kind}
    folded = {fold_case(name): kind for name, kind in kinds.items()}
    schema = {name: folded.get(fold_case(name), kind) for name, kind in own.items()}
    keys = {fold_case(name) for key in metadata.keys for name in key}
    keys |= {fold_case(name) for name, column in metadata.columns.items() if column.unique}
    columns = CopyColumns(tables, own, schema, tables.columns, frozenset(keys))
    kinds_stated = parse_columns({name: {"type": str(kind)} for name, kind in kinds.items()})
    findings = dict.fromkeys(
        (
            *stated_findings(columns, metadata),
            *rule_findings(tables, rules, kinds_stated),
            *copy_findings(columns),
            *person_findings(tables),
        )
    )
    linted = tuple(linted_column(columns, name) for name in tables.columns)
    # The profile gives the columns the kinds of the copy itself.
    findings |= dict.fromkeys(relations_findings(tables))
    return LintReport(
        synthetic=tables.label,
        rows=tables.engine.rows(),
        columns=linted,
        findings=tuple(sorted(findings, key=lambda each: not each.fault)),
        notes=notes,
        day=today(),
    )
