"""Statements of a file of queries, with the name, tolerance, bins and weight stated beside each.

A ``.sql`` file states these values in comments before a statement (``-- tau: 5%``).  A ``.csv``
list states them in columns.
"""

from __future__ import annotations

import csv
import io
import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from sqlglot import TokenType, exp, tokenize
from sqlglot.errors import SqlglotError

from pqd.deciders.names import nearest_names
from pqd.errors import QueryError
from pqd.sql.hints import begins_as_query, unclosed_quote
from pqd.sql.shapes import tokens

# Names of the facts that can be stated beside a query, in comments and in columns.
ID, TAU, BINS, WEIGHT = "id", "tau", "bins", "weight"
_STATED = re.compile(r"--[ \t]*(id|tau|bins|weight)[ \t]*:[ \t]*([^\r\n]*)", re.IGNORECASE)
# Comments that state a tolerance, bins or a weight, but without the colon.
_BARE = re.compile(
    r"--[ \t]*(?:(tau|weight)[ \t]*=?[ \t]*[0-9.]+[ \t]*%?|(bins)[ \t]+\S+=\S+)[ \t\r]*$",
    re.IGNORECASE | re.MULTILINE,
)
_SELECT = re.compile(r"SELECT\s.*\sFROM\b", re.IGNORECASE | re.DOTALL)
_BEGIN = re.compile(r"\s*(--|SELECT\b)", re.IGNORECASE)
# Begin of a statement in a text in quotes, whose own quote is not closed then.
_NEXT = re.compile(r"\n\s*(--|SELECT\b)", re.IGNORECASE)
_SHORTEST = len("--id:") - 1
_BEFORE_SELECT = {"(", "UNION", "INTERSECT", "EXCEPT", "ALL", "DISTINCT"}
_SQL, _ATTRIBUTE, _PARTS = "sql", "attribute", {"aggregate", "where_sql"}
# Similarity of names from which one is taken for the other, misspelt.
_NEAR = 0.75

# Start and end of a token in a text, and whether the token is a semicolon.
_Place = tuple[int, int, bool]


class Mistake(NamedTuple):
    """Mistake at a line of a file; the first line is 1."""

    line: int
    message: str


class Statement(NamedTuple):
    """Statement of a file: its SQL, its line, and the facts (such as its name) stated beside it.

    ``sql`` is empty if the file lacks it.  ``mistakes`` are those of the row or of the stated
    values; ``misplaced`` are comments that state a value inside the statement.  A statement with a
    quote that is not closed is not ``is_whole``, and ``sql`` ends before the quote.
    """

    sql: str
    line: int
    stated: Mapping[str, str]
    mistakes: tuple[Mistake, ...] = ()
    misplaced: tuple[Mistake, ...] = ()
    is_whole: bool = True

    @property
    def id(self) -> str | None:
        """Stated name; None if no name is stated."""
        return self.stated.get(ID) or None


def sql_statements(text: str, path: Path) -> list[Statement]:
    """Statements of a ``.sql`` file; each ends in a semicolon, except perhaps the last.

    Raises
    ------
    QueryError
        If the text is not SQL, or holds something else than queries; the message quotes nothing of
        it.
    """
    closed, quotes = _closed(text, path)
    reader = _SqlReader(closed, quotes)
    reader.split(_tokens(closed) or ())
    places = [f"statement {n} (line {each.line})" for n, each in enumerate(reader.statements, 1)]
    _check_queries(dict(zip(places, reader.statements, strict=True)), path)
    return reader.statements


def list_statements(text: str, path: Path) -> list[Statement]:
    """Statements of a ``.csv`` list, one for each row.

    Raises
    ------
    QueryError
        If the text is no list of queries, or no CSV; the message quotes nothing of it.
    """
    rows = csv.reader(io.StringIO(text))
    statements, stated = [], dict[str, Statement]()
    try:
        columns = [name.strip().lower() for name in next(rows, [])]
        whole = _SQL in columns
        if not whole and not _PARTS.issubset(columns):
            raise QueryError(
                f"the query file {path} is no list of queries, whose first line names the columns "
                "id, sql or id, aggregate, attribute, where_sql, and tau, bins if you like, with "
                "commas between them"
            )
        _check_names(columns, path)
        line = rows.line_num + 1
        for number, cells in enumerate(rows, start=1):
            if cells:
                row = dict(zip(columns, map(str.strip, cells), strict=False))
                statements.append(_row(row, line, more=len(cells) > len(columns)))
                if whole:
                    stated[f"row {number}"] = statements[-1]._replace(sql=row.get(_SQL, ""))
            line = rows.line_num + 1
    except csv.Error:
        raise QueryError(f"the query file {path} is not a CSV; check its quotes") from None
    _check_queries(stated, path)
    return statements


