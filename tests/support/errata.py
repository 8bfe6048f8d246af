"""Text of docs/errata.md by number, for the tests that compute its numbers again."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "errata.md").read_text(encoding="utf-8")


def section(number: int | str) -> str:
    """Text of one erratum on one line; ``number`` is as on the page, such as 7 or "11.3"."""
    heading = rf"^### {re.escape(str(number))}\. .*?(?=^##|\Z)"
    found = re.search(heading, TEXT, flags=re.MULTILINE | re.DOTALL)
    assert found
    return " ".join(found.group().split())
