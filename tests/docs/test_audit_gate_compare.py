"""The story of audit, gate and compare shows what its commands print, but for the noise."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "audit-gate-compare.md"
BLOCK = re.compile(r"```console\n\$ (pqd .*?)```(?:\n+```text\n(.*?)```)?", re.DOTALL)
Command = Callable[..., tuple[int, str, str]]

# What noise may move: gaps with their intervals, and all that is said of one candidate.
GAP = re.compile(r"[-+][\d,]+ ±[\d,]+")
NOISY = re.compile(r"(\S+ )?(tree|flat|independent marginals|coarse)\b")


def told(text: str) -> list[str]:
    """Lines of ``text``: without gaps, and without lines that noise may make otherwise."""
    lines = [re.sub(r" +", " ", GAP.sub("GAP", line)).strip() for line in text.splitlines()]
    return [line for line in lines if line not in {"", "..."} and not NOISY.match(line)]


def not_printed(shown: str, printed: str) -> list[str]:
    """Lines that are shown and were not printed."""
    return [line for line in told(shown) if line not in told(printed)]


def test_the_story_is_told_as_it_happens(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    text = PAGE.read_text(encoding="utf-8")
    blocks = BLOCK.findall(text.replace("\\\n", ""))
    assert [bool(shown) for _, shown in blocks] == [False, True, True, True]
    printed = []
    for line, shown in blocks:
        words = [word for word in shlex.split(line)[1:] if not word.endswith(".html")]
        code, out, _ = command(*[word for word in words if word != "--html"])
        assert code == 0
        assert not_printed(shown, out) == []
        printed.append(out)
    (quoted,) = re.findall(r"`(Epsilon [^`]*)`", text)
    assert " ".join(printed[0].split()).startswith(f"{quoted} ")
    assert "An audit would cost epsilon 2.75 in total" in printed[0]
    assert re.search(r"^ +NO +q1 .* -1,2\d\d ±9 ", printed[1], re.MULTILINE)


def test_the_readme_shows_an_audit_as_it_is_printed(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(
        r"```console\n\$ \S*(pqd audit [^\n]*)\n```\n+```text\n(.*?)```", text, re.DOTALL
    )
    assert found
    line, shown = found.groups()
    code, out, _ = command(*shlex.split(line)[1:])
    assert code == 0
    assert len(told(shown)) == 6
    assert not_printed(shown, out) == []


@pytest.mark.parametrize(
    ("shown", "printed", "missing"),
    [
        ("  NO  q1  1,865  -1,257 ±9", "  NO  q1  1,865  -1,260 ±9", 0),
        ("  NO  q1  1,865  -1,257 ±9", "  NO  q1  1,866  -1,257 ±9", 1),
        ("  NO  q1  1,865  about 1,257", "  NO  q1  1,865  -1,257 ±9", 1),
        ("1 tree 58 % 7 5 0", "1 tree 50 % 6 6 0", 0),
        ("tree is better than flat and coarse.", "tree is better than flat.", 0),
        ("12 queries on 5 candidates", "12 queries on 4 candidates", 1),
        ("...\n\nPASSED: 4 passed.", "PASSED: 3 passed.", 1),
    ],
)
def test_what_counts_as_told(shown: str, printed: str, missing: int) -> None:
    assert len(not_printed(shown, printed)) == missing
