"""A first spec, made from the synthetic table alone: comments, and checks that can be run."""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pqd.deciders.names import names_and_more
from pqd.deciders.numbers import epsilon_option, guess_text
from pqd.engine.reading.text_format import FIELDS, USUAL, TextFormat
from pqd.engine.scan_plan import PrivacyUnit
from pqd.engine.sources.locations import is_address, location_of, short_name, written_address
from pqd.engine.sources.source import Place
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import Table, open_table
from pqd.errors import NothingSelectedError, TableError
from pqd.marginals.bound_profile import bind_profile
from pqd.marginals.profile_parameters import ProfileRequest
from pqd.parameters import Criteria, privacy_unit
from pqd.planning.binding import bind
from pqd.planning.bound_workload import QueryRequest
from pqd.planning.query_warnings import person_key
from pqd.planning.table_separation import check_other_places, check_separation
from pqd.spec.metadata_template import metadata_template
from pqd.spec.suggested_checks import Sizes, number_queries, suggested_checks, unjudged
from pqd.sql.schema import Kind, Schema, fold_case, quote_identifier
from pqd.stated.column_facts import (
    Facts,
    cells_of_facts,
    format_of_file,
    stated_kinds,
    unknown_column,
)
from pqd.stated.metadata_files import stated_facts
from pqd.stated.text_formats import TextFormats

if TYPE_CHECKING:
    from pqd.deciders import Lattice
    from pqd.reports.models.refusals import LeftOut
    from pqd.spec.suggested_checks import SuggestedCheck, Suggestions

_MOST_COLUMNS, _MOST_NAMED, _WIDTH = 50, 6, 98
# Budgets of the gate and of the name of the worst check.
USUAL_GATE, USUAL_NAMES = Fraction(1, 4), Fraction(1, 2)
# Number of runs that the table's budget pays for if each run measures everything anew.
_RUNS = 10

_IN_PART = (
    "whether some rows of the copy are private (only attacks tell: pqd risk, or a second spec)"
)

_HEAD = """\
# What `pqd check` compares: the synthetic tables with the private one.  Made by `pqd init` from the
# synthetic table alone; every tolerance is yours to change.
# Paths are relative to this file; ${{NAME}} in a path is taken from the environment.

[private]
path = {private}
{rows}
{text}
{header:<34}# one or more, each under a name of your choice
path = {synthetic}
{copy_text}\
# copy_epsilon = 1                # if its generator is differentially private: under which epsilon

[budget]
epsilon = {budget:<24}# runs of this file stop there; pqd ledger limit stops all
gate = {gate:<27}# one test of all checks below
names = {names:<26}# names the worst check; spent only if the gate does not pass

{ledger}
{privacy}
{price}
[defaults]                        # what every check takes unless it says otherwise
# alpha = 0.05                    # error probability that you accept
# expect = "close"                # or "far"

{tolerances}"""
_LEDGER = """\
# [ledger]                        # where spending is kept on record;
# path = "pqd-ledger.sqlite"      # beside the private table if left out
"""
# A table on a server has no folder where the next run could find the ledger, so the spec names it.
_NAMED_LEDGER = """\
[ledger]                          # where spending is kept on record: at a place that lasts
path = "pqd-ledger.sqlite"
"""
_PRIVACY = """\
# [privacy]                       # if one person may have several rows
# unit = "person_id"              # all rows with one value of this column are one person
# max_rows = 3                    # the most rows of one person that count where rows do
# row_is_person = true            # or: each row is one person, even where person_id repeats
"""
_UNIT = """\
[privacy]
unit = {column:<27}# all rows with one value of this column are one person
# max_rows = 3                    # the most rows of one person that count where rows do
# row_is_person = true            # in place of unit, if each row is one person
"""
_PRICE = """\
One run costs epsilon {gate} if all {checks} below hold, and {total} if not: then {guess}. The same
run again costs nothing."""
_TOLERANCES = """\
Tolerances: a twentieth, and what sampling and noise add, where the copy and the private table are
samples of one population, of {copy} and {rows} {noun}."""
_FACTS = """
# Facts that the copy cannot know: rules of a row, keys, and limits.  `pqd lint` holds the copy
# itself to them at no cost.  A rule is a condition that each row keeps, such as
# [[rule]]
# id = "loans-have-amounts"
# must = "NOT has_loan OR loan_amount IS NOT NULL"
"""
_METADATA = """
# Facts of columns: kinds, ranges, lists of values, keys.  Correct them there by what you know; an
# average or a sum needs minimum and maximum.
[metadata]
file = {file}
"""
_BOUNDS = """
# Public facts of columns.  "copy" takes the bounds of the synthetic table, so a check of an average
# holds for private values within them.  Better: bounds from the data dictionary, in its place.
"""
# Of a column that looks like an identifier or free text in the copy.
_SET_ASIDE = "judge = false                     # true if it is none: then its values are judged"
_COLUMN = """
[columns.{name}]
bounds = "copy"                   # [{lower}, {upper}]; others count as the nearest bound
# step = {step}
"""


