"""An unknown keyword of a public function gets the one that was probably meant."""

import re
from typing import Any

import pytest

import pqd


@pytest.mark.parametrize(
    ("function", "keyword", "advice"),
    [
        ("profile", "epsilon", "write total_epsilon"),
        ("audit", "seed", "noise has no seed, since whoever knew it could take the noise off"),
        ("audit", "tolerance", "write tau"),
        ("audit", "colums", "write columns"),
        ("release", "epsilon", "write total_epsilon"),
        ("compare", "budget", "write total_epsilon"),
        ("plan", "unitt", "write unit"),
        ("check", "frobnicate", "it has spec, "),
        ("lint", "bounds", 'write columns={"age": {"bounds": (0, 120)}}'),
        ("audit", "bounds", 'write columns={"age": {"bounds": (0, 120)}}'),
        ("profile", "bounds", 'write facts={"age": {"bounds": (0, 120)}}'),
        ("profile", "types", 'write facts={"zip": {"type": "text"}}'),
        ("gate", "taus", "write tau"),
        ("release", "facts", 'write columns={"age": {"bounds": (0, 120)}}'),
        ("compare", "bounds", 'write facts={"age": {"bounds": (0, 120)}}'),
    ],
)
def test_an_unknown_keyword_gets_the_one_that_was_meant(
    function: str, keyword: str, advice: str
) -> None:
    expected = re.escape(f"pqd.{function} has no argument {keyword!r}; {advice}")
    with pytest.raises(TypeError, match=expected):
        getattr(pqd, function)("nowhere.csv", "copy.csv", **{keyword: 1})


def test_known_keywords_pass_and_the_signature_stays() -> None:
    with pytest.raises(pqd.PqdError, match=r"nowhere\.csv"):
        pqd.lint("nowhere.csv", columns={})
    assert pqd.profile.__doc__
    assert "total_epsilon" in pqd.profile.__annotations__


def test_a_simulation_that_is_called_as_a_command_gets_its_form() -> None:
    simulate: Any = pqd.simulate
    form = re.escape("; write pqd.simulate(pqd.audit, seed=3)(private, copy, queries, tau=")
    with pytest.raises(TypeError, match=f"^pqd.simulate: too many positional arguments{form}"):
        simulate("private.csv", "copy.csv", seed=3)
    with pytest.raises(TypeError, match=f"^pqd.simulate: .*'tau'{form}"):
        simulate(pqd.audit, seed=3, tau="5%")


def test_a_comparison_is_told_the_keyword_of_its_kind() -> None:
    compare: Any = pqd.compare
    columns = re.escape('write columns={"age": {"bounds": (0, 120)}}')
    call = "nowhere.csv", {"a": "copy.csv"}, "SELECT COUNT(*) FROM D"
    with pytest.raises(TypeError, match=f"has no argument 'bounds'; {columns}"):
        compare(*call, tau="5%", epsilon=1, bounds={"age": (0, 120)})
    with pytest.raises(pqd.PqdError, match=f"^facts is of a ranking .*; with queries {columns}$"):
        compare(*call, tau="5%", epsilon=1, facts={"age": {"bounds": (0, 120)}})
    price = re.escape("; with queries the price is epsilon=0.25, for each of them")
    with pytest.raises(pqd.PqdError, match=f"^total_epsilon is of a ranking .*{price}$"):
        compare(*call, tau="5%", total_epsilon=1)
