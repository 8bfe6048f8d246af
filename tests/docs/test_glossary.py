"""One word for each concept: the glossary's words are in use, the words they replaced are not."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GLOSSARY = ROOT / "docs" / "glossary.md"
ENTRY = re.compile(r"^\* \*\*(.+?)\*\*.*\n(?:  .*\n)*", re.MULTILINE)
ENTRIES = {found[1]: found[0] for found in ENTRY.finditer(GLOSSARY.read_text(encoding="utf-8"))}
SOURCES = [
    path for package in ("pqd", "reports", "deciders") for path in (ROOT / package).rglob("*.py")
]
# Words that others stand for in the glossary, and words that name no thing.
REPLACED = {
    *(
        "asked",
        "asking",
        "priced",
        "task",
        "purse",
        "bill",
        "books",
        "affords",
        "drawable",
    ),
    *("company", "family", "families", "member", "members", "together", "beside", "waiting"),
    *("sharers", "contest", "rehearsal", "stage", "maker", "made"),
}


def names(path: Path) -> set[str]:
    """Words of the names of a module and of its types."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    types = [node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    words = {word.lower() for name in types for word in re.findall(r"[A-Z][a-z]+", name)}
    return words | set(path.stem.split("_"))


def test_the_glossary_is_short() -> None:
    assert 30 <= len(ENTRIES) <= 60
    assert [word for word, entry in ENTRIES.items() if entry.count("\n") > 2] == []


@pytest.mark.parametrize("word", ENTRIES)
def test_each_word_is_in_use(word: str) -> None:
    documents = [path for path in (ROOT / "docs").rglob("*.md") if path != GLOSSARY]
    pattern = re.compile(re.escape(word).replace(r"\ ", r"[\s_-]*"), re.IGNORECASE)
    assert any(
        pattern.search(path.read_text(encoding="utf-8"))
        for path in [*SOURCES, *documents, ROOT / "README.md"]
    )


def test_words_that_were_replaced_name_no_module_and_no_type() -> None:
    replaced = {str(path.relative_to(ROOT)): names(path) & REPLACED for path in SOURCES}
    assert {path: words for path, words in replaced.items() if words} == {}


def test_a_replaced_word_is_found(tmp_path: Path) -> None:
    bad = tmp_path / "purse_of_run.py"
    bad.write_text("class BatchMembers: ...\n", encoding="utf-8")
    assert names(bad) & REPLACED == {"purse", "members"}
