"""Names in messages."""

from pqd.deciders.names import near_hint, nearest_tables


def test_the_nearest_tables_are_told_with_their_schemas() -> None:
    known = {"public.visits": "visits", "old.visits": "visits", "public.Patients": "Patients"}
    assert nearest_tables("visit", known) == ["public.visits", "old.visits"]
    assert nearest_tables("PATIENTS", known) == ["public.Patients"]
    assert nearest_tables("zzz", known) == []
    assert near_hint([]) == ""
    assert near_hint(["a"]) == "; the nearest is a"
    assert near_hint(["a", "b"]) == "; the nearest are a, b"
