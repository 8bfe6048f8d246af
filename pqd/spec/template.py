"""A spec to begin with: commented, with checks that work, made from the synthetic table alone."""

from __future__ import annotations

import os
import re
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pqd.errors import QueryError, TableError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction

    from deciders import Lattice

_MOST_COLUMNS = 50
# Numbers with more units are keys rather than amounts, and noise to hide one is beyond use.
_MOST_UNITS = 2**40

_HEAD = """\
# What `pqd check` compares: queries on the synthetic tables against the private one.
# Paths are relative to this file; ${{NAME}} in a path is taken from the environment.

[private]
path = {private}

{header:<34}# one or more, each under a name of your choice
path = {synthetic}

[budget]
epsilon = 10                      # the most that may ever be spent on the private table

# [ledger]                        # where spending is kept on record;
# path = "pqd-ledger.sqlite"      # beside the private table if left out

# [privacy]                       # if one person may have several rows
# unit = "person_id"              # all rows with one value of this column are one person
# max_rows = 3                    # the most rows of one person that are used

[defaults]                        # what every check takes unless it says otherwise
tau = "5%"                        # tolerance: an amount, or a share of the synthetic answer
epsilon = 0.25                    # privacy budget of one query
# alpha = 0.05                    # error probability that you accept
# decider = "auto"
# expect = "close"                # or "far"
# severity = "error"              # or "warn"
# on_undecided = "fail"           # or "warn", "pass"
"""
_ROWS = """
[[check]]
id = "rows"
sql = "SELECT COUNT(*) FROM D"
"""
_TEXT = """
[[check]]
id = {id}
sql = {sql}
# The same for each of some values, one query each:
# sql = {grouped}
# keys = ["a value", "another"]
"""
_NUMBER = """
[[check]]
id = {id}
sql = {sql}
tau = {tau:<28}# an amount, since a share of an answer of 0 is nothing
"""
_BOUNDS = """
# Public facts of columns.  What is left out is taken from the synthetic table, as here; state
# bounds that hold for everybody if you know them: values outside count as the nearest bound.
"""
_COLUMN = """#
# [columns.{name}]
# bounds = [{lower}, {upper}]
# step = {step}
"""


class _CopyFacts(NamedTuple):
    """Facts of the synthetic table: columns of text with a value, and lattices of numbers."""

    texts: tuple[str, ...]
    numbers: dict[str, Lattice]


def spec_template(private: Path, synthetic: Path, spec_folder: Path) -> str:
    """Text of a spec for two tables, to be written into ``spec_folder``.

    Only the synthetic table is read; of the private one nothing but the path is used.

    Raises
    ------
    TableError
        If the synthetic table cannot be read, or a path cannot be written down.
    """
    facts = _copy_facts(private, synthetic)
    parts = [
        _HEAD.format(
            private=_path(private, spec_folder, "private"),
            synthetic=_path(synthetic, spec_folder, "synthetic"),
            header=f"[synthetic.{_slug(synthetic.name.partition('.')[0]) or 'copy'}]",
        ),
        _ROWS,
        *islice(_text_checks(facts.texts), 1),
        *islice(_number_checks(facts.numbers), 1),
    ]
    if facts.numbers:
        parts.append(_BOUNDS)
    parts += [_column_comment(*pair) for pair in islice(facts.numbers.items(), _MOST_COLUMNS)]
    return "".join(parts)


def _copy_facts(private: Path, synthetic: Path) -> _CopyFacts:
    from pqd.engine.synthetic_tables import SyntheticTables  # noqa: PLC0415
    from pqd.engine.tables import open_table  # noqa: PLC0415
    from pqd.planning.table_separation import (  # noqa: PLC0415 - slow to import
        check_other_file,
        check_separation,
    )
    from pqd.sql.schema import Kind, quote_identifier  # noqa: PLC0415

    table = open_table(synthetic, "synthetic")
    check_other_file(private, table)
    tables = SyntheticTables([table])
    check_separation(tables)
    engine, (table,) = tables.engine, tables.tables
    schema = engine.schema(table, table.columns, {})
    texts, numbers = [], {}
    for name in table.columns:
        value = quote_identifier(name)
        if schema[name] is Kind.NUMBER and (lattice := engine.profile(schema, [name], value)):
            numbers[name] = lattice
        # Without a value the count is 0, of which no share is a tolerance.
        elif schema[name] is Kind.TEXT and engine.profile(schema, [name], f"length({value})"):
            texts.append(name)
    return _CopyFacts(tuple(texts), numbers)


