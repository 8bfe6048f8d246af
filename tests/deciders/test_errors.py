"""What a caller gave is quoted in a message at a length that can be read."""

import pytest

from pqd.deciders.errors import PqdError, readable

LONG = [
    ("9" * 10_000, f"{'9' * 60}...{'9' * 20}"),
    ("'" + "a b " * 3_000 + "'; write it anew", "write it anew"),
]


@pytest.mark.parametrize(("given", "kept"), LONG)
def test_a_long_text_lacks_its_middle(given: str, kept: str) -> None:
    message = f"tau is {given}\nof 5 rows"
    for shown in (readable(message), str(PqdError(message))):
        first, last = shown.splitlines()
        assert first.startswith("tau is ")
        assert kept in first
        assert len(first) < 1_000
        assert last == "of 5 rows"


@pytest.mark.parametrize(
    "message", ["", "a path " + "x" * 290, "word " * 190 + "\n" + "word " * 190]
)
def test_what_can_be_read_stays(message: str) -> None:
    assert readable(message) == message == str(PqdError(message))
