"""Tolerance of a query: how far the private answer may lie from the synthetic answer."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from pqd.deciders.errors import ParameterError, UnanswerableError
from pqd.deciders.exact import Number, as_float, positive
from pqd.deciders.options import option

_EXAMPLE = "10, or 5% of the answer"
# A share of all rows, in per cent.
_OF_ROWS = re.compile(r"(.*)%\s*of\s+(?:the\s+)?rows", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Tolerance ``tau``: an absolute amount in the query's unit, or a share of ``|q(Ds)|``.

    The ``relative`` tolerance of a distance or a score is a share of the rows.  With ``of_rows`` it
    is a share of the copy's rows, and not ``relative``.
    """

    amount: Fraction
    relative: bool
    text: str
    of_rows: bool = False

    @classmethod
    def parse(cls, tau: Number | None) -> Tolerance:
        """Tolerance from ``10``, ``"3.2%"`` or ``"0.1% of rows"``.

        Raises
        ------
        ParameterError
            If the amount is not above 0, or a share of the rows is not below 1.
        """
        if tau is None:
            raise ParameterError(
                f"{option('--tau')} is missing; give it a value such as 10 or 3.2%"
            )
        text = str(tau).strip()
        if isinstance(tau, str) and (of_rows := _OF_ROWS.fullmatch(text)):
            amount = positive(of_rows[1], "tau", "0.1% of rows") / 100
            if amount >= 1:
                raise ParameterError(f"tau is {text!r}; a share of the rows must be below 100 %")
            return cls(amount, relative=False, text=text, of_rows=True)
        if isinstance(tau, str) and text.endswith("%"):
            if "," in text:
                advice = f"write a decimal point: {text.replace(',', '.')}"
                raise ParameterError(f"tau is {text!r}; {advice}")
            if not text[:-1].strip():
                raise ParameterError(f"tau is {text!r}; write a number before the sign, such as 5%")
            return cls(positive(text[:-1], "tau", _EXAMPLE) / 100, relative=True, text=text)
        return cls(positive(tau, "tau", _EXAMPLE), relative=False, text=text)

    @property
    def share(self) -> Fraction:
        """Tolerance of a distance, which is a share of the rows."""
        return self.share_of("a distance")

    def share_of(self, measured: str) -> Fraction:
        """Tolerance of what is ``measured``, a share of the rows.

        Raises
        ------
        ParameterError
            If the tolerance is an amount, which means rows where a query counts them, or if the
            share is >= 1.
        """
        if not (self.relative or self.of_rows):
            share = f"{as_float(100 * self.amount):g}" if self.amount < 1 else self.text
            raise ParameterError(
                f"tau is {self.text}; {measured} is a share of the rows, so write it in per cent: "
                f"{share}%"
            )
        if self.amount >= 1:
            raise ParameterError(
                f"tau is {self.text}; {measured} is a share of the rows, so tau must be below "
                "100%, such as 5%"
            )
        return self.amount

    def of(self, answer: Fraction, every: Fraction | None = None) -> Fraction:
        """Tolerance in the query's unit around the synthetic ``answer``.

        ``every`` is the answer if all rows of the copy match; None if the query counts no rows.

        Raises
        ------
        UnanswerableError
            If the tolerance is a share of an answer that is 0, or of no rows.
        ParameterError
            If the tolerance is a share of the rows, and the query counts no rows.
        """
        if self.of_rows:
            if every is None:
                raise ParameterError(
                    f"tau is {self.text}, but the answer is no number of rows; give an amount such "
                    "as 10, or a share of the answer such as 5%"
                )
            if not every:
                raise UnanswerableError(f"tau is {self.text}, but the copy has no row")
            return self.amount * every
        if not self.relative:
            return self.amount
        if answer == 0:
            raise UnanswerableError(
                f"tau is {self.text} of the synthetic answer, which is 0; check the WHERE (text is "
                "case-sensitive), or give tau as an amount instead, such as 10, or of a COUNT as a "
                "share of the rows, such as '0.1% of rows'"
            )
        return self.amount * abs(answer)
