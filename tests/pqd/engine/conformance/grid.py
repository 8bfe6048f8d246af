"""The grid: a row for everything that is odd, by a label, and what is asked of all rows.

What must be found is recorded in ``expected.json``: which rows match each predicate, by their
labels, the histograms of all aggregates and the cells of marginals, with and without persons, a
contingency table, and the fingerprint.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pqd.engine.marginals import Marginal, MarginalPlan, Unseen
from pqd.engine.partitions import Bins, Categories, Ordered, Points, TextBins
from pqd.engine.reading.text_format import TextFormat
from pqd.engine.scan_plan import PrivacyUnit, ScanPlan
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import open_table
from pqd.parameters import Criteria
from pqd.planning.binding import bind
from pqd.planning.bound_workload import QueryRequest
from pqd.sql.query import Query
from pqd.sql.schema import Kind
from pqd.sql.workload_files import as_queries
from pqd.stated.column_facts import parse_columns

if TYPE_CHECKING:
    from pqd.deciders import Histogram
    from pqd.sql.schema import Schema

    Asked = tuple[list[str], ScanPlan]

# A key of 32 bytes, by which rows are hashed and those of a person are ranked.
KEY = b"a key of 32 bytes for the tests."
TYPES = pa.schema(
    {
        "id": pa.int64(),
        "person": pa.string(),
        "number": pa.float64(),
        "whole": pa.int64(),
        "text": pa.string(),
        "day": pa.timestamp("us"),
        "flag": pa.bool_(),
        "mixed": pa.string(),
        "code": pa.int64(),
        "Odd name": pa.string(),
    }
)
USUAL: dict[str, Any] = {
    "person": "anna",
    "number": 1.0,
    "whole": 1,
    "text": "a",
    "day": datetime(2021, 6, 15, 12),  # noqa: DTZ001 - times of tables have no zone
    "flag": True,
    "mixed": "1",
    "code": 7,
    "Odd name": "x",
}
_NAN, _INFINITY = float("nan"), float("inf")
_FIRST, _LAST = -(1 << 63), (1 << 63) - 1
# What is odd of each row, by its label; all else is usual.
ROWS: dict[str, dict[str, Any]] = {
    "usual": {},
    "twice": {"person": "bert", "number": 2.5},
    "nothing": dict.fromkeys(USUAL),
    "no person": {"person": None},
    "second row of bert": {"person": "bert", "mixed": "40"},
    "third row of bert": {"person": "bert", "mixed": "70", "number": -2.0},
    "Bert": {"person": "Bert"},
    # Numbers.
    "no number": {"number": None},
    "zero": {"number": 0.0},
    "negative zero": {"number": -0.0, "whole": 0},
    "not a number": {"number": _NAN},
    "infinity": {"number": _INFINITY},
    "least infinity": {"number": -_INFINITY},
    "large": {"number": 1e300},
    "tenth": {"number": 0.1},
    "first of 64 bits": {"whole": _FIRST, "number": float(_FIRST)},
    "last of 64 bits": {"whole": _LAST, "number": float(_LAST)},
    "2^53": {"whole": 1 << 53},
    "2^53 + 2": {"whole": (1 << 53) + 2, "number": float((1 << 53) + 2)},
    "no whole": {"whole": None},
    # Texts.
    "no text": {"text": None},
    "empty": {"text": ""},
    "blank": {"text": " "},
    "A": {"text": "A"},
    "a and blank": {"text": "a "},
    "ab": {"text": "ab"},
    "AB": {"text": "AB"},
    "a percent": {"text": "a%"},
    "a underscore b": {"text": "a_b"},
    "backslash": {"text": "a\\b"},
    "quotes": {"text": 'it\'s "a", b'},
    "line end": {"text": "a\nb"},
    "umlaut": {"text": "ä"},
    "large umlaut": {"text": "Ä"},
    "composed": {"text": "é"},
    "decomposed": {"text": "e\u0301"},
    "sharp s": {"text": "straße"},
    "double s": {"text": "STRASSE"},
    "beyond 16 bits": {"text": "🦓"},
    "the text NULL": {"text": "NULL"},
    "a number as text": {"text": "01"},
    "odd name": {"Odd name": "A"},
    # Times.
    "no day": {"day": None},
    "leap day": {"day": datetime(2020, 2, 29)},  # noqa: DTZ001
    "end of the leap day": {"day": datetime(2020, 2, 29, 23, 59, 59, 999_999)},  # noqa: DTZ001
    "epoch": {"day": datetime(1970, 1, 1)},  # noqa: DTZ001
    "before the epoch": {"day": datetime(1969, 12, 31, 23, 59, 59, 999_999)},  # noqa: DTZ001
    "year 1": {"day": datetime(1, 1, 1)},  # noqa: DTZ001
    "year 9999": {"day": datetime(9999, 12, 31)},  # noqa: DTZ001
    # Flags.
    "no flag": {"flag": None},
    "false": {"flag": False},
    # Numbers in a column that is public as text.
    "no code": {"code": None},
    "code of 53 bits": {"code": (1 << 53) - 1},
    "negative code": {"code": -7},
    # Texts in a column that is public as a number.
    "no mixed": {"mixed": None},
    "blank mixed": {"mixed": " 2 "},
    "bad mixed": {"mixed": "abc"},
    "exponent": {"mixed": "1e3"},
    "point": {"mixed": "2.50"},
    "comma": {"mixed": "2,5"},
    "plus": {"mixed": "+5"},
    "leading zeros": {"mixed": "007"},
    "hexadecimal": {"mixed": "0x10"},
    "other digits": {"mixed": "\u0661"},
    "nan as text": {"mixed": "nan"},
    "infinity as text": {"mixed": "Infinity"},
    "negative": {"mixed": "-3"},
    "beyond the bounds": {"mixed": "100000"},
}
# Rows that are there twice, to the last cell.
TWICE = ("twice", "nothing", "A")
LABELS = [*ROWS, *TWICE]


def grid(*, with_empty: bool = True) -> pa.Table:
    """Rows of the grid; without the empty text for an engine to which that is NULL."""
    places = {label: place for place, label in enumerate(ROWS)}
    labels = [label for label in LABELS if with_empty or label != "empty"]
    rows = [{"id": places[label], **USUAL, **ROWS[label]} for label in labels]
    return pa.Table.from_pylist(rows, TYPES)


# Public: the kinds of the columns and the lattices are its.
COPY = pa.table(
    {
        "id": pa.array(range(len(ROWS))),
        "person": [f"p{n % 9}" for n in range(len(ROWS))],
        "number": [float(n % 9 - 4) / 2 for n in range(len(ROWS))],
        "whole": pa.array([n % 21 - 10 for n in range(len(ROWS))]),
        "text": [("a", "A", "b", "ä", "")[n % 5] for n in range(len(ROWS))],
        "day": pa.array([datetime(2020, 1 + n % 12, 3) for n in range(len(ROWS))]),  # noqa: DTZ001
        "flag": [n % 2 == 0 for n in range(len(ROWS))],
        "mixed": [float(n % 8) for n in range(len(ROWS))],
        "code": [f"c{n % 7}" for n in range(len(ROWS))],
        "Odd name": ["x"] * len(ROWS),
    }
)
PREDICATES = (
    "1 = 1",
    "number > 0",
    "NOT (number > 0)",
    "number = 1",
    "number <> 1",
    "number = 0",
    "number BETWEEN 0 AND 2.5",
    "number NOT BETWEEN 0 AND 2.5",
    "number IN (1, 2.5)",
    "number NOT IN (1, 2.5)",
    "number NOT IN (1, NULL)",
    "number IS NULL",
    "number IS NOT NULL",
    "number IS DISTINCT FROM 1",
    "number IS NOT DISTINCT FROM NULL",
    "number + whole > 1",
    "number * 10 = 1",
    "-number > 1e299",
    "ABS(number) > 1e299",
    "number = whole",
    "whole = 9007199254740992",
    "whole = 9007199254740994",
    "whole > 9007199254740992",
    "whole < -9000000000000000000",
    "whole IS NULL",
    "text = 'a'",
    "text = 'A'",
    "text <> 'a'",
    "NOT (text = 'a')",
    "text = ''",
    "text IS NULL",
    "text IN ('a', 'Ä')",
    "text NOT IN ('a', 'A')",
    "text < 'a'",
    "text > 'z'",
    "text LIKE 'a%'",
    "text NOT LIKE 'a%'",
    "text LIKE '_'",
    "text LIKE 'a_b'",
    "text LIKE '%é%'",
    "text LIKE '%\"a\"%'",
    "text ILIKE 'A%'",
    "text ILIKE 'STRA%'",
    "text NOT ILIKE 'a%'",
    "LOWER(text) = 'ä'",
    "UPPER(text) = 'AB'",
    "LENGTH(text) > 1",
    "TRIM(text) = 'a'",
    "SUBSTRING(text, 1, 1) = 'a'",
    "text || 'b' = 'ab'",
    "COALESCE(text, 'none') = 'none'",
    "flag",
    "NOT flag",
    "flag IS NULL",
    "flag IS NOT TRUE",
    "day >= '2020-02-29' AND day < '2020-03-01'",
    "YEAR(day) = 2020",
    "MONTH(day) = 12",
    "DAY(day) = 29",
    "day IS NULL",
    "day < '1970-01-01'",
    "day < DATE '1970-01-01'",
    "day > '2020-02-29 23:59:59' AND day < '2020-03-01'",
    "code = '9007199254740991'",
    "code LIKE '9%'",
    "code = '7'",
    "code <> '7'",
    "code IS NULL",
    "mixed = 1",
    "mixed <> 1",
    "mixed IS NULL",
    "mixed > 100",
    "mixed < 0 OR mixed = 5",
    "person = 'bert'",
    "person <> 'bert'",
    "\"Odd name\" = 'A'",
    "\"Odd name\" ILIKE 'a'",
    "NOT (number > 0 AND text <> 'a')",
    "NOT (flag OR number > 0)",
    "NOT (flag AND (number > 0 OR text IS NULL))",
    "number > 0 OR text IS NULL",
    "CASE WHEN flag THEN number ELSE whole END > 1",
    "text = 'a' AND number = 1 AND flag AND mixed = 1 AND whole = 1",
)
# A query with a scale is one of all rows, of which some count as 0.
QUERIES: tuple[str | Query, ...] = (
    "SELECT COUNT(*) FROM D",
    "SELECT COUNT(number) FROM D",
    "SELECT COUNT(text) FROM D WHERE flag",
    "SELECT COUNT(DISTINCT text) FROM D",
    "SELECT COUNT(DISTINCT number) FROM D",
    "SELECT COUNT(DISTINCT whole) FROM D",
    "SELECT COUNT(DISTINCT person) FROM D WHERE number > 0",
    "SELECT SUM(mixed) FROM D",
    "SELECT SUM(mixed) FROM D WHERE number > 0",
    "SELECT SUM(whole) FROM D",
    "SELECT SUM(number * 2) FROM D WHERE text <> 'A'",
    "SELECT SUM(number * 3) FROM D",
    "SELECT AVG(mixed) FROM D WHERE flag",
    "SELECT MEDIAN(number) FROM D",
    "SELECT MEDIAN(mixed) FROM D WHERE text LIKE 'a%'",
    "SELECT QUANTILE(mixed, 0.9) FROM D",
    "SELECT text, COUNT(*) FROM D GROUP BY text",
    "SELECT flag, SUM(mixed) FROM D GROUP BY flag",
    *(
        Query(sql, scale="rows")
        for sql in (
            "SELECT COUNT(*) FROM D WHERE text LIKE 'a%' AND flag",
            "SELECT COUNT(number) FROM D WHERE whole > 0",
            "SELECT SUM(mixed) FROM D WHERE number > 1",
            "SELECT SUM(whole * 2) FROM D",
        )
    ),
)
FACTS: dict[str, dict[str, Any]] = {
    "mixed": {"bounds": (0, 100)},
    "whole": {"bounds": (-10, 10)},
    "number": {"bounds": (-3, 5), "step": "0.5"},
}
UNITS = (PrivacyUnit("person"), PrivacyUnit("person", 2))

# What is asked of the rows of each predicate: their numbers are their labels'.
OF_ROWS = "SELECT SUM(id) FROM D WHERE "
# Counted together, in one table of their combinations.
JOINT = (
    "SELECT SUM(mixed) FROM D WHERE number > 0",
    "SELECT SUM(mixed) FROM D WHERE text LIKE 'a%' AND NOT flag",
    "SELECT SUM(mixed) FROM D WHERE day IS NULL OR text <> 'a'",
)
_NUMBERS = Bins("number", Kind.NUMBER, (-3.0, 0.0, 1.0, 5.0))
_TEXTS = Categories("text", Kind.TEXT, ("A", "a", "b"), ("ä",))
_ORDER = TextBins("text", Kind.TEXT, (("A", "a"), ("b", "b"), ("ä", "ä")), frozenset("Aabä"))
_FLAGS = Categories("flag", Kind.BOOLEAN, ("false", "true"))
_DAYS = Points("day", Kind.TIME, (0.0, 1_582_934_400e6))
_MIXED = Ordered("mixed", Kind.NUMBER, (0.0, 1.0, 2.0, 5.0, 40.0))
MARGINALS = (
    *(Marginal((each,)) for each in (_NUMBERS, _TEXTS, _FLAGS, _DAYS, _MIXED)),
    Marginal((_TEXTS, _FLAGS)),
    Marginal((_ORDER, _DAYS)),
    Unseen((_NUMBERS, _TEXTS, _FLAGS, _DAYS)),
)

Found = dict[str, dict[str, Any]]
Section = tuple[str, dict[str, Any]]


@cache
def _asked(queries: tuple[str | Query, ...], unit: PrivacyUnit | None) -> tuple[Schema, Asked]:
    """Kinds and statistics of queries, by their names; all of it from the copy alone."""
    tables = SyntheticTables([open_table(COPY, "synthetic")])
    bound = bind(tables, requests_of(queries), parse_columns(FACTS), unit)
    assert not bound.refusals
    plan = ScanPlan(tuple(each.statistic for each in bound.queries), unit)
    return bound.schema, ([_name(each.query) for each in bound.queries], plan)


def _name(query: Query) -> str:
    return f"{query.sql} per row" if query.per_row else query.sql


def requests_of(queries: Sequence[str | Query]) -> list[QueryRequest]:
    """Requests of queries, at a tolerance that does not matter."""
    criteria = Criteria.of(tau=1, alpha="0.05")
    return [QueryRequest(each, criteria) for each in as_queries(queries)]


def sections(given: object) -> Iterator[Section]:
    """What is recorded of a private table, which should be the grid, one after the other."""
    # The grid has texts such as NULL, which are texts in the other engines.
    private = open_table(given, "private", TextFormat(missing=("",)))
    # As a run makes it: which engine it is hangs on both tables.
    engine = SyntheticTables([open_table(COPY, "synthetic")], private).engine
    kinds, (_, plan) = _asked(tuple(f"{OF_ROWS}{each}" for each in PREDICATES), None)
    rows = zip(PREDICATES, engine.histograms(private, kinds, plan), strict=True)
    yield "rows", {predicate: _labels(histogram) for predicate, histogram in rows}
    for unit in (None, *UNITS):
        of_whom = f"rows of a person: {unit.max_rows}" if unit else "all rows"
        schema, (names, plan) = _asked(QUERIES, unit)
        histograms = zip(names, engine.histograms(private, schema, plan), strict=True)
        yield (
            f"histograms of {of_whom}",
            {
                sql: " ".join(f"{value}*{count}" for value, count in counted(histogram))
                for sql, histogram in histograms
            },
        )
        counts = engine.marginals(private, kinds, MarginalPlan(MARGINALS, unit))
        cells = {
            " and ".join(marginal.columns): " ".join(map(str, counts[marginal].tolist()))
            for marginal in MARGINALS
        }
        yield f"cells of {of_whom}", cells
    schema, (_, plan) = _asked(JOINT, None)
    table = engine.contingency(private, schema, plan)
    combinations = zip(table.words[:, 0].tolist(), table.places[:, 0].tolist(), strict=True)
    names = [f"{word:b} at {place}" for word, place in combinations]
    yield "contingency table", dict(zip(names, table.counts.tolist(), strict=True))
    yield "fingerprint", {"content": engine.content(private, KEY).earlier(KEY)}


def counted(histogram: Histogram) -> list[tuple[int, int]]:
    """Places of a histogram that a row has, and how many rows."""
    pairs = zip(histogram.values.tolist(), histogram.counts.tolist(), strict=True)
    return [(value, count) for value, count in pairs if count]


def _labels(histogram: Histogram) -> str:
    """Labels of the rows that match, or of those that do not where these are fewer."""
    labels = list(ROWS)
    number = Counter({labels[place]: count for place, count in counted(histogram)})
    every = Counter(LABELS)
    others = every - number
    if number - every or number.total() <= others.total():
        return ", ".join(number.elements())
    return f"all but {', '.join(others.elements()) or 'none'}"


def differences(one: Found, other: Iterable[Section]) -> Iterator[str]:
    """Names of what is recorded otherwise."""
    for section, entries in other:
        for name in {**one[section], **entries}:
            if one[section].get(name) != entries.get(name):
                yield f"{section}: {name}"
