"""Every document has one sentence a line, and no line that a screen or a diff must cut."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LONGEST = 200
DOCUMENTS = [
    ROOT / name
    for folder in (
        ".",
        "docs",
        "docs/reference",
        "docs/decisions",
        "docs/experiments",
        "samples",
        "benchmarks",
    )
    for name in sorted(path.relative_to(ROOT) for path in (ROOT / folder).glob("*.md"))
]
HIDDEN = re.compile(r"`[^`]*`|\]\([^)]*\)")
# "**Lemma 1.** ..." and "*Proof.* ..." stay on the line of the sentence that they introduce.
RUN_IN = re.compile(r"\*\*[^*]+\*\*|\*[^*]+[.:]\*")
ABBREVIATION = re.compile(r"\b(?:[A-Z]|e\.g|i\.e|et al|eq|pp?|cf|vs|Def|Fig|No|Prop|Sec)\.")
SENTENCE_END = re.compile(r"[.?!][)\"*]* +(?:[A-Z`*]|pqd\b)")


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """Number and text of each line outside code, tables and headings."""
    fenced = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced and not line.startswith(("#", "|", "    ", "<")):
            yield number, line


def sentence_ends(line: str) -> int:
    """Number of sentences that end in a line before its end, outside parentheses."""
    text = re.sub(r"^\s*(?:[-*]|\d+\.) ", "", HIDDEN.sub("X", line))
    text = ABBREVIATION.sub("", RUN_IN.sub("", text))
    return sum(
        text.count("(", 0, end.start() + 1) <= text.count(")", 0, end.end())
        for end in SENTENCE_END.finditer(text)
    )


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_no_line_is_too_long(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    # A row of a table is one line; claims in the tables that a command writes are long.
    made = path.parent.name == "experiments" or path.name == "experiments.md"
    numbered = [(n, line) for n, line in enumerate(lines, 1) if not (made and line.startswith("|"))]
    assert [n for n, line in numbered if len(line) > LONGEST] == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_a_line_holds_one_sentence(path: Path) -> None:
    assert [f"{n}: {line}" for n, line in prose(path) if sentence_ends(line)] == []


@pytest.mark.parametrize(
    ("line", "ends"),
    [
        ("One sentence.", 0),
        ("One. Two.", 1),
        ("* **Lead.** One.", 0),
        ("*Proof.* By `a. B`, see Def. 3.2 (as in A. It holds.).", 0),
        ("Copies are. pqd does not look.", 1),
    ],
)
def test_the_rule(line: str, ends: int) -> None:
    assert sentence_ends(line) == ends
