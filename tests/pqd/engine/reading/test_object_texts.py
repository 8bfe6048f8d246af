"""Texts of Python's own moments and spans in a column of objects."""

from datetime import UTC, datetime, timedelta, timezone

import pandas as pd
import pytest

from pqd.engine.reading.object_texts import text_of

EAST = timezone(timedelta(hours=2))


@pytest.mark.parametrize(
    "moment",
    [
        datetime(2020, 1, 1, 14, 30, tzinfo=EAST),
        datetime(2020, 1, 1, 12, 30, tzinfo=UTC),
        datetime(1969, 12, 31, 23, 0, 0, 5, tzinfo=EAST),
    ],
)
def test_a_moment_of_a_zone_is_the_same_moment_as_in_pandas(moment: datetime) -> None:
    assert text_of(moment) == text_of(pd.Timestamp(moment)) == text_of(moment.astimezone(UTC))


def test_a_moment_without_a_zone_has_no_other_text_than_in_pandas() -> None:
    moment = datetime(2020, 1, 1, 12, 30, tzinfo=UTC).replace(tzinfo=None)
    assert text_of(moment) == text_of(pd.Timestamp(moment))
    assert text_of(moment) != text_of(moment.replace(tzinfo=UTC))
