"""Allow list of SQL expressions: an admitted expression has a kind and never raises an error.

A checked expression is emitted as DuckDB SQL over columns that are already cast to their kind.
Numbers are DOUBLE, so arithmetic gives infinity where it would overflow.  Casts, divisions, regular
expressions and all else that may raise an error on some value are refused: the error would reveal
private rows.
"""

import math
from collections.abc import Callable
from functools import reduce
from typing import NamedTuple, NoReturn

from sqlglot import exp

from pqd.deciders.names import nearest_names, pasted
from pqd.deciders.options import option
from pqd.errors import QueryError, for_all
from pqd.sql.hints import instead_of
from pqd.sql.schema import Kind, Schema, fold_case, header_hint

SQL_LIMIT = 100_000
# Quotes that word processors write in place of straight ones.
_CURLY = "\u2018\u2019\u201a\u201c\u201d\u201e"
_MOMENTS = {exp.DType.DATE, exp.DType.TIMESTAMP, exp.DType.TIMESTAMPNTZ}
# With more uses of ||, one private cell could grow into gigabytes of text.
_MOST_PIPES = 16


Checked = tuple[exp.Expr, Kind | None]

ADMITTED = (
    "comparisons, AND, OR, NOT, IN, BETWEEN, LIKE, ILIKE, IS NULL, IS DISTINCT FROM, + - *, ABS, "
    "CASE, COALESCE, LOWER, UPPER, TRIM, LENGTH, SUBSTRING, ||, YEAR, MONTH, DAY, DATE '...'"
)


_TRUTH = ("TRUE", "FALSE")
_CALENDAR = {"YEAR": exp.Year, "MONTH": exp.Month, "DAY": exp.Day}


def _as_text(name: str) -> str:
    """Advice to compare a column as text."""
    kind = pasted(name, "=text")
    return f"state that {name} is text: {option(f'--type {kind}')}"


