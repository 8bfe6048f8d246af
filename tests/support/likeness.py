"""Private tables that answer as a given copy does: a run refuses two tables that are the same."""

import pandas as pd


def like(copy: pd.DataFrame) -> pd.DataFrame:
    """``copy`` with a column of its own, which no query names."""
    return copy.assign(aside=1)
