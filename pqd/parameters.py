"""Parameters of a run, all public and exact: tolerance, budget, facts about columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import IntEnum
from fractions import Fraction
from typing import Any

from pqd.deciders import ParameterError
from pqd.deciders.exact import Number, exact, probability
from pqd.deciders.options import option
from pqd.engine.scan_plan import PrivacyUnit
from pqd.sql.schema import unquoted
from pqd.sql.tolerance import Tolerance
from pqd.stated.budgets import stated_budget
from pqd.stated.column_facts import Facts, StatedColumns, parse_columns
from pqd.stated.decider_options import Options, read_options

_MOST_ROWS = 1_000_000
# The largest number of private rows that may be stated.
MOST_PRIVATE_ROWS = 10**12
# Share of a question's epsilon that pays for the number of its rows beyond bounds.
OUTSIDE_SHARE = Fraction(1, 10)


class Detail(IntEnum):
    """Detail in which deciders are evaluated on public data; each level includes lower levels.

    More detail costs time, but no privacy.
    """

    ERRORS = 0
    THRESHOLDS = 1
    BUDGETS = 2
    CURVES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Criteria:
    """Criteria of a verdict, without a budget; a measurement needs ``Parameters``.

    Attributes
    ----------
    tolerance
        The tolerance, absolute or relative.
    alpha
        The error probability that the caller accepts.
    mechanism
        The id of a decider, an estimator or a batch mechanism, or a way to choose one.
    options
        The options of the decider that ``mechanism`` names, by name.
    columns
        Public facts of columns.
    detail
        The detail in which the deciders that fit the query are evaluated.
    outside
        Whether a share of the budget (``OUTSIDE_SHARE``) counts the rows beyond unstated bounds.
    private_rows
        The number of private rows that the caller states; None if it is not stated.
    """

    tolerance: Tolerance
    alpha: Fraction
    mechanism: str
    columns: Facts
    detail: Detail = Detail.THRESHOLDS
    options: Options = ()
    outside: bool = False
    private_rows: int | None = None

    @classmethod
    def of(  # noqa: PLR0913 - the facts of a verdict
        cls,
        *,
        tau: Number | None,
        alpha: Number,
        mechanism: str = "auto",
        columns: StatedColumns | None = None,
        detail: Detail = Detail.THRESHOLDS,
        options: Mapping[str, Number] | None = None,
        outside: bool = False,
        private_rows: Number | None = None,
    ) -> Criteria:
        """Criteria that a caller states; ParameterError names the mistake and allowed values."""
        return Criteria(
            tolerance=Tolerance.parse(tau),
            alpha=probability(alpha, "alpha"),
            mechanism=mechanism,
            columns=parse_columns(columns),
            detail=detail,
            options=read_options(mechanism, options),
            outside=outside,
            private_rows=stated_rows(private_rows),
        )

    def at(self, epsilon: Number | None, detail: Detail | None = None) -> Parameters:
        """Parameters with the budget ``epsilon``; ParameterError if it is missing or invalid."""
        same = {field.name: getattr(self, field.name) for field in fields(Criteria)}
        if detail is not None:
            same["detail"] = detail
        return Parameters(**same, epsilon=stated_budget(epsilon))


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters(Criteria):
    """Parameters of a measurement: criteria with the budget of one query."""

    epsilon: Fraction

    @classmethod
    def parse(cls, *, epsilon: Number | None, **criteria: Any) -> Parameters:  # noqa: ANN401 - as of
        """Parameters that a caller states: the budget, and the arguments of ``Criteria.of``."""
        return Criteria.of(**criteria).at(epsilon)

    @property
    def criteria(self) -> Criteria:
        """These criteria without the budget, for queries that share a budget."""
        return Criteria(**{field.name: getattr(self, field.name) for field in fields(Criteria)})


def stated_rows(rows: Number | None, name: str = "--private-rows") -> int | None:
    """Number of rows of a private table that an option states; None if it is not stated.

    The number is public.  Nobody compares it with the private table, since that would reveal how
    many rows the table has.

    Raises
    ------
    ParameterError
        If the number is not a whole number from 1 to ``MOST_PRIVATE_ROWS``.
    """
    if rows is None:
        return None
    number = exact(rows, option(name))
    if number.denominator != 1 or not 1 <= number <= MOST_PRIVATE_ROWS:
        raise ParameterError(
            f"{option(name)} is {rows}; it is the number of rows of a private "
            f"table, a whole number from 1 to {MOST_PRIVATE_ROWS:,}, as it may be published"
        )
    return int(number)


def privacy_unit(
    column: str | None, max_rows: int | str = 1, *, row_is_person: bool = False
) -> PrivacyUnit | None:
    """Privacy unit that a caller states; None if one row is one person.

    ``row_is_person``: the caller states that, so there is no column.  Blanks at the ends of a
    column's name belong to the name; quotes around it do not.

    Raises
    ------
    ParameterError
        If the statements contradict each other, or one of them is not understood.
    """
    if not isinstance(row_is_person, bool):
        raise ParameterError(f"row_is_person is {row_is_person!r}; use True or False")
    if column is not None and row_is_person:
        raise ParameterError(
            f"{option('--unit')} says that the rows of one value are one person, and "
            f"{option('--row-is-person')} that each row is one; state one of them"
        )
    if column is None:
        if exact(max_rows, option("--max-rows")) != 1:
            raise ParameterError(
                f"{option('--max-rows')} is {max_rows}, but no unit says whose rows these are; add "
                f"the column of a person, such as {option('--unit person_id')}, or leave it out"
            )
        return None
    if not isinstance(column, str) or not column.strip():
        raise ParameterError("unit must be the name of a column, such as person_id")
    rows = exact(max_rows, option("--max-rows"))
    if rows.denominator != 1 or not 1 <= rows <= _MOST_ROWS:
        raise ParameterError(
            f"{option('--max-rows')} is {max_rows}; it must be a whole number from 1 to "
            f"{_MOST_ROWS:,}"
        )
    return PrivacyUnit(unquoted(column), int(rows))
