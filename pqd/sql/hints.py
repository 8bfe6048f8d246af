"""Hints on SQL that pqd does not read: what to write in place of it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from typing import NamedTuple

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB

AGGREGATES = (
    "COUNT(*), COUNT(column), COUNT(DISTINCT column), SUM(expression), AVG(expression), "
    "MEDIAN(expression) and QUANTILE(expression, p)"
)
# Words of SQL that a query may have; any other word of SQL there is probably a column.
_ADMITTED = (
    "SELECT FROM WHERE GROUP BY AND OR NOT IN BETWEEN LIKE ILIKE IS NULL TRUE FALSE CASE WHEN THEN "
    "ELSE END AS DISTINCT COUNT SUM AVG MEDIAN QUANTILE"
)
WORDS = _ADMITTED.split()
# Words of other languages and of spreadsheets.
_MEANT = {"UND": "AND", "ODER": "OR", "NICHT": "NOT", "ZWISCHEN": "BETWEEN", "WO": "WHERE"}
_FUNCTIONS = dict.fromkeys(("MEAN", "AVERAGE", "MITTELWERT"), "AVG") | {
    "ANZAHL": "COUNT",
    "SUMME": "SUM",
}
# Comments, texts and names in quotes, and a quote that nothing closes.
_QUOTED = re.compile(
    r"--[^\n]*|/\*.*?\*/|(?P<literal>'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\")|(?P<open>['\"])", re.DOTALL
)
_COLUMN_IN_QUOTES = (
    "a column whose name is more than letters, digits and _, or a word of SQL, takes double "
    'quotes, such as "{}"'
)
_AGGREGATE, _END = "COUNT|SUM|AVG|MEDIAN|QUANTILE", r"[\w.']+"


class Hint(NamedTuple):
    """Hint on the part of a text from ``start`` to ``stop``, which is exclusive."""

    message: str
    start: int
    stop: int


def _decimal(parts: re.Match[str]) -> str:
    """How to write a number whose decimal mark, or whose mark of thousands, is a comma."""
    text = parts[1]
    mark = max(text.rfind(","), text.rfind("."))
    whole, digits = re.sub("[,.]", "", text[:mark]), text[mark + 1 :]
    marks = re.findall("[,.]", text)
    written = [f"{whole}.{digits}"]
    if len(digits) == 3 and len(set(marks)) == 1:
        written = [whole + digits, *(written if len(marks) == 1 else ())]
    return (
        f"{text} is no number, which has a decimal point and nothing between thousands; write "
        + " or ".join(written)
    )


# Patterns that no query has outside quotes and comments, and what to write: the place is that of
# the first group.  A later pattern is looked up only if no earlier one is found.
_WRITTEN: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE | re.DOTALL), message)
    for pattern, message in (
        (rf"\A\s*({_AGGREGATE})\s*\(", "SELECT is missing; a query is SELECT {1}(...) FROM D"),
        (
            r"\bSELECT\s+(TOP)\s+\d",
            "the answer is one number; leave TOP out",
        ),
        (r"(=>|≥)", "{1} is no comparison; write >="),
        (r"(=<|≤)", "{1} is no comparison; write <="),
        (r"(≠|><|=!)", "{1} is no comparison; write <>"),
        (r"(&&?)", "{1} is not read; write AND"),
        (r"(`)[^`]*`", "a backtick is not read; a column takes double quotes, a text single ones"),
        (
            rf"\bBETWEEN\s+({_END})\s*(?:,|-|\bTO\b|\bBIS\b|\bUND\b)\s*({_END})\b(?!\s+AND\b)",
            "BETWEEN has AND between its ends; write BETWEEN {1} AND {2}",
        ),
        (
            rf"\bBETWEEN\s+({_END})\s*(?:\Z|;|\)|\bAND\s*\Z)",
            "BETWEEN takes two ends, such as BETWEEN 20 AND 40",
        ),
        (r"(?:[<>=]|\bBETWEEN|\bAND)\s*(\d[\d.]*(?:,\d+)+(?:\.\d+)?)\b", _decimal),
        (r"(\d{1,3}(?:\.\d{3}){2,})\b", _decimal),
        (
            rf"\bSELECT\s+({_AGGREGATE})\s+(\*|DISTINCT\s+\w+|(?!FROM\b)\w+)",
            "{1} takes parentheses; write {1}({2})",
        ),
        (
            r"\b(SUM|AVG|MEDIAN)\s*\(\s*\w+\s*,",
            "{1} takes one column; write a query for each column",
        ),
        (r"\b(IN)\s+[\w']+\s*,", "IN takes parentheses, such as IN (20, 30)"),
        (r"\b(GROUP)\s+(?!BY\b)\w", "BY is missing; write GROUP BY"),
        (r"(#|//)", "a comment begins with --"),
        (r"\b(CONTAINS)\s+'", "{1} is not read; write LIKE, with % for any text: LIKE '%call%'"),
        (
            r"\bFROM\s+\w+\s+(AND|OR)\b",
            "{1} joins conditions, and the first of them stands after WHERE; write WHERE",
        ),
        (r"\bWHERE\b(?:(?!\bSELECT\b).)*\b(WHERE)\b", "WHERE stands twice; write AND here"),
        (
            r"\bWHERE\b[^()]*?(,)\s*\w+\s*(?:[<>=!]|IN\b|LIKE\b|BETWEEN\b|IS\b)",
            "AND or OR joins conditions, not a comma",
        ),
    )
)


def found_hint(sql: str) -> Hint | None:
    """First hint on a text that is not read; None if there is none."""
    masked = _QUOTED.sub(_masked, sql)
    for pattern, message in _WRITTEN:
        if match := pattern.search(masked):
            text = message(match) if callable(message) else _filled(message, match, sql)
            return Hint(text, *match.span(1))
    return None


def _masked(part: re.Match[str]) -> str:
    """Text in quotes as a word of the same length, and a comment as blanks."""
    sign = "'" if part["literal"] else " "
    return part[0] if part["open"] else sign + sign * (len(part[0]) - 1)


def _filled(message: str, match: re.Match[str], sql: str) -> str:
    parts = [sql[slice(*match.span(number))] for number in range(len(match.groups()) + 1)]
    return message.format(*parts)


def unclosed_quote(text: str) -> int | None:
    """Place of the first quote that is not closed on its line; None if all are closed."""
    for found in _QUOTED.finditer(text):
        if found["open"] is not None or (found["literal"] and "\n" in found["literal"]):
            return found.start()
    return None


def malformed(sql: str, start: int, highlight: str, description: str) -> str:
    """Mistake at ``highlight``, which sqlglot describes by ``description``, and how to write it."""
    word = highlight.upper()
    if word in DuckDB.Tokenizer.KEYWORDS and word.isalpha() and word not in WORDS:
        quoted = f'"{highlight}"'
        return f"{highlight} is a word of SQL; a column of this name takes double quotes: {quoted}"
    if highlight == ")" and sql.count(")") > sql.count("("):
        return "no parenthesis is open here; leave this one out"
    before = re.findall(r"\w+", sql[: max(start, 0)])
    for written in (highlight, *before[-1:]):
        if near := meant_word(written):
            return f"{near} is expected where {written} stands; write {near}"
    if "Expecting )" in description:
        return "a parenthesis is not closed before this place; write the missing )"
    if "Unexpected" in description:
        column = _COLUMN_IN_QUOTES.format(_words_at(sql, start) or "hours per week")
        return f"this does not belong here; a text takes single quotes, and {column}"
    return "something is missing here: a condition, a value or a column"


def _words_at(sql: str, start: int) -> str:
    """Words around ``start`` that may be one name with blanks; empty if none stands before it."""
    ahead = re.search(r"([^\W\d]\w*)\s+\Z", sql[: max(start, 0)])
    if ahead is None or ahead[1].upper() in WORDS:
        return ""
    after: list[str] = []
    for word in re.findall(r"\w+|\S", sql[start:]):
        if not word.isidentifier() or word.upper() in WORDS:
            break
        after.append(word)
    return " ".join([ahead[1], *after]) if after else ""


def meant_word(written: str) -> str | None:
    """Word of a query that a word is meant for; None if it is one itself, or like none."""
    word = written.upper()
    if word in WORDS:
        return None
    near = difflib.get_close_matches(word, WORDS, n=1, cutoff=0.7)
    turned = (each for each in WORDS if sorted(each) == sorted(word))
    return _MEANT.get(word) or next(iter(near), None) or next(turned, None)


def begins_as_query(sql: str) -> bool:
    """True if a text begins with an aggregate, perhaps after SELECT, and both perhaps misspelt."""
    words = [each.upper() for each in re.findall(r"\w+|\S", sql[:100])[:3]]
    meant = [_FUNCTIONS.get(each) or meant_word(each) or each for each in words]
    name, *sign = meant[meant[:1] == ["SELECT"] :] or [""]
    return name in _AGGREGATE.split("|") and sign[:1] == ["("]


# Clauses that a query does not have, and what to do without each.
CLAUSES = {
    "DISTINCT": "for the number of different values write COUNT(DISTINCT column)",
    "LIMIT": "the answer is one number, or one for each group; leave LIMIT out",
    "ORDER BY": "a report has an order of its own; leave ORDER BY out",
    "HAVING": "all groups are answered; leave HAVING out",
    "JOIN": "a query reads one table; join the tables before, in both the private and the copy",
}
_DIVISION = (
    "there is no division, since it fails on some rows; multiply (x * 0.5 for x / 2), compare "
    "without it (a > 2 * b for a / b > 2), or add the quotient as a column to both tables"
)
_INSTEAD: tuple[tuple[tuple[type[exp.Expr], ...], str], ...] = (
    ((exp.Div, exp.IntDiv, exp.Mod), _DIVISION),
    ((exp.ArrayOverlaps, exp.BitwiseAnd), "AND joins conditions; write AND"),
    ((exp.BitwiseOr,), "OR joins conditions; write OR"),
    ((exp.RegexpLike,), "a pattern is written with LIKE, where % is any text"),
    (
        (exp.AggFunc, exp.Subquery),
        "ask it as a query of its own, and write its answer here",
    ),
)


_SPREADS = (exp.Stddev, exp.StddevPop, exp.StddevSamp, exp.Variance, exp.VariancePop)


def instead_of(node: exp.Expr) -> str | None:
    """What to write in place of an expression that is not admitted; None if nothing is known."""
    written = found_hint(node.sql(dialect="duckdb"))
    known = next((hint for kinds, hint in _INSTEAD if isinstance(node, kinds)), None)
    return known or (written.message if written else None)


def other_aggregate(node: exp.Expr) -> str | None:
    """What to write in place of an aggregate that is not understood; None if nothing is known."""
    inner = [each.sql(dialect="duckdb") for each in node.find_all(exp.AggFunc) if each is not node]
    if isinstance(node, exp.Star):
        return "for the number of rows write COUNT(*)"
    if isinstance(node, (exp.Filter, exp.CountIf)):
        return "write the condition after WHERE"
    if isinstance(node, exp.Anonymous) and (
        meant := _FUNCTIONS.get(node.name.upper()) or meant_word(node.name)
    ):
        operands = ", ".join(each.sql(dialect="duckdb") for each in node.expressions)
        return f"write {meant}({operands})"
    if isinstance(node, _SPREADS):
        of = node.this.sql(dialect="duckdb")
        return f"for a spread ask QUANTILE({of}, 0.25) and QUANTILE({of}, 0.75), two queries"
    if inner:
        alone = " and ".join(inner) + (" alone" if len(inner) == 1 else ", a query for each")
        return f"ask {alone}, and compute with what is answered"
    return None
