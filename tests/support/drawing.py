"""How tests draw inputs: the same ones in every run; at random, and many more, in ``make fuzz``."""

import os
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from math import ceil, floor
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.internal import constants_ast
from hypothesis.internal.conjecture import providers

ROOT = Path(__file__).resolve().parents[2]
# How many times the usual number of examples; ``make fuzz`` says how many.
TIMES = int(os.environ.get("PQD_FUZZ", "1"))


def load() -> None:
    """Make Hypothesis depend on the test alone: on no chance, saved file, clock or load."""
    # How long an example takes depends on what else the machine does.
    common = settings(
        deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
    )
    settings.register_profile("same", common, derandomize=True)
    settings.register_profile("fuzz", common, derandomize=False)
    settings.load_profile("same")
    # By itself it draws from the constants of whichever modules happen to be loaded by then: that
    # differs with the order of tests and the processes that share them.
    providers._get_local_constants = constants


def examples(usual: int) -> settings:
    """Settings for ``usual`` examples in a test run, and many times as many in a fuzz."""
    return settings(max_examples=usual * TIMES)


def fractions(low: int | str, high: int | str, denominator: int) -> st.SearchStrategy[Fraction]:
    """Fractions from ``low`` to ``high`` with denominators up to ``denominator``, simplest first.

    The same as ``st.fractions`` draws, which takes many times as long.
    """
    ends = Fraction(low), Fraction(high)
    listed = {
        Fraction(numerator, below)
        for below in range(1, denominator + 1)
        for numerator in range(ceil(ends[0] * below), floor(ends[1] * below) + 1)
    }
    return st.sampled_from(sorted(listed, key=lambda each: (each.denominator, abs(each), each)))


def predicates_of(atoms: Sequence[str], leaves: int) -> st.SearchStrategy[str]:
    """Conditions in SQL made of up to ``leaves`` or so of ``atoms``."""
    return st.recursive(
        st.sampled_from(atoms).map("({})".format),
        lambda inner: st.one_of(
            st.builds("({} AND {})".format, inner, inner),
            st.builds("({} OR {})".format, inner, inner),
            st.builds("(NOT {})".format, inner),
        ),
        max_leaves=leaves,
    )


@cache
def constants() -> constants_ast.Constants:
    """Constants of the whole product, loaded or not, in a fixed order."""
    found = providers._local_constants
    for package in ("deciders", "reports", "pqd"):
        for path in sorted((ROOT / package).rglob("*.py")):
            found |= constants_ast._constants_from_source(path.read_bytes(), limit=True)
    return found
