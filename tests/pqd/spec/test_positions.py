"""Where a table or key of a TOML text stands: the line that a reader would point at."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pqd.spec.positions import Places, Where
from tests.support.drawing import examples


def counted_headers(text: str) -> list[int]:
    """The broken twin: every line that looks like a header is one."""
    return [n for n, line in enumerate(text.splitlines(), 1) if line.strip() == "[[check]]"]


@pytest.mark.parametrize(
    "hidden",
    [
        '"""\n[[check]]\n"""',
        "'''\n[[check]]\n'''",
        '"""\n\\"""\n[[check]]\n""""',
        "[[\n'check'\n]]",
    ],
)
def test_a_header_inside_a_value_is_none(hidden: str) -> None:
    text = f"[[check]]\nsql = {hidden} # [[check]]\n[[check]]\nid = 'second'\n"
    assert len(tomllib.loads(text)["check"]) == 2
    places = Places(text)
    last = text.rstrip().count("\n")
    assert places.line(("check", 0)) == 1
    assert places.line(("check", 1)) == last
    assert places.line(("check", 1, "id")) == last + 1
    if "[[check]]" in hidden:
        assert counted_headers(text)[1] != last


def test_places_of_nested_and_quoted_names() -> None:
    text = (
        "a.'b c' = 1\n[x.\"y.z\"]\nk = 2\n[[l]]\n[l.sub]\nk = 1\n[[l]]\n[[l.deep]]\nk = 1\n"
        "[[l.deep]]\n  k = { q = 1 }\n"
    )
    places = Places(text)
    expected: dict[Where, int] = {
        ("a", "b c"): 1,
        ("x", "y.z"): 2,
        ("x", "y.z", "k"): 3,
        ("l", 0): 4,
        ("l", 0, "sub", "k"): 6,
        ("l", 1): 7,
        ("l", 1, "deep", 0, "k"): 9,
        ("l", 1, "deep", 1, "k", "q"): 11,
        ("nowhere",): 1,
        ("l", 1, "missing"): 7,
    }
    assert {where: places.line(where) for where in expected} == expected


scalars = st.sampled_from(
    [
        *("1", "-0.5", "'[x]'", '"a # \\" b"', "true", "1979-05-27T07:32:00Z", "{ k = '}' }"),
        *(
            "'''\n[a]\n[[check]]\nk = 1\n'''",
            '"""\n]\n\\""""',
            "[\n]",
            "[1, # ]\n 2]",
            "[[1], [2,\n3]]",
        ),
    ]
)


@examples(100)
@given(st.lists(st.lists(scalars, max_size=3), min_size=1, max_size=5))
def test_every_key_has_the_line_that_it_was_written_in(tables: list[list[str]]) -> None:
    text = ""
    expected: dict[Where, int] = {}
    for number, values in enumerate(tables):
        expected["check", number] = text.count("\n") + 1
        text += "[[check]] # [x]\n"
        for place, value in enumerate(values):
            expected["check", number, f"k{place}"] = text.count("\n") + 1
            text += f"k{place} = {value} # ' \"\n\n"
    assert len(tomllib.loads(text)["check"]) == len(tables)
    places = Places(text)
    assert {where: places.line(where) for where in expected} == expected
