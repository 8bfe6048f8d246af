"""Golden files: texts that are read in review, and rewritten by ``make golden``."""

from __future__ import annotations

import os
from pathlib import Path

REWRITING = "PQD_GOLDEN"


def matches_golden(path: Path, text: str) -> bool:
    """Whether ``path`` holds ``text``; with ``PQD_GOLDEN=write`` it does from then on."""
    if os.environ.get(REWRITING) == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")
    return path.is_file() and path.read_bytes() == text.encode()
