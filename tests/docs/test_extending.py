"""The worked examples of docs/extending.md, in a copy of the code."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

Ran = tuple[int, str, str]
ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
BLOCK = re.compile(r'```(python|diff) title="([\w./]+)"\n(.*?)```', flags=re.DOTALL)
EXAMPLES = {
    section.partition("\n")[0]: BLOCK.findall(section) for section in TEXT.split("\n## ")[1:]
}
SAID = {
    "A decider": "em_count_capped ",
    "A decider of one's own, on an installed pqd": "capped (my-study 1.0) undecided leans yes",
    "A kind of report": "3 of 5 verdicts are yes",
    "A column of a report": " rivals ",
    "A format of reports": "budget\tquery\tcopy\ttolerance\t",
    "A standing of verdicts": "hopeful warning",
    "A source": "SELECT COUNT(*) FROM D WHERE age > 64 ",
    "A scanner": "('private', 2)",
}
FILES = re.compile(r"^A new [a-z ]+ is (\d) files?\b", flags=re.MULTILINE)


def changed(text: str, diff: str) -> str:
    """Text in which the lines of a diff are changed; what it leaves is there exactly once."""
    lines = diff.splitlines()
    before, after = (
        "\n".join(line[1:] for line in lines if not line.startswith(sign)) for sign in "+-"
    )
    assert text.count(before) == 1, diff
    return text.replace(before, after)


@pytest.mark.parametrize("example", SAID)
def test_an_example_runs(example: str, process: Callable[..., Ran], tmp_path: Path) -> None:
    left_out = shutil.ignore_patterns("__pycache__")
    for package in ("pqd", "reports", "deciders"):
        shutil.copytree(ROOT / package, tmp_path / package, symlinks=True, ignore=left_out)
    (tmp_path / "samples").symlink_to(ROOT / "samples")
    for language, name, code in EXAMPLES[example]:
        path = tmp_path / name
        text = path.read_text(encoding="utf-8") if path.exists() else None
        assert (text is None) == (language == "python"), name
        path.write_text(code if text is None else changed(text, code), encoding="utf-8")
    # The checkout is installed too: not one module may come from there.
    shown, path_of = "print(__import__('pqd').__file__)", str(tmp_path)
    assert process("-c", shown, cwd=tmp_path)[1].startswith(path_of)
    code, out, err = process("-c", "exec(open('use.py').read())", cwd=tmp_path)
    assert (code, err) == (0, "")
    assert SAID[example] in out


def test_every_example_is_tried() -> None:
    assert set(EXAMPLES) == set(SAID)


@pytest.mark.parametrize("example", SAID)
def test_the_number_of_files_is_told(example: str) -> None:
    (section,) = (part for part in TEXT.split("\n## ") if part.partition("\n")[0] == example)
    assert FILES.findall(section) == [
        str(len({name for _, name, _ in EXAMPLES[example]} - {"use.py"}))
    ]