class _CopyFacts(NamedTuple):
    """Facts of the synthetic table: lattices of its numbers, suggested checks, and others.

    ``person`` is the column that looks like the key of a person and repeats; None without one.
    ``rows`` is the number of rows, or of the persons of that column.  ``kinds`` are those that the
    caller states.
    """

    person: str | None
    rows: int
    numbers: dict[str, Lattice]
    checks: Suggestions
    left_out: tuple[LeftOut, ...]
    kinds: Schema


class Template(NamedTuple):
    """Text of a spec, and a sentence for each thing that its checks do not look at.

    ``metadata`` is the text of the file of metadata that the spec names; None if the file exists.
    """

    text: str
    unchecked: tuple[str, ...]
    metadata: str | None = None


def spec_template(  # noqa: PLR0913 - the facts of a first spec
    private: str | Path,
    synthetic: str | Path,
    spec_folder: Path,
    gate: Fraction = USUAL_GATE,
    names: Fraction = USUAL_NAMES,
    private_rows: int | None = None,
    metadata: Path | None = None,
    *,
    formats: TextFormats | None = None,
    columns: Mapping[str, Mapping[str, Any]] | None = None,
    unit: str | None = None,
) -> Template:
    """Text of a spec for two tables; the caller writes it into ``spec_folder``.

    The spec names the file ``metadata``; its text is made from the copy if it does not exist.  One
    ``gate`` tests all checks.  Only the synthetic table is read.  Only the path of the private
    table is used, without a password.

    Raises
    ------
    TableError
        If the synthetic table cannot be read, or if a path cannot be written as text.
    """
    formats = formats or TextFormats()
    made = metadata is not None and not metadata.exists()
    stated = stated_facts(columns, None if made else metadata, private, ())
    copy = formats.over(format_of_file(stated)).table(synthetic, "synthetic")
    facts = _copy_facts(private, synthetic, copy, gate, private_rows, stated, unit)
    # A file of facts states its kinds itself.
    own = set(map(fold_case, columns or ()))
    kinds = {name: kind for name, kind in facts.kinds.items() if fold_case(name) in own}
    facts = facts._replace(kinds=kinds)
    checks = facts.checks.checks
    price = _PRICE.format(
        checks=f"{len(checks)} checks" if len(checks) > 1 else "that follows",
        gate=epsilon_option(gate),
        total=epsilon_option(gate + names),
        guess=guess_text(gate + names),
    )
    rows = "# rows = 30000                    # how many rows it has, if that may be published"
    parts = [
        _HEAD.format(
            private=_path(private, spec_folder, "private"),
            rows=rows if private_rows is None else f"rows = {private_rows}",
            text=_format_lines(formats.private),
            copy_text=_format_lines(formats.synthetic),
            synthetic=_path(synthetic, spec_folder, "synthetic"),
            header=f"[synthetic.{_slug(short_name(synthetic)) or 'copy'}]",
            ledger=_NAMED_LEDGER if is_address(private) else _LEDGER,
            budget=_decimal(_RUNS * (gate + names)),
            gate=_decimal(gate),
            names=_decimal(names),
            privacy=_privacy(facts.person),
            price=_comment(price),
            tolerances=_comment(
                _TOLERANCES.format(
                    copy=f"{facts.rows:,}",
                    rows=f"{private_rows or facts.rows:,}",
                    noun="persons" if facts.person else "rows",
                )
            ),
        ),
        *_written(checks),
        *_not_checked(facts),
        _FACTS,
    ]
    if metadata is not None:
        parts.append(_METADATA.format(file=_path(metadata, spec_folder, "metadata")))
        bare = facts._replace(numbers={})
    else:
        bare = facts
    if bare.numbers:
        parts.append(_BOUNDS)
    parts += islice(_column_comments(bare), _MOST_COLUMNS)
    tables = SyntheticTables([open_table(copy, "synthetic")]) if made else None
    text = metadata_template(tables, facts.numbers) if tables else None
    return Template("".join(parts), tuple(_unchecked(facts)), text)