class ExpressionChecker:
    """Checker of one query's expressions: checks them against a schema and rewrites them."""

    def __init__(self, sql: str, schema: Schema, table_names: frozenset[str]) -> None:
        """Error messages mark places in ``sql``; ``table_names`` may qualify a column."""
        self._sql = sql
        self._names = {fold_case(name): name for name in schema}
        self._pipes = 0
        self._schema = schema
        self._tables = table_names
        self.columns: set[str] = set()

    def predicate(self, node: exp.Expr) -> exp.Expr:
        """``node`` rewritten; ``node`` must be a boolean function of one row."""
        return self._as(Kind.BOOLEAN, node, "the WHERE clause")

    def number(self, node: exp.Expr, aggregate: str) -> exp.Expr:
        """``node`` rewritten; ``node`` must be a number for one row."""
        return self._as(Kind.NUMBER, node, aggregate)

    def scalar(self, node: exp.Expr) -> exp.Expr:
        """``node`` rewritten, of any kind."""
        return self._check(node)[0]

    def _as(self, kind: Kind, node: exp.Expr, user: str | exp.Expr) -> exp.Expr:
        rewritten, own_kind = self._check(node)
        if own_kind not in {kind, None}:
            # ``user`` is printed only here, since this takes time proportional to the query.
            name = user if isinstance(user, str) else _name(user)
            advice = ""
            if kind is Kind.TEXT and own_kind is Kind.NUMBER and isinstance(node, exp.Column):
                advice = f"; {_as_text(node.name)}"
            if kind is Kind.BOOLEAN:
                advice = "; write a whole condition, such as age > 20"
            self._refuse(
                node,
                f"{_name(node)} is {_article(own_kind)}; {name} needs {_article(kind)}{advice}",
            )
        return rewritten

    def _refuse(self, node: exp.Expr, message: str) -> NoReturn:
        raise QueryError(message, self._sql, *place(node))

    def _check(self, node: exp.Expr) -> Checked:
        """Rewritten expression and its kind; the kind of NULL is None."""
        rule = _RULES.get(type(node))
        if rule is None:
            written = instead_of(node) or f"admitted are {ADMITTED}"
            self._refuse(node, f"{_name(node)} is not admitted here; {written}")
        extra = [k for k, value in node.args.items() if value and k not in rule.arguments]
        if extra:
            what = "a subquery" if "query" in extra else f"this form ({', '.join(extra)})"
            self._refuse(node, f"{what} is not admitted here; admitted are {ADMITTED}")
        rewritten, kind = rule.check(self, node)
        # Operators get parentheses, so that DuckDB reads the same tree, whatever binds tighter.
        return (exp.Paren(this=rewritten) if type(node) in _OPEN else rewritten), kind

    def column(self, node: exp.Expr) -> Checked:
        """A column of the schema, qualified or not."""
        if node.text("table") and node.text("table").lower() not in self._tables:
            self._refuse(node, f'there is no table "{node.text("table")}" in this query')
        name = self._names.get(fold_case(node.name))
        if name is None:
            self._refuse(node, self._unknown(node))
        self.columns.add(name)
        return exp.column(exp.to_identifier(name, quoted=True)), self._schema[name]

    def _unknown(self, node: exp.Expr) -> str:
        name = node.name
        if (straight := name.strip(_CURLY)) != name:
            return f"{name} has typographic quotes; a text takes straight ones: '{straight}'"
        lowered = name.lower()
        hyphenated = [known for known in self._schema if lowered in known.lower().split("-")]
        if hyphenated:
            return (
                f'there is no column "{name}"; a name with a hyphen needs double quotes: '
                + " or ".join(f'"{known}"' for known in hyphenated[:3])
            )
        near = nearest_names(lowered, self._names)
        names = [self._names[name] for name in near] or list(self._schema)[:8]
        some = "begin with" if len(self._schema) > len(names) else "are"
        nearest = "the nearest is" if len(names) == 1 else "the nearest are"
        lead = nearest if near else f"the columns {some}"
        columns = f"{lead} " + ", ".join(f'"{x}"' for x in names)
        missing = f'there is no column "{name}"; '
        if hint := header_hint(self._schema):
            return f"{missing}{columns}{hint}"
        value = f"a value takes single quotes: '{name}'"
        if isinstance(node.parent, exp.Predicate) and node.arg_key != "this":
            return f"{missing}{value}; {columns}"
        quoted = node.this.args.get("quoted")
        return missing + (columns if near and not quoted else f"{columns}; {value}")

    def literal(self, node: exp.Expr) -> Checked:
        """A text, or a finite number read as DOUBLE."""
        if node.args["is_string"]:
            return exp.Literal.string(node.this), Kind.TEXT
        try:
            number = float(node.this)
        except ValueError:
            number = math.inf
        if not math.isfinite(number):
            self._refuse(node, f"{node.this} is not a finite number")
        return exp.Literal.number(double_text(number)), Kind.NUMBER

    def boolean(self, node: exp.Expr) -> Checked:
        """TRUE or FALSE."""
        return node.copy(), Kind.BOOLEAN

    def null(self, node: exp.Expr) -> Checked:
        """NULL, which is of every kind."""
        return node.copy(), None

    def paren(self, node: exp.Expr) -> Checked:
        """A parenthesis, of the kind of its content."""
        inner, kind = self._check(node.this)
        closed = isinstance(inner, (exp.Paren, exp.Column, exp.Literal))
        return (inner if closed else exp.Paren(this=inner)), kind

    def logical(self, node: exp.Expr) -> Checked:
        """AND, OR, NOT over booleans; a loop, not a recursion, checks a chain of thousands."""
        operands = [node.this] if isinstance(node, exp.Not) else node.flatten(unnest=False)
        word = node.key.upper()
        first, *rest = for_all(lambda operand: self._as(Kind.BOOLEAN, operand, word), operands)
        if isinstance(node, exp.Not):
            return exp.Not(this=first), Kind.BOOLEAN
        chain = reduce(lambda left, right: type(node)(this=left, expression=right), rest, first)
        return chain, Kind.BOOLEAN

    def compared(self, node: exp.Expr) -> Checked:
        """A comparison of values of the same kind."""
        names = [name for name in ("this", "expression", "low", "high") if node.args.get(name)]
        parts = [node.args[name] for name in names]
        listed = node.expressions if isinstance(node, exp.In) else []
        if isinstance(node, exp.In) and not listed:
            self._refuse(node, "IN needs a list of values, such as IN ('a', 'b')")
        checked, _ = self._of_one_kind(node, [*parts, *listed])
        rewritten = type(node)(**dict(zip(names, checked, strict=False)))
        if listed:
            rewritten.set("expressions", checked[len(names) :])
        return rewritten, Kind.BOOLEAN

    def _of_one_kind(
        self, node: exp.Expr, parts: list[exp.Expr]
    ) -> tuple[list[exp.Expr], Kind | None]:
        """Parts, rewritten, and their common kind; beside a time, a text literal is a time."""
        checked = [self._check(part) for part in parts]
        kinds = {kind for _, kind in checked if kind}
        if Kind.TIME in kinds and Kind.TEXT in kinds:
            checked = [self._moment(p, c) for p, c in zip(parts, checked, strict=True)]
            kinds = {kind for _, kind in checked if kind}
        if len(kinds) > 1:
            clash = " and ".join(
                f"{_name(part)} is {_article(kind)}"
                for part, (_, kind) in zip(parts, checked, strict=True)
                if kind
            )
            advice = _advice_on_kinds(parts, [kind for _, kind in checked])
            self._refuse(
                node, f"only values of one kind can be compared or combined: {clash}{advice}"
            )
        return [rewritten for rewritten, _ in checked], next(iter(kinds), None)

    def _moment(self, node: exp.Expr, checked: Checked) -> Checked:
        """Checked expression, read as a time if it is a text literal."""
        if checked[1] is not Kind.TEXT or not isinstance(node, exp.Literal):
            return checked
        return self._timestamp(node, node.this), Kind.TIME

    def _timestamp(self, node: exp.Expr, text: str) -> exp.Expr:
        from datetime import datetime  # noqa: PLC0415 - only queries on times pay for it

        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            moment = None
        if moment is None or moment.tzinfo is not None:
            self._refuse(
                node, f"'{text}' is not a date or time; write '2022-01-31' or add 13:45:00"
            )
        return exp.cast(exp.Literal.string(moment.isoformat(" ")), "timestamp")

    def cast(self, node: exp.Expr) -> Checked:
        """DATE '...' and TIMESTAMP '...'; other casts are refused: they may fail on some rows."""
        target = node.args["to"].this
        literal = isinstance(node.this, exp.Literal) and node.this.is_string
        if not literal or target not in _MOMENTS:
            self._refuse(node, "a cast may fail on some rows; only DATE '...' and TIMESTAMP '...'")
        return self._timestamp(node, node.this.this), Kind.TIME

    def like(self, node: exp.Expr) -> Checked:
        """LIKE and ILIKE over text."""
        text = self._as(Kind.TEXT, node.this, "LIKE")
        pattern = self._as(Kind.TEXT, node.expression, "LIKE")
        return self._negated(node, type(node)(this=text, expression=pattern)), Kind.BOOLEAN

    def _negated(self, like: exp.Expr, rewritten: exp.Expr) -> exp.Expr:
        """``rewritten``, under NOT if LIKE is negated: the parser marks this by a flag of LIKE."""
        return exp.Not(this=exp.Paren(this=rewritten)) if like.args.get("negate") else rewritten

    def escape(self, node: exp.Expr) -> Checked:
        """LIKE with an escape character; a pattern that ends in this character is refused."""
        like, sign = node.this, node.expression
        if not isinstance(like, (exp.Like, exp.ILike)) or not isinstance(sign, exp.Literal):
            self._refuse(node, "ESCAPE belongs after LIKE 'pattern' and takes one character")
        pattern = like.expression
        if isinstance(like, exp.ILike):
            self._refuse(node, "ESCAPE is admitted after LIKE, not after ILIKE")
        if len(sign.this) != 1 or not sign.this.isascii() or not isinstance(pattern, exp.Literal):
            self._refuse(node, "ESCAPE takes one character (ASCII), and a pattern written out")
        if len(pattern.this) - len(pattern.this.rstrip(sign.this)) & 1:
            self._refuse(node, "the pattern ends in its escape character")
        text = self._as(Kind.TEXT, like.this, "LIKE")
        plain = exp.Like(this=text, expression=exp.Literal.string(pattern.this))
        escaped = exp.Escape(this=plain, expression=exp.Literal.string(sign.this))
        return self._negated(like, escaped), Kind.BOOLEAN

    def is_(self, node: exp.Expr) -> Checked:
        """IS NULL, and IS TRUE or FALSE of a boolean."""
        left, kind = self._check(node.this)
        right = node.expression
        if isinstance(right, exp.Null) or (
            isinstance(right, exp.Boolean) and kind in {Kind.BOOLEAN, None}
        ):
            return exp.Is(this=left, expression=right.copy()), Kind.BOOLEAN
        return self._refuse(node, "IS takes NULL, or TRUE or FALSE after a boolean; else write =")

    def arithmetic(self, node: exp.Expr) -> Checked:
        """Arithmetic over numbers; a DOUBLE overflows to infinity, so no row raises an error."""
        parts = [self._as(Kind.NUMBER, part, node) for part in _operands(node)]
        return _rebuilt(node, parts), Kind.NUMBER

    def text_function(self, node: exp.Expr) -> Checked:
        """Text from text."""
        self._pipes += isinstance(node, exp.DPipe)
        if self._pipes > _MOST_PIPES:
            self._refuse(node, f"at most {_MOST_PIPES} uses of || are admitted in one query")
        parts = [self._as(Kind.TEXT, part, node) for part in _operands(node)]
        return _rebuilt(node, parts), Kind.TEXT

    def length(self, node: exp.Expr) -> Checked:
        """The number of characters of a text."""
        length = exp.Length(this=self._as(Kind.TEXT, node.this, "LENGTH"))
        return exp.cast(length, "double"), Kind.NUMBER

    def substring(self, node: exp.Expr) -> Checked:
        """A part of a text between fixed places."""
        ends = [node.args[name] for name in ("start", "length") if node.args.get(name)]
        for end in ends:
            if not isinstance(end, exp.Literal) or not end.this.isdigit() or len(end.this) > 6:
                self._refuse(end, "SUBSTRING takes whole numbers below a million, written out")
        text = self._as(Kind.TEXT, node.this, "SUBSTRING")
        numbers = dict(zip(("start", "length"), (end.copy() for end in ends), strict=False))
        return exp.Substring(this=text, **numbers), Kind.TEXT

    def calendar(self, node: exp.Expr) -> Checked:
        """YEAR, MONTH, DAY of a time."""
        moment = self._as(Kind.TIME, node.this, node)
        part = type(node)(this=exp.cast(moment, "timestamp"))
        return exp.cast(part, "double"), Kind.NUMBER

    def extract(self, node: exp.Expr) -> Checked:
        """EXTRACT(YEAR FROM time), which is YEAR(time); also MONTH and DAY."""
        part = _CALENDAR.get(node.name.upper())
        if part is None:
            self._refuse(node, f"EXTRACT takes YEAR, MONTH or DAY, not {node.name.upper()}")
        return self.calendar(part(this=node.expression))

    def coalesce(self, node: exp.Expr) -> Checked:
        """The first of several values that is not NULL."""
        checked, kind = self._of_one_kind(node, [node.this, *node.expressions])
        return exp.Coalesce(this=checked[0], expressions=checked[1:]), kind

    def case(self, node: exp.Expr) -> Checked:
        """CASE with a subject (``CASE x WHEN ...``) or without a subject."""
        branches, default = node.args["ifs"], node.args.get("default")
        values, kind = self._of_one_kind(
            node, [branch.args["true"] for branch in branches] + ([default] if default else [])
        )
        tests = [branch.this for branch in branches]
        if node.this:
            (subject, *tests), _ = self._of_one_kind(node, [node.this, *tests])
        else:
            subject, tests = None, [self._as(Kind.BOOLEAN, test, "CASE WHEN") for test in tests]
        ifs = [exp.If(this=t, true=v) for t, v in zip(tests, values, strict=False)]
        return exp.Case(this=subject, ifs=ifs, default=values[-1] if default else None), kind


