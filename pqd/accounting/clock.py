"""The day that reports bear; a build that must be the same again states it."""

from __future__ import annotations

import os
from datetime import UTC, datetime

# Seconds since 1970, as tools that make reproducible files agree on (reproducible-builds.org).
_STATED = "SOURCE_DATE_EPOCH"


def today() -> str:
    """Day in UTC, such as ``2026-11-23``; of the environment's SOURCE_DATE_EPOCH where it has one.

    No charge is dated by it: the ledger asks the system's clock.
    """
    stated = os.environ.get(_STATED, "")
    try:
        moment = datetime.fromtimestamp(int(stated), UTC)
    except (ValueError, OverflowError, OSError):
        moment = datetime.now(UTC)
    return moment.date().isoformat()
