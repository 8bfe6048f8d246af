"""Notes of a run: what a reader must know beside the verdicts; functions of public facts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from pqd.deciders.errors import readable
from pqd.reports.text.numbers import epsilon_text, number_text, share_text
from pqd.reports.text.words import counted, listed

if TYPE_CHECKING:
    from pqd.reports.models.refusals import QueryRefusal


def kind_note(column: str, kind: str, table: str, as_kind: str, first: str) -> str:
    """Note that a column is of another kind in one synthetic table than in the first."""
    return (
        f'"{column}" is {kind} in {table} and counts as {as_kind}, as in {first}; cells that do '
        "not convert are NULL."
    )


_MOST_NAMES = 6


def kinds_note(table: str, kinds: Mapping[str, str]) -> str:
    """Note on the kinds of columns, by name, that were taken from a synthetic table."""
    alike: dict[str, list[str]] = {}
    for column, kind in kinds.items():
        alike.setdefault(kind, []).append(column)
    told = [f"{_first_names(columns)} ({kind})" for kind, columns in alike.items()]
    return (
        f"Kinds are those of {table} where none is stated: {', '.join(told)}. Private cells that "
        "do not read as their kind are NULL."
    )


def _first_names(names: Sequence[str]) -> str:
    if len(names) <= _MOST_NAMES + 1:
        return ", ".join(names)
    return f"{', '.join(names[:_MOST_NAMES])} and {len(names) - _MOST_NAMES:,} more"


# Ways to write a number or a day that no kind reads, and what to write instead.
COMMA, DAY_FIRST = "with a decimal comma", "with the day first"
_REMEDIES = {COMMA: "write 1234.5", DAY_FIRST: "write 1980-12-24"}
_ONE = {"number": "number", "time": "day or time", "boolean": "truth (true, false)", "text": "text"}
_MOST_SIGNS = 40


def unfit_cells(column: str, kind: str, table: str, cells: int, unfit: int) -> str:
    """Words on cells of a synthetic table that are NULL, since they are not of a kind."""
    if cells == unfit:
        which = f"none of its {cells:,} cells in {table} reads as a {_ONE[kind]}: all would be NULL"
    else:
        which = f"{unfit:,} of its {cells:,} cells in {table} read as no {_ONE[kind]}: NULL"
    return f'"{column}" counts as {kind}, but {which}'


def example_text(example: str, way: str) -> str:
    """Example of a cell of a synthetic table, with what it is and what to write instead."""
    short = example if len(example) <= _MOST_SIGNS else f"{example[:_MOST_SIGNS]}..."
    return f", such as {short!r}" + (f" {way}: {_REMEDIES[way]}" if way else "")


def text_note(column: str, table: str, way: str, example: str) -> str:
    """Note that a column is text, since its numbers or days are written as no kind reads them."""
    what = "numbers" if way == COMMA else "days"
    return (
        f'"{column}" is text in {table}: its {what} are written {way}, such as {example!r}; '
        f"{_REMEDIES[way]} in all tables to have {what}."
    )


def unit_note(table: str, column: str) -> str:
    """Note that a synthetic table lacks the column of the privacy unit."""
    return f'{table} has no "{readable(column)}": each of its rows counts as one person.'


def stated_bounds_note(stated: Mapping[str, str], *, snapped: bool) -> str:
    """Note that values outside stated bounds, by attribute, count as their ends."""
    between = ", and between two steps as the nearer one" if snapped else ""
    outside = listed([f"{what} outside {bounds}" for what, bounds in stated.items()])
    return f"Values of {outside}, as stated, count as its ends{between}."


Bounds = Mapping[str, Iterable[str]]
# Of an attribute whose bounds differ by query, as many are told.
_MOST_SPANS = 3
_OUTSIDE = (
    "values outside count as its ends, and between two steps as the nearer one. State bounds "
    "(--bounds, or [columns.NAME] in a spec) if private values may lie outside."
)


def copy_bounds_note(of_copy: Bounds) -> str:
    """Note that bounds, by attribute, are those of the synthetic table."""
    return (
        f"SUM and AVG are of {_within(of_copy)}, which are the bounds of the synthetic table: "
        f"{_OUTSIDE}"
    )


def widened_bounds_note(widened: Bounds) -> str:
    """Note that bounds, by attribute, reach beyond those of the synthetic table."""
    return (
        f"AVG is of {_within(widened)}: the bounds of the synthetic table, widened beyond the "
        f"tolerance, so that a private mean may lie outside the tolerance; {_OUTSIDE}"
    )


def _within(bounds: Bounds) -> str:
    """Attributes with their bounds; of queries that differ with the first of theirs."""
    return listed([f"{what} within {_spans(list(spans))}" for what, spans in bounds.items()])


def _spans(spans: Sequence[str]) -> str:
    others = len(spans) - _MOST_SPANS
    more = [f"{others:,} more that follow from a query's own tolerance"] if others > 0 else []
    return " or ".join([*spans[:_MOST_SPANS], *more])


def beyond_bounds_note(queries: Sequence[str], attribute: str, bounds: str) -> str:
    """Note that the tolerance of queries reaches beyond stated bounds."""
    return (
        f"{_first_names(queries)}: the tolerance reaches beyond the stated bounds of "
        f"{attribute}, {bounds}; an answer beyond them looks like one at them."
    )


def alone_note(queries: int, epsilon: Fraction) -> str:
    """Note on the equal share of queries that are answered each by itself."""
    share = epsilon_text(epsilon)
    if queries == 1:
        return f"1 query answered by itself, at epsilon {share}."
    return (
        f"{queries:,} queries answered each by itself, at epsilon {share} per query; where a "
        "sufficient epsilon is named, it is per query as well."
    )


def group_text(name: str, queries: int, epsilon: Fraction | None = None) -> str:
    """Queries that sum up one thing, with the budget of all of them together."""
    text = f"{name}: {counted(queries, 'query', 'queries')}"
    if epsilon is None:
        return text
    return f"{text} at epsilon {epsilon_text(epsilon)}{' in all' if queries > 1 else ''}"


def not_together_note(group: str, reason: str) -> str:
    """Note why queries that sum up one thing are answered each by itself."""
    return f"{group}, each by itself. {reason}"


def one_by_one_note(group: str, reason: str) -> str:
    """Note why no mechanism was considered that tells row classes apart."""
    return f"{group}: counted query by query only, as {reason}."


def weighing_note(group: str, scores: Sequence[tuple[str, float]], *, together: bool) -> str:
    """Note how a group is answered, and what share of all verdicts each way gets wrong.

    ``scores`` begin with the way taken.
    """
    (taken, least), *others = [(name, share_text(score)) for name, score in scores]
    against = ", ".join(f"{score} {name}" for name, score in others)
    how = f"{group}, in one batch {taken}" if together else f"{group}, {taken}"
    return (
        f"{how}. Simulated on public data, with true gaps from 0 to 2 tau, {least} of the "
        f"verdicts are wrong; other ways: {against}."
    )


def weak_batch_note(batch: str) -> str:
    """Note that the answers of a batch err by half their size or more."""
    return (
        f"{batch}: the simulated error is at least half the size of the answers: "
        "at this epsilon they say little; use fewer queries, or raise epsilon."
    )


def row_classes_refused_note(batch: str, reason: str) -> str:
    """Note why mechanisms with row classes were passed over."""
    return (
        f"{batch}: of all mechanisms only those were weighed that need no row classes, as {reason}."
    )


def open_conditions_note(batch: str, conditions: Sequence[str]) -> str:
    """Note that what can hold together is known from synthetic rows alone."""
    more = f" and {len(conditions) - 3:,} more" if len(conditions) > 3 else ""
    return (
        f"{batch}: what can hold together of {', '.join(conditions[:3])}{more} is "
        "known from synthetic rows alone; a private row that combines these otherwise "
        "counts as meeting none of them."
    )


def reweighted_note(rows: int, table: str, gaps: Sequence[tuple[str, float]]) -> str:
    """Note on a corrected copy: its rows, and how far its answers are from those released."""
    words = ", ".join(f"{batch} by {number_text(gap, 3)}" for batch, gap in gaps)
    return (
        f"The table has {rows:,} rows, drawn from {table} so that it answers as was "
        f"released; on average its answers differ from those in {words}."
    )


def written_note(file: str, note: str) -> str:
    """Note on a file that was written."""
    return f"{file}: {note}"


def not_written_note(reason: str) -> str:
    """Note that a file could not be written, after all was paid for."""
    return f"{reason}. In a repeated run the answers cost nothing."


def references_note(marginals: str, epsilon: Fraction, first: str) -> str:
    """Note on how the references were made."""
    return (
        f"{marginals}: every column of the queries by itself, released at epsilon "
        f"{epsilon_text(epsilon)} in all; resampled: rows of {first} drawn anew."
    )


_MOST_NAMED = 3


def refused_sentence(refused: Sequence[QueryRefusal]) -> str:
    """Number of queries that were not asked, empty if all were."""
    number = len(refused)
    if not number:
        return ""
    return f"{number:,} {'query was' if number == 1 else 'queries were'} not asked and cost nothing"


def refused_lines(refused: Sequence[QueryRefusal]) -> Iterator[str]:
    """Line per query that was not asked, groups of one reason together."""
    alike: dict[tuple[str, str], list[str]] = {}
    for each in refused:
        alike.setdefault((each.block or each.id, each.reason), []).append(each.group or "")
    for (name, reason), groups in alike.items():
        yield f"{name}{_named(groups)}: {reason}"


def _named(groups: Sequence[str]) -> str:
    known = [group for group in groups if group]
    if not known:
        return ""
    more = len(known) - _MOST_NAMED
    return f" ({'; '.join(known[:_MOST_NAMED])}{f' and {more:,} more' if more > 0 else ''})"


def refused_lead(refused: Sequence[QueryRefusal]) -> str:
    """The same as the end of a paragraph."""
    sentence = refused_sentence(refused)
    return f" {sentence}." if sentence else ""


# What such a note begins with.
WARNING = "Warning: "


def wide_tolerance(tolerance: str) -> str:
    """Warning of a tolerance of 100 % or more."""
    return (
        f"tau {tolerance} admits an answer of 0 as well as one twice as large; most want a few "
        "per cent."
    )


def narrow_tolerance(tolerance: str) -> str:
    """Warning of a tolerance of less than one row of a count."""
    return (
        f"tau {tolerance} is less than one row of a count, so that only the very same count is "
        "within; for a share of the answer write it in per cent, such as 5%."
    )


def wide_alpha(alpha: Fraction) -> str:
    """Warning of an error probability above one half."""
    return (
        f"alpha {number_text(alpha)} accepts a verdict that is more often wrong than "
        "right; 0.05 is usual."
    )


def large_budget(epsilon: Fraction) -> str:
    """Warning of a budget that protects hardly anybody."""
    return (
        f"epsilon {epsilon_text(epsilon)} protects hardly anybody: odds about a person may "
        "change by a factor of more than 22,000; 1 or less is usual."
    )


def large_delta(delta: Fraction) -> str:
    """Warning of a delta at which a run may show what it should hide."""
    return (
        f"delta {number_text(delta)} is the probability that privacy fails altogether; less than "
        "one over the number of people is usual, such as 1e-6."
    )


def unfit_estimator(estimator: str, queries: Sequence[str]) -> str:
    """Warning of queries that an estimator does not fit, although it is named."""
    does = "does" if len(queries) == 1 else "do"
    return (
        f"estimator {estimator} does not fit {_first_names(queries)}, which {does} with the one "
        "that auto takes."
    )


def unknown_constant(column: str, constant: str, tables: str, nearest: str) -> str:
    """Warning of a text or number that a column never holds; a text is quoted."""
    return (
        f'"{column}" is never {readable(constant)} in {tables}; the nearest that it holds is '
        f"{nearest}."
    )


def unknown_constants(column: str, first: Sequence[str], others: int, tables: str) -> str:
    """Warning of many texts or numbers that a column never holds, the ``first`` of them named."""
    return (
        f'"{column}" is never {readable(", ".join(first))} or any of {others:,} other values that '
        f"it is compared with, in {tables}."
    )


def person_key(column: str, table: str) -> str:
    """Warning of a key of a person that repeats, without a unit."""
    return (
        f'"{column}" looks like the key of a person and repeats in {table}, but each row is '
        f"protected by itself; if a person has several rows, state --unit {column}."
    )


def header_missing(table: str, names: Sequence[str]) -> str:
    """Warning that a synthetic table seems to lack its header."""
    cells = ", ".join(map(repr, names))
    return (
        f"columns of {table} have names that are values of theirs ({cells}): does the file lack a "
        "header? The first line of every table must name its columns."
    )
