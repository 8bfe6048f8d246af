"""Root of every error that pqd raises on purpose."""

import re

# Words and lines longer than this quote a caller's input, for example a number of 10,000 digits.
_WORD, _LINE = re.compile(r"\S{301,}"), re.compile(r".{1001,}")


class PqdError(Exception):
    """Refusal by pqd; its message says what was found, what is allowed and what to do next.

    ``exit_code`` is the exit code of the command line.
    """

    exit_code = 2

    def __init__(self, message: str = "") -> None:
        """Keep the message, cut to a length that can be read."""
        super().__init__(readable(message))


class ParameterError(PqdError, ValueError):
    """Public parameter (tolerance, budget, bound, field of a decider) outside its allowed range."""


class UnanswerableError(ParameterError):
    """Query without a public answer to compare with, or without a decider that fits.

    Only this query is refused; the other queries of a run are answered.
    """


class DeciderError(PqdError, ValueError):
    """Decider that cannot decide the query (another aggregate, a negative lattice)."""


def readable(message: str) -> str:
    """Message in which each long word or line loses its middle, because it quotes a caller."""
    shorter = _WORD.sub(lambda word: _ends(word[0], 60, 20), message)
    return _LINE.sub(lambda line: _ends(line[0], 600, 300), shorter)


def _ends(text: str, first: int, last: int) -> str:
    return f"{text[:first]}...{text[-last:]}"
