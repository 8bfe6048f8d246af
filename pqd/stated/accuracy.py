"""Accuracy that a caller states in place of a budget: how sure a verdict is, and the most to pay.

``sure`` is 1 - alpha.  Each query then takes the least epsilon that decides it
(pqd/planning/sure_verdict.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from pqd.deciders.errors import ParameterError
from pqd.deciders.exact import Number, as_float, exact
from pqd.deciders.options import option
from pqd.stated.budgets import stated_budget

SURE, AT_MOST = "--sure", "--at-most"
_ALPHA = Fraction(1, 20)


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Probability with which a verdict that is told is right, and the most that a run may cost.

    ``at_most`` is None if the caller states no such limit; only a plan needs none.
    """

    sure: Fraction
    at_most: Fraction | None

    @property
    def alpha(self) -> Fraction:
        """Error probability that the caller accepts."""
        return 1 - self.sure

    @classmethod
    def parse(
        cls,
        sure: Number | None,
        at_most: Number | None,
        budgets: Mapping[str, object],
        alpha: Number | None = None,
    ) -> Accuracy | None:
        """Accuracy that a caller states; None if neither argument is given.

        ``budgets`` are the arguments that state a budget, by their names in messages.  An ``alpha``
        of None or 0.05 counts as not stated.

        Raises
        ------
        ParameterError
            If a number is not understood, or if another argument contradicts.
        """
        if sure is None:
            if at_most is not None:
                raise ParameterError(
                    f"{option(AT_MOST)} is the most that a run may cost whose epsilons pqd chooses;"
                    f" say how sure its verdicts must be too, such as 95% ({option(SURE)}), or "
                    "leave it out"
                )
            return None
        known = _probability(sure)
        stated = [name for name, value in budgets.items() if value is not None]
        if stated:
            raise ParameterError(
                f"{option(SURE)} lets pqd choose the epsilon of each query, and "
                f"{' and '.join(stated)} states one; leave one of them out (with {option(SURE)}, "
                f"{option(AT_MOST)} limits what the run may cost)"
            )
        if alpha is not None and exact(alpha, "alpha") not in {_ALPHA, 1 - known}:
            raise ParameterError(
                f"{option(SURE)} is {sure}, so alpha is {as_float(1 - known):.12g}, but "
                f"{option('--alpha')} is {alpha}; leave alpha out"
            )
        return cls(known, None if at_most is None else stated_budget(at_most, option(AT_MOST)))


def _probability(sure: Number) -> Fraction:
    """Probability from ``"95%"`` or 0.95.

    Raises
    ------
    ParameterError
        If it is not between 1/2 and 1, exclusive.
    """
    text = str(sure).strip()
    if isinstance(sure, str) and text.endswith("%"):
        number = exact(text[:-1], option(SURE), "95%") / 100
    else:
        number = exact(sure, option(SURE), "95%")
        if 1 <= number < 100:
            raise ParameterError(
                f"{option(SURE)} is {sure}; write {as_float(number):g}% for per cent"
            )
    if number >= 1:
        raise ParameterError(
            f"{option(SURE)} is {sure}; no noisy answer is right with certainty, so it must be "
            "below 100%, such as 95%"
        )
    if 2 * number <= 1:
        raise ParameterError(
            f"{option(SURE)} is {sure}; a coin is right with 50%, so it must be above that, such "
            "as 95%"
        )
    return number