def _check_names(columns: Sequence[str], path: Path) -> None:
    """Refuse a column whose name is nearly that of one that is read, such as ``wieght``."""
    optional = (ID, TAU, BINS, WEIGHT) if _SQL in columns else (ID, _ATTRIBUTE, TAU, BINS, WEIGHT)
    missing = [name for name in optional if name not in columns]
    for name in columns:
        if near := nearest_names(name, missing, _NEAR):
            raise QueryError(
                f'the query file {path} has a column "{name}", which is not read; did you mean '
                f"{near[0]}? If not, rename or remove the column"
            )


def _row(row: Mapping[str, str], line: int, *, more: bool) -> Statement:
    """Statement of a row; ``more`` says that the row has more cells than the first line."""
    mistakes = []
    if more:
        mistakes.append(
            Mistake(
                line,
                "the row has more cells than the first line has names; put SQL with a comma in "
                "double quotes",
            )
        )
    sql = row.get(_SQL, "").removesuffix(";") or _of_parts(row)
    if not sql:
        mistakes.append(Mistake(line, "the row has no aggregate, such as COUNT"))
    stated = {name: row[name] for name in (ID, TAU, BINS, WEIGHT) if row.get(name)}
    return Statement(sql, line, stated, tuple(mistakes))


def _of_parts(row: Mapping[str, str]) -> str:
    """SQL of a row that states its parts; empty without an aggregate."""
    if not row.get("aggregate", "").isidentifier():
        return ""
    attribute, where = row.get(_ATTRIBUTE) or "*", row.get("where_sql")
    operand = "*" if attribute == "*" else exp.to_identifier(attribute).sql(dialect="duckdb")
    return f"SELECT {row.get('aggregate')}({operand}) FROM D" + (f" WHERE {where}" if where else "")


def _check_queries(statements: Mapping[str, Statement], path: Path) -> None:
    """Refuse text that is not of queries: it may be a private table, which no message may quote.

    A query that lacks FROM, or SELECT before its aggregate, is told as a mistake of a query if the
    file holds a whole query too, and nothing else.
    """
    others = [
        place
        for place, each in statements.items()
        if not (_SELECT if each.is_whole else _BEGIN).match(each.sql)
    ]
    strange = [
        place
        for place in others
        if len(others) == len(statements) or not begins_as_query(statements[place].sql)
    ]
    if strange:
        more = f" and {len(strange) - 3:,} others" if len(strange) > 3 else ""
        raise QueryError(
            f"the query file {path} holds something else than queries: its "
            f"{', '.join(strange[:3])}{more} {'are' if len(strange) > 1 else 'is'} not SELECT ... "
            "FROM D; mend this, or name a file of queries"
        )


