"""The root of every error that the three packages raise on purpose."""

import re

# Words and lines beyond these lengths quote a caller's input: a number of 10,000 digits, a text.
_WORD, _LINE = re.compile(r"\S{301,}"), re.compile(r".{1001,}")


class PqdError(Exception):
    """Refusal by pqd: the message says what was found, what is allowed and what to do next.

    ``exit_code`` is the process exit code of the command line.
    """

    exit_code = 2

    def __init__(self, message: str = "") -> None:
        """Keep the message, cut to a length that can be read."""
        super().__init__(readable(message))


class ParameterError(PqdError, ValueError):
    """Public parameter (tolerance, budget, bound, decider field) is outside its allowed range."""


class UnanswerableError(ParameterError):
    """Query without a public answer to compare with, or without a decider that fits.

    Only this query is refused: the other queries of a run are answered.
    """


class DeciderError(PqdError, ValueError):
    """Decider cannot decide the query (another aggregate, a negative lattice)."""


def readable(message: str) -> str:
    """Message in which long words and lines lose their middle: they quote a caller's text."""
    shorter = _WORD.sub(lambda word: _ends(word[0], 60, 20), message)
    return _LINE.sub(lambda line: _ends(line[0], 600, 300), shorter)


def _ends(text: str, first: int, last: int) -> str:
    return f"{text[:first]}...{text[-last:]}"
