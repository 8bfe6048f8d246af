"""The date on reports; reproducible builds state it themselves."""

from __future__ import annotations

import os
from datetime import UTC, datetime

# Seconds since 1970: the convention of tools for reproducible files (reproducible-builds.org).
_STATED = "SOURCE_DATE_EPOCH"


def today() -> str:
    """Day in UTC, such as ``2026-11-23``; SOURCE_DATE_EPOCH of the environment takes precedence.

    Charges are not dated by it: the ledger reads the system's clock.
    """
    stated = os.environ.get(_STATED, "")
    try:
        moment = datetime.fromtimestamp(int(stated), UTC)
    except (ValueError, OverflowError, OSError):
        moment = datetime.now(UTC)
    return moment.date().isoformat()
