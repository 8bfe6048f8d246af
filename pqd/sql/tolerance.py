"""Tolerance of a query: how far the private answer may lie from the synthetic answer."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from pqd.deciders.errors import ParameterError, UnanswerableError
from pqd.deciders.exact import Number, positive

_EXAMPLE = "10, or 5% of the answer"


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Tolerance ``tau``: an absolute amount in the query's unit, or a share of ``|q(Ds)|``."""

    amount: Fraction
    relative: bool
    text: str

    @classmethod
    def parse(cls, tau: Number | None) -> Tolerance:
        """Tolerance from ``10``, ``"10"`` or ``"3.2%"``; ParameterError unless it is above 0."""
        if tau is None:
            raise ParameterError("tau (--tau) is missing; give it a value such as 10 or 3.2%")
        text = str(tau).strip()
        if isinstance(tau, str) and text.endswith("%"):
            if not text[:-1].strip():
                raise ParameterError(f"tau is {text!r}; write a number before the sign, such as 5%")
            return cls(positive(text[:-1], "tau", _EXAMPLE) / 100, relative=True, text=text)
        return cls(positive(tau, "tau", _EXAMPLE), relative=False, text=text)

    @property
    def share(self) -> Fraction:
        """Tolerance of a distance as a share of the rows; ParameterError if the share is >= 1."""
        if self.amount >= 1:
            raise ParameterError(
                f"tau is {self.text}; a distance is a share of the rows, so tau must be below 1, "
                "such as 5% or 0.05"
            )
        return self.amount

    def of(self, answer: Fraction) -> Fraction:
        """Tolerance in the query's unit around the synthetic ``answer``.

        Raises
        ------
        UnanswerableError
            If the tolerance is a share of an answer that is 0.
        """
        if not self.relative:
            return self.amount
        if answer == 0:
            raise UnanswerableError(
                f"tau is {self.text} of the synthetic answer, which is 0; check the WHERE (text is "
                "case-sensitive), or give tau as an amount instead, such as 10"
            )
        return self.amount * abs(answer)
