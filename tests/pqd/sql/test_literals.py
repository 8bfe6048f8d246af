"""Literals: a tree made from a shape is the tree of the text."""

import sqlglot
from hypothesis import example, given
from hypothesis import strategies as st

from pqd.sql.literals import as_double, condition_tree, tokens
from tests.support.drawing import examples

LITERALS = ["0.0e0", "6.9e1", "1e+16", "'a'", "'O''Brien'", "''", "'%'", "738150294001.0e0"]
literals = st.sampled_from(LITERALS)
conditions = st.one_of(
    st.builds('("age" >= {})'.format, literals),
    st.builds('(NOT ("age" BETWEEN {} AND (-{})))'.format, literals, literals),
    st.builds('("name" IN ({}, {}, {}))'.format, literals, literals, literals),
    st.builds('("born" < CAST({} AS TIMESTAMP))'.format, literals),
    st.builds('(SUBSTRING("name", 1, 2) = {})'.format, literals),
    st.builds('("na""me" LIKE {} ESCAPE \'!\')'.format, literals),
)


@examples(200)
@given(conditions)
@example('"738150294000" = 5')
@example("a = 'half' 'done'")
@example("TRUE")
def test_a_tree_made_from_a_shape_is_that_of_the_text(sql: str) -> None:
    assert condition_tree(sql) == sqlglot.condition(sql, dialect="duckdb")


def test_trees_of_one_shape_are_several() -> None:
    first, second = condition_tree('("age" >= 1.0e0)'), condition_tree('("age" >= 2.0e0)')
    assert "1.0" in first.sql()
    assert "2.0" in second.sql()


def test_what_is_not_plain_has_no_tokens() -> None:
    unusual = ["a ? b", "/* a */ b", "E'a'", "'a''", "'a'b", "5a", ".5", "5.", "1_000", "$1", "é"]
    assert [tokens(sql) for sql in [*unusual, "'\ud800'"]] == [None] * 12


def test_a_number_beyond_the_doubles_is_none() -> None:
    assert as_double("9e999") is None
    assert as_double("1e16") == "1e+16"
    assert as_double("007") == "7.0e0"
    assert as_double("'007'") == "'007'"
