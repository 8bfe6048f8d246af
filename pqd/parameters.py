"""What a caller states in public: tolerance, budget, facts about columns; read exactly."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

from deciders import Lattice, ParameterError, UnanswerableError
from deciders.exact import Number, budget_of, exact, positive, probability
from pqd.engine.scan_plan import PrivacyUnit
from pqd.sql.expressions import Kind, Schema, folded

_MOST_ROWS = 1_000_000
# Beyond the first an answer is warned of.  Beyond the second no command and no spec asks: the odds
# about a person may then change by a factor of 10^43, which is as good as showing the row.
MUCH_EPSILON, MOST_EPSILON = Fraction(10), Fraction(100)


@dataclass(frozen=True, slots=True)
class Tolerance:
    """``tau``: an absolute amount in the query's unit, or a share of ``|q(Ds)|``."""

    amount: Fraction
    relative: bool
    text: str

    @classmethod
    def parse(cls, tau: Number) -> Tolerance:
        """Read ``10``, ``"10"`` or ``"3.2%"``; raise ParameterError unless greater than 0."""
        text = str(tau).strip()
        if isinstance(tau, str) and text.endswith("%"):
            if not text[:-1].strip():
                raise ParameterError(f"tau is {text!r}; write a number before the sign, such as 5%")
            return cls(positive(text[:-1], "tau") / 100, relative=True, text=text)
        return cls(positive(tau, "tau"), relative=False, text=text)

    def of(self, answer: Fraction) -> Fraction:
        """Return the tolerance in the query's unit around the synthetic ``answer``.

        Raises
        ------
        UnanswerableError
            If it is a share of 0.
        """
        if not self.relative:
            return self.amount
        if answer == 0:
            raise UnanswerableError(
                f"tau is {self.text} of the synthetic answer, which is 0; check the WHERE (text is "
                "case-sensitive), or give tau as an amount instead, such as 10"
            )
        return self.amount * abs(answer)


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """Public facts of one column or expression; what is None is taken from the synthetic table."""

    bounds: tuple[Fraction, Fraction] | None = None
    step: Fraction | None = None
    kind: Kind | None = None


