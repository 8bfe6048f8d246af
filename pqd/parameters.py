"""What a caller states in public: tolerance, budget, facts about columns; read exactly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

from deciders import ParameterError, UnanswerableError
from deciders.exact import Number, exact, positive, probability
from pqd.budgets import stated_budget
from pqd.columns import Facts, parse_columns
from pqd.engine.scan_plan import PrivacyUnit

_MOST_ROWS = 1_000_000


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Criteria:
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
    ) -> Criteria:
        """Read what a caller gave; ParameterError names what is wrong and what is allowed."""
        return Criteria(
            tolerance=Tolerance.parse(tau),
            alpha=probability(alpha, "alpha"),
            decider=decider,
            facts=parse_columns(columns),
            detailed=detailed,
            planning=planning,
        )

    def at(self, epsilon: Number | None, *, brief: bool | None = None) -> Parameters:
        """Return the same with a budget for each query; ParameterError if there is none."""
        if epsilon is None:
            raise ParameterError(
                "epsilon is missing; say what privacy budget to spend, such as 0.25 "
                "(a plan tells what each query needs, and costs nothing)"
            )
        found = {f.name: getattr(self, f.name) for f in fields(Criteria)}
        if brief is not None:
            found["brief"] = brief
        return Parameters(**found, epsilon=stated_budget(epsilon))


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters(Criteria):
    """What the caller asks for with the budget per query: only on these is anything drawn."""

    epsilon: Fraction

    @classmethod
    def parse(cls, *, epsilon: Number, **wanted: Any) -> Parameters:  # noqa: ANN401 - see Criteria
        """Read what a caller gave, the budget and what ``Criteria.of`` reads."""
        return Criteria.of(**wanted).at(epsilon)

    @property
    def wanted(self) -> Criteria:
        """The same without the budget, for queries that share one."""
        return Criteria(**{f.name: getattr(self, f.name) for f in fields(Criteria)})


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