def _text_checks(names: tuple[str, ...]) -> Iterator[str]:
    for name in names:
        column = _column(name)
        sql = f"SELECT COUNT(*) FROM D WHERE {column} IS NOT NULL"
        if _is_query(sql):
            grouped = toml_text(f"SELECT COUNT(*) FROM D GROUP BY {column}")
            yield _TEXT.format(id=_id(name, "known"), sql=toml_text(sql), grouped=grouped)


def _number_checks(numbers: dict[str, Lattice]) -> Iterator[str]:
    for name, lattice in numbers.items():
        sql = f"SELECT AVG({_column(name)}) FROM D"
        units = max(abs(lattice.lower_units), abs(lattice.upper_units))
        if units <= _MOST_UNITS and _is_query(sql):
            tau = _tolerance(lattice)
            yield _NUMBER.format(id=_id(name, "average"), sql=toml_text(sql), tau=tau)


def _column(name: str) -> str:
    from pqd.sql.schema import quote_identifier  # noqa: PLC0415 - slow to import

    return quote_identifier(name)


def _is_query(sql: str) -> bool:
    """Whether the query language has words for an odd column name."""
    from pqd.sql.query import Query  # noqa: PLC0415 - with the engine

    try:
        Query(sql)
    except QueryError:
        return False
    return True


def _tolerance(lattice: Lattice) -> str:
    """Twentieth of the range, in whole steps, at least one."""
    steps = (lattice.upper - lattice.lower) / 20 // lattice.step
    return _decimal(max(1, steps) * lattice.step)


def _column_comment(name: str, lattice: Lattice) -> str:
    lower, upper, step = (_decimal(x) for x in (lattice.lower, lattice.upper, lattice.step))
    bare = re.fullmatch(r"[A-Za-z0-9_-]+", name)
    return _COLUMN.format(
        name=name if bare else toml_text(name), lower=lower, upper=upper, step=step
    )


def _id(name: str, what: str) -> str:
    return toml_text(f"{_slug(name) or 'column'}-{what}")


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-").lower()[:40]


def _decimal(number: Fraction) -> str:
    """Multiple of a power of ten, whole or a decimal, without an exponent."""
    if number.denominator == 1:
        return str(number.numerator)
    return f"{Decimal(number.numerator) / Decimal(number.denominator):f}"


def _path(path: Path, folder: Path, role: str) -> str:
    """Path from ``folder`` as TOML, the absolute one where there is no way from it."""
    try:
        # The folder of a link is followed, since .. depends on it; the link itself is kept.
        full = path.absolute().parent.resolve() / path.name
        try:
            written = Path(os.path.relpath(full, folder.resolve())).as_posix()
        except ValueError:
            # Another drive, on Windows.
            written = full.as_posix()
        written.encode()
    except (OSError, ValueError, RuntimeError):
        raise TableError(f"the {role} table has a path that cannot be used; rename it") from None
    return toml_text(written.replace("${", "$${"))


def toml_text(text: str) -> str:
    """``text`` as TOML on one line, in single quotes where that saves escapes."""
    if ('"' in text or "\\" in text) and "'" not in text and text.isprintable():
        return f"'{text}'"
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(sign: str) -> str:
    if sign in {'"', "\\"}:
        return "\\" + sign
    if sign.isprintable():
        return sign
    return f"\\u{ord(sign):04x}" if ord(sign) < 0x10000 else f"\\U{ord(sign):08x}"