Facts = Mapping[str, ColumnFacts]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the caller asks for, but for a budget: tolerance, level, decider, column facts.

    Enough to plan by, and for a query that waits for its share of a budget; nothing is drawn on it.
    ``planning`` asks for every decider's needed epsilon, ``detailed`` for its operating
    characteristic too, ``brief`` for its error rates alone: time, no privacy.
    """

    tolerance: Tolerance
    alpha: Fraction
    decider: str
    facts: Facts
    detailed: bool = False
    planning: bool = False
    brief: bool = False

    @classmethod
    def of(
        cls,
        *,
        tau: Number,
        alpha: Number,
        decider: str = "auto",
        columns: Mapping[str, Mapping[str, Any]] | None = None,
        detailed: bool = False,
        planning: bool = False,
    ) -> Wanted:
        """Read what a caller gave; ParameterError names what is wrong and what is allowed."""
        return Wanted(
            tolerance=Tolerance.parse(tau),
            alpha=probability(alpha, "alpha"),
            decider=decider,
            facts=parse_columns(columns),
            detailed=detailed,
            planning=planning,
        )

    def at(self, epsilon: Number | None, *, brief: bool | None = None) -> Terms:
        """Return the same with a budget for each query; ParameterError if there is none."""
        if epsilon is None:
            raise ParameterError(
                "epsilon is missing; say what privacy budget to spend, such as 0.25 "
                "(a plan tells what each query needs, and costs nothing)"
            )
        found = {f.name: getattr(self, f.name) for f in fields(Wanted)}
        if brief is not None:
            found["brief"] = brief
        return Terms(**found, epsilon=stated_budget(epsilon))


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms(Wanted):
    """What the caller asks for with the budget per query: only on these is anything drawn."""

    epsilon: Fraction

    @classmethod
    def parse(cls, *, epsilon: Number, **wanted: Any) -> Terms:  # noqa: ANN401 - see Wanted
        """Read what a caller gave, the budget and what ``Wanted.of`` reads."""
        return Wanted.of(**wanted).at(epsilon)

    @property
    def wanted(self) -> Wanted:
        """The same without the budget, for queries that share one."""
        return Wanted(**{f.name: getattr(self, f.name) for f in fields(Wanted)})


def stated_budget(epsilon: Number) -> Fraction:
    """Return a budget that a caller states; ParameterError beyond what protects anybody."""
    found = budget_of(epsilon)
    if found > MOST_EPSILON:
        raise ParameterError(
            f"epsilon is {epsilon}; at most {MOST_EPSILON} can be asked for, and above "
            f"{MUCH_EPSILON} hardly anybody is protected: 1 or less is usual"
        )
    return found


def parse_columns(columns: Mapping[str, Mapping[str, Any]] | None) -> Facts:
    """Read ``{"capital-gain": {"bounds": (0, 99_999), "step": 1, "type": "number"}}``.

    Raises
    ------
    ParameterError
        For an unknown key, kind, or bounds that are not two ascending numbers.
    """
    if columns is not None and not isinstance(columns, Mapping):
        raise ParameterError('columns must be a mapping such as {"age": {"bounds": (0, 120)}}')
    return {str(name): _facts(str(name), given) for name, given in (columns or {}).items()}


def _facts(name: str, given: Mapping[str, Any]) -> ColumnFacts:
    known = ("bounds", "step", "type")
    if not isinstance(given, Mapping):
        raise ParameterError(f'columns["{name}"] must be a mapping such as {{"bounds": (0, 100)}}')
    for key in given:
        if key not in known:
            near = difflib.get_close_matches(str(key), known, n=1)
            hint = f"; did you mean {near[0]}?" if near else f"; use {', '.join(known)}"
            raise ParameterError(f'columns["{name}"] has the unknown key {key!r}{hint}')
    bounds, kind = given.get("bounds"), given.get("type")
    if bounds is not None and not (isinstance(bounds, (tuple, list)) and len(bounds) == 2):
        raise ParameterError(f'columns["{name}"]: bounds are two numbers, such as (0, 100)')
    if kind is not None and kind not in list(Kind):
        raise ParameterError(f'columns["{name}"]: type is {kind!r}; use {", ".join(Kind)}')
    facts = ColumnFacts(
        (exact(bounds[0], "lower bound"), exact(bounds[1], "upper bound")) if bounds else None,
        positive(given["step"], "step") if given.get("step") is not None else None,
        Kind(kind) if kind else None,
    )
    if facts.bounds:
        Lattice(*facts.bounds, facts.step or _finest(facts.bounds))
    return facts


def parse_bounds(text: str) -> tuple[str, dict[str, Any]]:
    """Read ``capital-gain=0:99999`` or ``price=0:10:0.01`` (lower:upper[:step])."""
    name, found, numbers = text.rpartition("=")
    parts = numbers.split(":")
    if not found or not name.strip() or len(parts) not in {2, 3}:
        raise ParameterError(
            f'bounds {text!r} are not understood; write "column=lower:upper" or '
            '"column=lower:upper:step", such as "capital-gain=0:99999"'
        )
    facts: dict[str, Any] = {"bounds": (parts[0], parts[1])}
    if len(parts) == 3:
        facts["step"] = parts[2]
    return name.strip().strip('"'), facts


def parse_type(text: str) -> tuple[str, dict[str, Any]]:
    """Read ``zip=text``."""
    name, found, kind = text.rpartition("=")
    if not found or not name.strip():
        raise ParameterError(f'type {text!r} is not understood; write "column=text"')
    return name.strip().strip('"'), {"type": kind.strip()}


def kinds(facts: Facts, columns: tuple[str, ...]) -> Schema:
    """Return the kinds that the user states, by the columns' own names."""
    stated = {folded(name): fact.kind for name, fact in facts.items() if fact.kind}
    return {name: stated[folded(name)] for name in columns if folded(name) in stated}


def bounded_lattice(facts: ColumnFacts | None, synthetic: Lattice | None) -> Lattice | None:
    """Return the lattice of stated facts, the rest taken from the synthetic table's."""
    if facts is None or (facts.bounds is None and facts.step is None):
        return synthetic
    if facts.bounds is None:
        if synthetic is None:
            return None
        step = exact(facts.step or 1)
        low, high = synthetic.lower // step * step, -(-synthetic.upper // step) * step
        return Lattice(low, high, step)
    return Lattice(*facts.bounds, facts.step or _fitting(facts.bounds, synthetic))


def _fitting(bounds: tuple[Fraction, Fraction], synthetic: Lattice | None) -> Fraction:
    """Return a step that fits stated bounds: the synthetic table's if it does."""
    low, high = bounds
    if synthetic is not None and (high - low) % synthetic.step == 0:
        return synthetic.step
    return _finest(bounds)


def _finest(bounds: tuple[Fraction, Fraction]) -> Fraction:
    """Return 1, or the finest decimal place that the bounds are written to."""
    step = Fraction(1)
    while (bounds[1] - bounds[0]) % step and step > Fraction(1, 10**12):
        step /= 10
    return step


def privacy_unit(column: str | None, max_rows: int | str = 1) -> PrivacyUnit | None:
    """Return the privacy unit that is stated, None where one row is one person."""
    if column is None:
        if exact(max_rows, "max_rows") != 1:
            raise ParameterError(
                f"max_rows is {max_rows}, but no unit says whose rows these are; add the column "
                "of a person (--unit person_id), or leave max_rows out"
            )
        return None
    if not isinstance(column, str) or not column.strip():
        raise ParameterError("unit must be the name of a column, such as person_id")
    rows = exact(max_rows, "max_rows")
    if rows.denominator != 1 or not 1 <= rows <= _MOST_ROWS:
        raise ParameterError(
            f"max_rows is {max_rows}; it must be a whole number from 1 to {_MOST_ROWS:,}"
        )
    return PrivacyUnit(column.strip().strip('"'), int(rows))