def _column(table: Table, stated: str) -> str:
    """Name of the column of a person as the copy has it; ParameterError if it has none."""
    unit = privacy_unit(stated)
    name = unit.column if unit else stated
    known = {fold_case(column): column for column in table.columns}
    if fold_case(name) not in known:
        raise unknown_column(name, table.columns, "unit")
    return known[fold_case(name)]


def _format_lines(text_format: TextFormat) -> str:
    """Lines that state a format of text; none for the usual format."""
    stated = [name for name in FIELDS if getattr(text_format, name) != getattr(USUAL, name)]
    values = {name: getattr(text_format, name) for name in stated}
    return "".join(
        f"{name} = {_value(list(value) if isinstance(value, tuple) else value)}\n"
        for name, value in values.items()
    )


def _copy_facts(
    private: str | Path,
    synthetic: str | Path,
    copy: object,
    gate: Fraction,
    private_rows: int | None,
    stated: Facts,
    stated_unit: str | None = None,
) -> _CopyFacts:
    table = open_table(copy, "synthetic")
    if is_address(private) and private == synthetic:
        check_other_places(table.source.places, table)
    location = location_of(private)
    check_other_places([Place(file, location.whole_table) for file in location.files], table)
    tables = SyntheticTables([table])
    # Every column is needed, so one pass reads all columns and computes the hashes for ledgers.
    check_separation(tables, names=None)
    person = person_key(table) if stated_unit is None else _column(table, stated_unit)
    unit = PrivacyUnit(person) if person else None
    try:
        request = ProfileRequest(distances=("tv",), cells=cells_of_facts(stated), facts=stated)
        profile = bind_profile(tables, request, unit)
    except NothingSelectedError:
        profile = None
    tables.check_kinds()
    criteria = Criteria.of(tau=1, alpha="0.05")
    requests = [QueryRequest(query, criteria) for query in number_queries(profile)]
    workload = bind(SyntheticTables(tables.tables), requests, stated, unit)
    rows = next(each.synthetic[0].mass for each in workload.queries)
    return _CopyFacts(
        person,
        rows,
        _numbers(tables.tables[0], stated),
        suggested_checks(profile, workload, Sizes(rows, private_rows), gate),
        profile.left_out if profile else (),
        stated_kinds(stated, table.columns),
    )


def _privacy(person: str | None) -> str:
    """Section ``[privacy]``: with the column of a person where the copy has one, else a comment."""
    if person is None:
        return _PRIVACY
    column = _comment(f'The copy has "{person}", which looks like the key of a person and repeats.')
    return f"{column}{_UNIT.format(column=toml_text(person))}"


def _numbers(table: Table, stated: Facts) -> dict[str, Lattice]:
    """Lattice of each column of numbers, except columns without any value."""
    engine = SyntheticTables([table]).engine
    schema = engine.schema(table, table.columns, stated_kinds(stated, table.columns))
    lattices = {
        name: engine.profile(schema, quote_identifier(name))
        for name in table.columns
        if schema[name] is Kind.NUMBER
    }
    return {name: lattice for name, lattice in lattices.items() if lattice}


def _written(checks: tuple[SuggestedCheck, ...]) -> Iterator[str]:
    """Yield the checks as TOML, each with its comment and an id of its own."""
    known: set[str] = set()
    for check in checks:
        slug = _slug(check.name) or "check"
        name = next(n for n in (slug, *(f"{slug}-{k}" for k in range(2, 1000))) if n not in known)
        known.add(name)
        lines = [f"{key} = {_value(value)}" for key, value in {"id": name, **check.keys}.items()]
        comment = [_comment(check.comment)[:-1]] if check.comment else []
        yield "\n".join(["", *comment, "[[check]]", *lines, ""])


