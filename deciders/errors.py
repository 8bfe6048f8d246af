"""The root of every error that the three packages raise on purpose."""

import re

# A longer word or line of a message holds what a caller gave: a number of 10,000 digits, a text.
_WORD, _LINE = re.compile(r"\S{301,}"), re.compile(r".{1001,}")


class PqdError(Exception):
    """Any refusal by pqd: the message says what was found, what is allowed and what to do next.

    ``exit_code`` is the process exit code of the command line.
    """

    exit_code = 2

    def __init__(self, message: str = "") -> None:
        """Keep the message, cut to a length that can be read."""
        super().__init__(readable(message))


class ParameterError(PqdError, ValueError):
    """Public parameter (tolerance, budget, bound, decider field) is outside its allowed range."""


class UnanswerableError(ParameterError):
    """Query that public data give nothing to hold against, or no decider that fits.

    It is refused alone: the other queries of a run are answered.
    """


class DeciderError(PqdError, ValueError):
    """Decider was asked for something that it cannot decide (aggregate, negative lattice)."""


def readable(message: str) -> str:
    """Message whose long words and lines lack their middle, in which a caller's text is quoted."""
    shorter = _WORD.sub(lambda word: _ends(word[0], 60, 20), message)
    return _LINE.sub(lambda line: _ends(line[0], 600, 300), shorter)


def _ends(text: str, first: int, last: int) -> str:
    return f"{text[:first]}...{text[-last:]}"
