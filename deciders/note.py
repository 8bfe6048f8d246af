"""Notes: facts that a reader must know beside the figures; they are values until they are shown.

A note is a code with public facts.  Its sentence is made by the function of that code in
``reports/text/notes.py``.  This module has no sentences.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

# Codes of notes that are shown before anything is spent, and that are errors under --strict.
WARNINGS = frozenset(
    {
        "alpha-wide",
        "cells-misfit",
        "coarse-cells",
        "delta-large",
        "epsilon-large",
        "estimator-unfit",
        "header-missing",
        "metadata-beside-both",
        "metadata-not-used",
        "nearly-independent",
        "other-size",
        "person-key",
        "tau-amount",
        "tau-wide",
        "text-not-read",
        "text-unknown",
        "texts-unknown",
    }
)
# Text that begins each warning that is shown.
WARNING = "Warning: "
# Sentence of each code, as a function of the note's facts.
SENTENCES: dict[str, Callable[..., str]] = {}


@dataclass(frozen=True, slots=True)
class Note:
    """Code with its facts: names, exact numbers, tuples of these, or other notes."""

    code: str
    facts: tuple[tuple[str, object], ...]

    @property
    def warns(self) -> bool:
        """Whether the note is shown before anything is spent."""
        return self.code in WARNINGS

    @property
    def sentence(self) -> str:
        """Sentence of the note, or its code if no sentences are loaded."""
        spell = SENTENCES.get(self.code)
        return spell(**dict(self.facts)) if spell else self.code

    def __str__(self) -> str:
        """Sentence of the note, marked if the note is a warning."""
        return f"{WARNING}{self.sentence}" if self.warns else self.sentence


def note(code: str, **facts: object) -> Note:
    """Note of ``code``; the facts are keywords of the function with that name."""
    return Note(code, tuple(facts.items()))


def sentence(function: Callable[..., str]) -> Callable[..., str]:
    """Mark ``function`` as the sentence of a code; ``tau_wide`` is the function of ``tau-wide``."""
    SENTENCES[function.__name__.replace("_", "-")] = function
    return function