def _not_checked(facts: _CopyFacts) -> Iterator[str]:
    """Yield comments that name what is not checked, with the reasons, and a check to fill in."""
    if facts.checks.left_out:
        yield "\n# Left out, since an honest copy of this size would not surely pass:\n"
        for reason, names in facts.checks.left_out:
            yield _comment(f"{names_and_more(names, _MOST_COLUMNS)}: {reason}")
    for text in filter(None, [_IN_PART, facts.checks.unalarmed, facts.checks.unrelated]):
        yield "\n"
        yield _comment(f"Not checked: {text}.")
    if facts.left_out:
        yield "\n# Columns and pairs without a check:\n"
        for each in islice(facts.left_out, _MOST_COLUMNS):
            reason = each.reason.partition("; judge it with")[0]
            yield _comment(f"{', '.join(each.columns)}: {reason}")


def _unchecked(facts: _CopyFacts) -> Iterator[str]:
    """Yield sentences on what the checks do not look at."""
    yield from filter(None, [_IN_PART, facts.checks.unalarmed, facts.checks.unrelated])
    columns = [each.columns[0] for each in facts.left_out if len(each.columns) == 1]
    if columns:
        yield f"columns {names_and_more(columns, _MOST_NAMED)}, which look like identifiers or text"
    number = sum(len(names) for _, names in facts.checks.left_out)
    if number:
        conditions = "1 condition" if number == 1 else f"{number:,} conditions"
        every = [name for _, names in facts.checks.left_out for name in names]
        yield (
            f"{conditions} that an honest copy of this size would not surely pass "
            f"({names_and_more(every, _MOST_NAMED)})"
        )
    yield "rules, keys and limits, which you state (pqd lint holds the copy itself to them)"


def _comment(text: str) -> str:
    """Text as lines of a comment; characters that would end a comment are replaced."""
    safe = "".join(sign if sign.isprintable() else " " for sign in text)
    return textwrap.indent(textwrap.fill(safe, _WIDTH, break_on_hyphens=False) + "\n", "# ")


def _value(value: object) -> str:
    """Value as TOML."""
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return toml_text(value) if isinstance(value, str) else _decimal(Fraction(str(value)))


def _column_comments(facts: _CopyFacts) -> Iterator[str]:
    """Yield a section of facts for each stated kind, each number, and each column not judged."""
    aside = unjudged(facts.left_out)
    for name in dict.fromkeys((*facts.kinds, *facts.numbers, *aside)):
        lines = [f'type = "{facts.kinds[name]}"'] if name in facts.kinds else []
        lines += [_SET_ASIDE] if name in aside else []
        section = f"\n[columns.{_header(name)}]\n"
        if lattice := facts.numbers.get(name):
            lower, upper, step = (_decimal(x) for x in (lattice.lower, lattice.upper, lattice.step))
            section = _COLUMN.format(name=_header(name), lower=lower, upper=upper, step=step)
        yield section + "".join(f"{line}\n" for line in lines)


def _header(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml_text(name)


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-").lower()[:40]


def _decimal(number: Fraction) -> str:
    """Number as a whole number or as a decimal without exponent; a finite decimal is required."""
    if number.denominator == 1:
        return str(number.numerator)
    return f"{Decimal(number.numerator) / Decimal(number.denominator):f}"


def _path(given: str | Path, folder: Path, role: str) -> str:
    """Path as TOML, relative to ``folder``; absolute if it is on another drive.

    A URL is written without its password.
    """
    if is_address(given):
        return toml_text(written_address(given).replace("${", "$${"))
    path = Path(given)
    try:
        # Follow links in the folder, since ``..`` depends on them, but not a link to the table.
        full = path.absolute().parent.resolve() / path.name
        try:
            written = Path(os.path.relpath(full, folder.resolve())).as_posix()
        except ValueError:
            # The path is on another drive (Windows).
            written = full.as_posix()
        written.encode()
    except (OSError, ValueError, RuntimeError):
        raise TableError(f"the {role} table has a path that cannot be used; rename it") from None
    return toml_text(written.replace("${", "$${"))


def toml_text(text: str) -> str:
    """``text`` as TOML on one line; single quotes are used if they avoid escapes."""
    if ('"' in text or "\\" in text) and "'" not in text and text.isprintable():
        return f"'{text}'"
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(sign: str) -> str:
    if sign in {'"', "\\"}:
        return "\\" + sign
    if sign.isprintable():
        return sign
    return f"\\u{ord(sign):04x}" if ord(sign) < 0x10000 else f"\\U{ord(sign):08x}"