def place(node: exp.Expr) -> tuple[int | None, int | None]:
    """Offsets (start, stop) of ``node`` in its text; None if they are not known."""
    # In a part without text, the end that the parser gives is before the start.
    spots = [
        part.meta for part in node.walk() if part.meta.get("end", -1) >= part.meta.get("start", 0)
    ]
    if not spots:
        return None, None
    return min(spot["start"] for spot in spots), max(spot["end"] for spot in spots) + 1


def _operands(node: exp.Expr) -> list[exp.Expr]:
    return [node.args[name] for name in ("this", "expression") if node.args.get(name)]


def _rebuilt(node: exp.Expr, operands: list[exp.Expr]) -> exp.Expr:
    return type(node)(**dict(zip(("this", "expression"), operands, strict=False)))


def double_text(number: float) -> str:
    """Literal that DuckDB reads as DOUBLE: a number with an exponent."""
    text = repr(number)
    return text if "e" in text else text + "e0"


def _name(node: exp.Expr) -> str:
    text = node.sql(dialect="duckdb")
    return text if len(text) <= 40 else text[:37] + "..."


def _article(kind: Kind | None) -> str:
    return "text" if kind is Kind.TEXT else f"a {kind}"


def _advice_on_kinds(parts: list[exp.Expr], kinds: list[Kind | None]) -> str:
    """How to write a value so that its kind is that of the column; empty if unknown."""
    literals = [part for part in parts if isinstance(part, exp.Literal)]
    for part, kind in zip(parts, kinds, strict=True):
        if kind is Kind.BOOLEAN and isinstance(part, exp.Predicate):
            return "; join two comparisons by AND, such as 20 < age AND age < 40"
        if not literals or not isinstance(part, exp.Column):
            continue
        if kind is Kind.BOOLEAN:
            said = literals[0].this.upper()
            return f"; write {_name(part)} = {said if said in _TRUTH else 'TRUE or = FALSE'}"
        if kind is Kind.NUMBER and any(each.is_string for each in literals):
            return f"; a number takes no quotes, or {_as_text(part.name)}"
    if Kind.TIME in kinds and Kind.NUMBER in kinds:
        return "; a day or time takes single quotes, such as '1980-12-24'"
    return ""


