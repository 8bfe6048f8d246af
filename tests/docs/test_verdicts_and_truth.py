"""The page of verdicts has the true gaps of the samples, and verdicts as its command gives them."""

import importlib.util
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

import pqd

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "verdicts-and-truth.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (yes|\*\*NO\*\*|\?) \| ([\w-]+) \| (.+) \|$", re.MULTILINE)
ROWS = {name: (word, *cells.split(" | ")) for word, name, cells in ROW.findall(PAGE)}
SQL = {query.id: query.sql for query in pqd.read_queries(ROOT / "samples" / "office.sql")}


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_verdicts", ROOT / "docs/make_verdicts.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def number(text: str) -> float:
    return float(text.replace(",", "").lstrip("±"))


def test_the_page_has_every_query() -> None:
    assert ROWS.keys() == SQL.keys()


@pytest.mark.parametrize("name", ROWS)
def test_each_row_has_the_truth(name: str, maker: ModuleType) -> None:
    word, copy, within, said, truth, mark = ROWS[name]
    answers = [maker.exact(SQL[name], table) for table in (maker.PRIVATE, maker.COPY)]
    gap = answers[0] - answers[1]
    assert copy == f"{answers[1]:,.0f}"
    assert truth == maker.amount(gap)
    assert number(within) == pytest.approx(0.05 * answers[1], rel=1e-3, abs=0.5)
    outcome = {value: key for key, value in maker.WORDS.items()}[word]
    assert mark == maker.judged(outcome, gap, number(within))
    if " to " in said:
        low, high = map(number, said.split(" to "))
        assert low < gap < high, "the run on the page is one whose intervals all hold"


def test_the_command_gives_these_verdicts(
    command: Callable[..., tuple[int, str, str]],
    monkeypatch: pytest.MonkeyPatch,
    maker: ModuleType,
) -> None:
    monkeypatch.chdir(ROOT)
    (line,) = re.findall(r"^\$ pqd (.*)$", PAGE, re.MULTILINE)
    code, out, _ = command(*shlex.split(line), "--json", "-")
    assert code == 0
    verdicts = json.loads(out)["verdicts"]
    assert len(verdicts) == len(ROWS)
    for verdict in verdicts:
        word, _, _, _, truth, _ = ROWS[verdict["id"]]
        # Other noise may leave a close case undecided; what is decided is so on the page, too.
        assert (
            verdict["outcome"] == "undecided"
            or maker.WORDS[verdict["outcome"]] == word
            or (
                word == "?"
                and maker.judged(verdict["outcome"], number(truth), verdict["tau"]) == "right"
            )
        )
