"""Problems of a spec: a code, a place, and a message for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from pqd.deciders import ParameterError
from pqd.errors import PqdError

_MOST_PROBLEMS = 20


class Code(StrEnum):
    """Kind of a problem."""

    UNREADABLE_FILE = "unreadable_file"
    NOT_TOML = "not_toml"
    NOT_A_SPEC = "not_a_spec"
    UNKNOWN_SECTION = "unknown_section"
    UNKNOWN_KEY = "unknown_key"
    UNKNOWN_NAME = "unknown_name"
    MISPLACED_KEY = "misplaced_key"
    MISSING_SECTION = "missing_section"
    MISSING_KEY = "missing_key"
    WRONG_TYPE = "wrong_type"
    INVALID_VALUE = "invalid_value"
    EMPTY_VALUE = "empty_value"
    DUPLICATE = "duplicate"
    CONTRADICTION = "contradiction"
    UNUSABLE_PATH = "unusable_path"
    NEVER_COUNTED = "never_counted"


class Place(NamedTuple):
    """Place in a spec file, such as line 7, section ``columns.age``, key ``bounds``.

    Lines are numbered from 1.  If the section is None, the place is the whole file; if the key is
    None, the place is the whole section.
    """

    section: str | None = None
    key: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Problem:
    """Mistake in a spec; programs read the code, and people read the message."""

    code: Code
    place: Place
    message: str


class SpecValueError(ParameterError):
    """Error for a value that a key cannot have."""

    def __init__(self, code: Code, message: str) -> None:
        """Store the code."""
        self.code = code
        super().__init__(message)


class SpecError(PqdError, ValueError):
    """Error for a spec file with problems: all in ``problems``, the first 20 in the message."""

    def __init__(self, file: str, problems: Sequence[Problem], lead: str = "") -> None:
        """Write a message with one line for each problem, in the order of the file.

        A ``lead`` is the first line; it says what all problems have in common.
        """
        self.problems = tuple(sorted(problems, key=lambda problem: problem.place.line or 0))
        lines = [f"{file}: {lead}"] if lead else []
        lines += [
            f"{_place_text(file, problem.place)}: {problem.message}"
            for problem in self.problems[:_MOST_PROBLEMS]
        ]
        if len(self.problems) > _MOST_PROBLEMS:
            lines.append(f"{file}: and {len(self.problems) - _MOST_PROBLEMS} more problems")
        super().__init__("\n".join(map(printable, lines)))


def _place_text(file: str, place: Place) -> str:
    return f"{file}, line {place.line}" if place.line else file


def printable(text: str) -> str:
    """Text in which line breaks, and characters that could disguise the text, are escaped."""
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text
    )