class _Rule(NamedTuple):
    check: Callable[[ExpressionChecker, exp.Expr], Checked]
    arguments: frozenset[str]


def _rules(
    *groups: tuple[
        tuple[type[exp.Expr], ...], str, Callable[[ExpressionChecker, exp.Expr], Checked]
    ],
) -> dict[type[exp.Expr], _Rule]:
    return {
        node: _Rule(check, frozenset(arguments.split()))
        for nodes, arguments, check in groups
        for node in nodes
    }


# Operators are printed between or beside their operands, so they need parentheses.
_OPEN = frozenset(
    {
        *(exp.And, exp.Or, exp.Not, exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.DPipe),
        *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ),
        *(exp.Between, exp.In, exp.Like, exp.ILike, exp.Escape, exp.Is),
    }
)

# Each admitted node, the arguments that it may have (others are refused), and its rule.
_RULES = _rules(
    ((exp.Column,), "this table", ExpressionChecker.column),
    ((exp.Literal,), "this is_string", ExpressionChecker.literal),
    ((exp.Boolean,), "this", ExpressionChecker.boolean),
    ((exp.Null,), "", ExpressionChecker.null),
    ((exp.Paren,), "this", ExpressionChecker.paren),
    ((exp.And, exp.Or, exp.Not), "this expression", ExpressionChecker.logical),
    (
        (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ),
        "this expression",
        ExpressionChecker.compared,
    ),
    ((exp.Between,), "this low high", ExpressionChecker.compared),
    ((exp.In,), "this expressions", ExpressionChecker.compared),
    ((exp.Like, exp.ILike), "this expression negate", ExpressionChecker.like),
    ((exp.Escape,), "this expression", ExpressionChecker.escape),
    ((exp.Is,), "this expression", ExpressionChecker.is_),
    (
        (exp.Neg, exp.Abs, exp.Add, exp.Sub, exp.Mul),
        "this expression",
        ExpressionChecker.arithmetic,
    ),
    ((exp.Lower, exp.Upper, exp.Trim), "this", ExpressionChecker.text_function),
    ((exp.DPipe,), "this expression safe", ExpressionChecker.text_function),
    ((exp.Length,), "this", ExpressionChecker.length),
    ((exp.Substring,), "this start length", ExpressionChecker.substring),
    ((exp.Year, exp.Month, exp.Day), "this", ExpressionChecker.calendar),
    ((exp.Extract,), "this expression", ExpressionChecker.extract),
    ((exp.Coalesce,), "this expressions", ExpressionChecker.coalesce),
    ((exp.Case,), "this ifs default", ExpressionChecker.case),
    ((exp.Cast,), "this to", ExpressionChecker.cast),
)