class _SqlReader:
    """Reader of a text: its statements so far, and the values stated for the next statement."""

    def __init__(self, text: str, quotes: Sequence[int]) -> None:
        self.statements: list[Statement] = []
        self._text, self._quotes = text, quotes
        self._ends = [match.start() for match in re.finditer("\n", text)]
        self._forget()

    def _forget(self) -> None:
        self._stated: dict[str, str] = {}
        self._mistakes: list[Mistake] = []
        self._misplaced: list[Mistake] = []

    def split(self, places: Iterable[_Place]) -> None:
        """Split the text at its semicolons; only spaces and comments stand between tokens.

        A second SELECT also begins a statement, whose semicolon before it is missing.
        """
        end = 0
        word = ""
        first = last = None
        for start, stop, is_end in places:
            before, word = word, self._text[start:stop].upper()
            if first is not None and word == "SELECT" and before not in _BEFORE_SELECT:
                self._mistakes.append(Mistake(self._line(first), _UNFINISHED))
                self._add(first, last, start)
                first = None
            if first is None:
                self._before(end, start)
            elif start - end > _SHORTEST:
                self._misplaced += self._comments(end, start, "inside a statement")
            if not is_end:
                first, last = (start if first is None else first), stop
            elif first is not None:
                self._add(first, last, start)
                first = None
            end = stop
        after = self._comments(end, len(self._text), "after the last statement")
        if first is not None:
            self._add(first, last, len(self._text))
        if self.statements:
            final = self.statements[-1]
            self.statements[-1] = final._replace(mistakes=(*final.mistakes, *after))

    def _add(self, first: int, last: int | None, end: int) -> None:
        """Add the statement from ``first`` to ``last``; its comments stand before ``end``."""
        quotes = [place for place in self._quotes if first <= place < end]
        mistakes = [Mistake(self._line(place), _UNCLOSED) for place in quotes]
        statement = Statement(
            self._text[first:last],
            self._line(first),
            self._stated,
            (*self._mistakes, *mistakes),
            tuple(self._misplaced),
            is_whole=not quotes,
        )
        self.statements.append(statement)
        self._forget()

    def _before(self, start: int, stop: int) -> None:
        """Read the comments before a statement."""
        for match in _BARE.finditer(self._text, start, stop):
            name = str(match[1] or match[2]).lower()
            line = self._line(match.start())
            self._mistakes.append(Mistake(line, f"{name} has no colon; write {_EXAMPLES[name]}"))
        for match in _STATED.finditer(self._text, start, stop):
            name, value = match[1].lower(), match[2].strip()
            line = self._line(match.start())
            same_line = start and self._line(start) == line
            if name == ID:
                # The last id counts.
                value, *more = value.split() or [self._stated.get(ID, "")]
                if more and not same_line:
                    self._mistakes.append(Mistake(line, _ONE_WORD))
            elif same_line:
                self._mistakes += self._comments(match.start(), match.end(), "after a statement")
                continue
            elif not value:
                self._mistakes.append(Mistake(line, f"{name} is empty; write {_EXAMPLES[name]}"))
            elif self._stated.get(name, value) != value:
                self._mistakes.append(
                    Mistake(line, f"{name} is stated twice for one query; leave one of them")
                )
            self._stated[name] = value

    def _comments(self, start: int, stop: int, where: str) -> list[Mistake]:
        """Mistakes for comments that state a value at a place that belongs to no query."""
        return [
            Mistake(
                self._line(match.start()),
                f"'-- {match[1].lower()}: ...' stands {where}; write it on a line of its own "
                "before the statement that it is about",
            )
            for match in _STATED.finditer(self._text, start, stop)
        ]

    def _line(self, place: int) -> int:
        return bisect_left(self._ends, place) + 1


_UNFINISHED = "a second SELECT begins before this statement has ended; statements end in ;"
_UNCLOSED = "this line has a quote that is not closed; close it"
_ONE_WORD = (
    "id is more than one word; write one, such as -- id: women_over_40, and what else is stated on "
    "a line of its own"
)
_EXAMPLES = {TAU: "-- tau: 5%", BINS: "-- bins: age=0:100:10", WEIGHT: "-- weight: 3"}


def _closed(text: str, path: Path) -> tuple[str, list[int]]:
    """Text without the rest of each line on which a quote is not closed, and these quotes' places.

    A semicolon at the end of the line stays.
    """
    quotes = list[int]()
    places = _tokens(text)
    parts = (text[start:stop] for start, stop, _ in places or ())
    if places is not None and not any("\n" in part and _NEXT.search(part) for part in parts):
        return text, quotes
    closed = text
    while (start := unclosed_quote(closed)) is not None:
        stop = closed.find("\n", start)
        rest = closed[start : len(text) if stop < 0 else stop]
        left = ";" if rest.rstrip().endswith(";") else " "
        closed = closed[:start] + left.rjust(len(rest)) + closed[start + len(rest) :]
        quotes.append(start)
    # A file that does not begin as queries do may be private: no line of it is told.
    if not quotes or not _BEGIN.match(text) or _tokens(closed) is None:
        raise QueryError(f"the query file {path} is not SQL; check its quotes")
    return closed, quotes


def _tokens(text: str) -> list[_Place] | None:
    plain = tokens(text)
    if plain is not None:
        return [(t.start, t.end, t.kind == "end") for t in plain if t.kind != "comment"]
    # sqlglot's error quotes the text, so the caller raises another error, outside this handler.
    every = None
    with suppress(SqlglotError):
        every = tokenize(text, read="duckdb")
    if every is None:
        return None
    return [(t.start, t.end + 1, t.token_type == TokenType.SEMICOLON) for t in every]
