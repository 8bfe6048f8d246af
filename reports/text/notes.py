"""Sentences of notes: one function for each code, with the facts of the note as keywords."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from pqd.deciders.errors import readable
from pqd.deciders.names import names_and_more, pasted
from pqd.deciders.note import Note, sentence
from pqd.deciders.options import option
from pqd.reports.models.relations import Independence
from pqd.reports.text.numbers import counted, epsilon_text, listed, number_text, share_text
from pqd.reports.text.relations import independence_sentence

if TYPE_CHECKING:
    from pqd.reports.models.refusals import QueryRefusal


@sentence
def kind_differs(column: str, kind: str, table: str, as_kind: str, first: str) -> str:
    """Note that a column's kind in one synthetic table differs from its kind in the first."""
    return (
        f'"{column}" is {kind} in {table} and counts as {as_kind}, as in {first}; cells that do '
        "not convert are NULL."
    )


_MOST_NAMES = 6


@sentence
def kinds_of_copy(table: str, kinds: Sequence[tuple[str, str]]) -> str:
    """Note that a synthetic table gave kinds to columns; ``kinds`` are pairs (column, kind)."""
    by_kind: dict[str, list[str]] = {}
    for column, kind in kinds:
        by_kind.setdefault(kind, []).append(f'"{column}"' if " " in column else column)
    named = [f"{_first_names(columns)} ({kind})" for kind, columns in by_kind.items()]
    return (
        f"Kinds of columns come from {table}: {', '.join(named)}. Private cells that do not fit "
        "their kind count as missing."
    )


def _first_names(names: Sequence[str]) -> str:
    if len(names) <= _MOST_NAMES + 1:
        return ", ".join(names)
    return f"{', '.join(names[:_MOST_NAMES])} and {len(names) - _MOST_NAMES:,} more"


# Ways to write a number or a day that cannot be read, and what to state.
_WAYS = {
    "comma": "with a decimal comma",
    "thousands": "with a comma between thousands",
    "day-first": "with the day first",
}
_REMEDIES = {
    "comma": "--decimal ,",
    "thousands": "--thousands ,",
    "day-first": "--dates %d.%m.%Y",
}
_ONE = {"number": "number", "time": "day or time", "boolean": "truth (true, false)", "text": "text"}
_MOST_SIGNS = 40


@sentence
def cells_misfit(
    column: str, kind: str, table: str, cells: int, unfit: int, example: str, way: str
) -> str:
    """Warning that some cells of a column do not fit its kind and therefore count as NULL."""
    return (
        f'"{column}" counts as {kind}, but {unfit:,} of its {cells:,} cells in {table} read as no '
        f"{_ONE[kind]}: NULL{_example(example, way)}."
    )


@sentence
def coarse_cells(copy: str, columns: Sequence[str]) -> str:
    """Warning that a copy is compared in far fewer cells than another copy."""
    return (
        f"{copy} is compared in less than half as many cells as another copy: "
        f"{_first_names(columns)}. Few cells flatter. {option('--cells')} or "
        f"{option('--cells-from TABLE')} give all copies the same cells."
    )


@sentence
def risk_of_part(rows: int, copy: int) -> str:
    """Note that the nearest rows are found in a part of the copy."""
    return (
        f"The nearest rows are found among {rows:,} of the copy's {copy:,} rows, which its content "
        "chooses; a leak of one of the others shows in copied rows and in singling out alone."
    )


@sentence
def risk_rows_unstated(copy: int, options: tuple[str, ...], *, persons: bool = False) -> str:
    """Note that a plan of a risk report takes the copy's number of rows or persons for others'."""
    return (
        f"Where no number of {'persons' if persons else 'rows'} is stated, the plan takes that of "
        f"the copy, {copy:,}; state {listed([*map(option, options)])} where that may be published."
    )


@sentence
def no_cell_fits(column: str, kind: str, table: str, cells: int, example: str, way: str) -> str:
    """Error that no cell of a column of a synthetic table fits the column's kind."""
    return (
        f'"{column}" counts as {kind}, but none of its {cells:,} cells in {table} reads as a '
        f"{_ONE[kind]}: all would be NULL{_example(example, way)}; mend the table, or state "
        f"another kind ({option('--type')})"
    )


def _example(example: str, way: str) -> str:
    """Example cell; if ``way`` is known, how the cell is written and what to write instead."""
    short = example if len(example) <= _MOST_SIGNS else f"{example[:_MOST_SIGNS]}..."
    return f", such as {short!r}" + (
        f" {_WAYS[way]}: {option(_REMEDIES[way])} reads it in CSV" if way else ""
    )


@sentence
def text_not_read(column: str, table: str, way: str, example: str, options: Sequence[str]) -> str:
    """Note that a column would be compared as text, because its numbers or days are not read."""
    kind = option(f"--type {pasted(column, '=text')}")
    texts = f"{kind} to compare texts"
    if way == "odd":
        reason = f"its cells are numbers but for a few, such as {example!r}"
    else:
        reason = f"{_IN_FORM[way]}, such as {example!r}"
    if options:
        # A comma behind an option would be taken for a part of its value, as in ``--decimal ,``.
        remedy = f"state {' or '.join([*map(option, options), texts])}"
    else:
        remedy = f"{_INSTEAD[way]} in all tables, or state {texts}"
    return f'"{column}" is text in {table}: {reason}; {remedy}.'


_IN_FORM = {
    "numbers": "its numbers are written in another form",
    "signs": "its numbers have a sign",
    "days": "its days are written in another form",
}
_INSTEAD = {
    "numbers": "write 1234.5",
    "signs": "leave the sign out",
    "days": "write 1980-12-24",
    "odd": "make them NULL",
}


@sentence
def cells_missing(table: str, cells: Sequence[tuple[str, int]]) -> str:
    """Note on cells of a copy whose texts mean that they are missing; ``cells`` counts each."""
    counts = ", ".join(f"{text} ({number:,})" for text, number in cells[:_MOST_NAMES])
    number = sum(number for _, number in cells)
    none_usual = option("--missing ''")
    return (
        f"{number:,} cells of {table} count as missing: {counts}. Such cells of the private table "
        "do, too, where it is text (an empty text sets the usual ones aside: "
        f"{none_usual})."
    )


@sentence
def texts_missing(texts: Sequence[str]) -> str:
    """Note on the texts that mean a missing cell in a private table of delimited text."""
    return f"Private cells count as missing if they are empty or hold one of: {', '.join(texts)}."


@sentence
def unit_missing(table: str, column: str) -> str:
    """Note that a synthetic table lacks the column of the privacy unit."""
    return f'{table} has no "{readable(column)}": each of its rows counts as one person.'


@sentence
def bounds_stated(bounds: Sequence[tuple[str, str]], *, snapped: str) -> str:
    """Note that values outside the stated bounds of an attribute count as the nearer bound.

    ``snapped`` are the aggregates that also move a value between two steps, ``all`` of the run's.
    """
    within = "" if snapped == "all" else f" in {snapped}"
    between = f", and{within} between two steps as the nearer one" if snapped else ""
    outside = listed([f"{what} outside {ends}" for what, ends in bounds])
    return f"Values of {outside}, as stated, count as the nearest end{between}."


# Pairs of an attribute and all bounds that it has in some query.
Bounds = Sequence[tuple[str, Sequence[str]]]
# The most bounds that a note lists for one attribute.
_MOST_SPANS = 3


def _outside() -> str:
    return (
        "values outside count as the nearest one inside. State bounds "
        f"({option('--bounds')}) if private values may lie outside."
    )


@sentence
def bounds_of_where(bounds: Bounds) -> str:
    """Note that the WHERE of the queries gives the bounds of these attributes."""
    return f"The WHERE keeps {_within(bounds)}, so no bounds need be stated."


@sentence
def bounds_half_stated(bounds: Bounds) -> str:
    """Note that one of the two bounds of these attributes is stated."""
    return (
        f"SUM and AVG are of {_within(bounds)}; the other bound follows the synthetic table: "
        f"{_outside()}"
    )


@sentence
def bounds_of_copy(bounds: Bounds) -> str:
    """Note that the bounds of these attributes are taken from the synthetic table."""
    return (
        f"SUM and AVG are of {_within(bounds)}, which are the bounds of the synthetic table: "
        f"{_outside()}"
    )


@sentence
def bounds_widened(bounds: Bounds) -> str:
    """Note that the bounds of these attributes are wider than those of the synthetic table."""
    return (
        f"AVG is of {_within(bounds)}: the bounds of the synthetic table, widened beyond the "
        f"tolerance, so that a private mean may lie outside the tolerance; {_outside()}"
    )


def _within(bounds: Bounds) -> str:
    """Attributes with their bounds, such as ``age within 0 to 99 and income within 0 to 9``."""
    return listed([f"{what} within {_spans(spans)}" for what, spans in bounds])


def _spans(spans: Sequence[str]) -> str:
    others = len(spans) - _MOST_SPANS
    more = [f"{others:,} more that follow from a query's own tolerance"] if others > 0 else []
    return " or ".join([*spans[:_MOST_SPANS], *more])


@sentence
def tau_beyond_bounds(queries: Sequence[str], attribute: str, bounds: str) -> str:
    """Note that the tolerance of queries reaches beyond stated bounds."""
    return (
        f"{_first_names(queries)}: the tolerance reaches beyond the stated bounds of "
        f"{attribute}, {bounds}; an answer beyond these bounds counts as the bound."
    )


@sentence
def one_by_one(queries: int, epsilon: Fraction) -> str:
    """Note that each of these queries is answered by itself, at an equal share of epsilon."""
    share = epsilon_text(epsilon)
    if queries == 1:
        return f"1 query answered by itself, at epsilon {share}."
    return (
        f"{queries:,} queries answered each by itself, at epsilon {share} per query; where a "
        "sufficient epsilon is named, it is per query as well."
    )


@sentence
def sure_epsilons(alpha: Fraction, least: Fraction, most: Fraction, queries: int) -> str:
    """Note that each query has the least epsilon that decides it, and how large these are."""
    each = "The query has" if queries == 1 else "Each query has"
    level = number_text(float(alpha) * 100, 6)
    ends = " to ".join(dict.fromkeys(map(epsilon_text, (least, most))))
    return (
        f"{each} the least epsilon at which nine runs of ten end right with p at most {level} %, "
        f"on tables made from the copy: {ends}."
    )


_MOST_LEFT_OUT = 6


@sentence
def beyond_at_most(
    total: Fraction,
    most: Fraction,
    dearest: Sequence[tuple[str, Fraction]],
    queries: int,
    left_out: Sequence[str],
    rest: Fraction,
    tau: str | None,
) -> str:
    """Note that a run costs more than its limit: what is dear, and what would fit."""
    costs, limit, most_option = epsilon_text(total), epsilon_text(most), option("--at-most")
    if queries == 1:
        text = f"The query costs epsilon {costs}, more than the {limit} of {most_option}."
    else:
        dear = ", ".join(f"{name} {epsilon_text(epsilon)}" for name, epsilon in dearest)
        dear = f"dearest: {dear}" if queries > len(dearest) else dear
        text = f"The queries cost epsilon {costs}, more than the {limit} of {most_option}; {dear}."
    if 0 < len(left_out) < queries:
        names = names_and_more(left_out, _MOST_LEFT_OUT)
        text += f" Without {names} the rest costs {epsilon_text(rest)}."
    at = option(f"--tau '{tau}'") if tau else ""
    return f"{text} At {at} all would fit." if tau else text


def _group(name: str, queries: int, epsilon: Fraction | None = None) -> str:
    """Name and size of a group of queries that sum up the same thing, and the group's budget."""
    text = f"{name}: {counted(queries, 'query', 'queries')}"
    if epsilon is None:
        return text
    return f"{text} at epsilon {epsilon_text(epsilon)}{' in all' if queries > 1 else ''}"


@sentence
def batch_refused(group: str, queries: int, reason: str) -> str:
    """Note why the queries of a group are answered one by one, not in a batch."""
    return f"{_group(group, queries)}, each by itself. {reason}"


@sentence
def classes_refused(group: str, reason: str) -> str:
    """Note why no mechanism that needs row classes was considered for a group."""
    return f"{group}: counted query by query only, as {reason}."


@sentence
def batch_weighed(
    group: str, queries: int, epsilon: Fraction | None, scores: Sequence[tuple[str | None, float]]
) -> str:
    """Note how a group is answered, and what share of all verdicts is wrong in each way.

    Each score is a pair: the name of a mechanism, and the share of wrong verdicts.  The name is
    None if each query is answered by itself.  The first score is the way that is taken.
    ``epsilon`` is the budget of the batch; None if the queries are answered by themselves.
    """
    ways = [
        (f"by {name}" if name else "each by itself", share_text(score)) for name, score in scores
    ]
    (taken, least), *others = ways
    against = ", ".join(f"{score} {way}" for way, score in others)
    queries_text = _group(group, queries, epsilon)
    how = f"{queries_text}, {taken}" if epsilon is None else f"{queries_text}, in one batch {taken}"
    return (
        f"{how}. Simulated on public data, with true gaps from 0 to 2 tau, {least} of the "
        f"verdicts are wrong; other ways: {against}."
    )


@sentence
def batch_weak(batch: str) -> str:
    """Note that the error of a batch is at least half the size of its answers."""
    return (
        f"{batch}: the simulated error is at least half the size of the answers: "
        "at this epsilon they say little; use fewer queries, or raise epsilon."
    )


@sentence
def classes_not_weighed(batch: str, reason: str) -> str:
    """Note why mechanisms that need row classes were not weighed for a batch."""
    return (
        f"{batch}: of all mechanisms only those were weighed that need no row classes, as {reason}."
    )


@sentence
def conditions_open(batch: str, conditions: Sequence[str]) -> str:
    """Note that only synthetic rows show which of the conditions a row can meet together."""
    return (
        f"{batch}: what can hold together of {names_and_more(conditions, 3)} is "
        "known from synthetic rows alone; a private row that combines these otherwise "
        "counts as meeting none of them."
    )


@sentence
def table_drawn(
    rows: int, table: str, gaps: Sequence[tuple[str, float]], persons: int | None = None
) -> str:
    """Note on a corrected copy: its rows, and how far its answers are from the released ones.

    ``persons`` is the number of persons, if the answers are of persons.
    """
    words = ", ".join(f"{batch} by {number_text(gap, 3)}" for batch, gap in gaps)
    people = "" if persons is None else f" of {counted(persons, 'person')}, numbered anew"
    return (
        f"The table has {rows:,} rows{people}, drawn from {table} so that it answers as was "
        f"released; on average its answers differ from those in {words}."
    )


@sentence
def of_one(name: str, what: Note) -> str:
    """Another note, preceded by the name of the batch or file that it is about."""
    return f"{name}: {what.sentence}"


@sentence
def answers_ordered(batch: str, queries: int, chains: int) -> str:
    """Note that answers to nested queries were made to agree with their order."""
    groups = counted(chains, "chain")
    return (
        f"{batch}: the answers to {queries:,} queries in {groups}, each of which selects all rows "
        "of the one before, were made non-decreasing (isotonic regression). Intervals and noise "
        "are those of the answers as released, and hold as they are."
    )


@sentence
def ranges_chosen(
    name: str, mechanism: str, truncation: str, buckets: int, overstatement: float | None
) -> str:
    """Note on the mechanism for ranges.

    ``overstatement``: rounding values up to the end of their bucket adds at most this many per cent
    to an answer.  None if values are not rounded up.
    """
    chosen = "has" if name == mechanism else f"is {mechanism} with"
    text = (
        f"{name} {chosen} truncation {truncation} over {buckets:,} buckets; conditions are about "
        "values within the bounds"
    )
    if overstatement is not None:
        text += (
            ", and a value counts as the upper end of its bucket, which adds at most "
            f"{number_text(overstatement, 3)} % to an answer"
        )
    return f"{text}."


@sentence
def table_not_written(reason: str) -> str:
    """Note that a file could not be written, although the answers are already paid for."""
    return f"{reason}. In a repeated run the answers cost nothing."


@sentence
def references_made(marginals: str, epsilon: Fraction, first: str) -> str:
    """Note on how the references were made."""
    return (
        f"{marginals}: every column of the queries by itself, released at epsilon "
        f"{epsilon_text(epsilon)} in all; resampled: rows of {first} drawn anew."
    )


_MOST_NAMED = 3


def refused_sentence(refused: Sequence[QueryRefusal]) -> str:
    """Sentence on the number of queries that were not asked; empty if all were asked."""
    number = len(refused)
    if not number:
        return ""
    return f"{number:,} {'query was' if number == 1 else 'queries were'} not asked and cost nothing"


def refused_lines(refused: Sequence[QueryRefusal]) -> Iterator[str]:
    """One line for each query that was not asked; its groups with the same reason share a line."""
    by_reason: dict[tuple[str, str], list[str]] = {}
    for each in refused:
        by_reason.setdefault((each.block or each.id, each.reason), []).append(each.group or "")
    for (name, reason), groups in by_reason.items():
        yield f"{name}{_named(groups)}: {reason}"


def _named(groups: Sequence[str]) -> str:
    names = [group for group in groups if group]
    if not names:
        return ""
    return f" ({names_and_more(names, _MOST_NAMED, '; ')})"


def refused_lead(refused: Sequence[QueryRefusal]) -> str:
    """Sentence of ``refused_sentence`` with a blank and a full stop, to end a paragraph."""
    sentence = refused_sentence(refused)
    return f" {sentence}." if sentence else ""


@sentence
def other_size(table: str, rows: int, private: int, within: int, queries: Sequence[str]) -> str:
    """Warning that a copy has another size, where queries grow with the rows."""
    share = number_text(100 * rows / max(private, 1), 3)
    return (
        f"{_sizes(table, rows, private, within)}. So a COUNT or a SUM of even a perfect copy is "
        f"about {share} % of the private one: {names_and_more(queries, _MOST_NAMES)}. "
        f"{option('--scale rows')} compares them per row, but for a COUNT of all rows; "
        "without it the tolerance must hold the difference."
    )


@sentence
def sizes_unlike(table: str, rows: int | None, aggregates: Sequence[str]) -> str:
    """Note that every COUNT and SUM is a NO, as where the copy has another size.

    ``rows`` are those of the copy; None if its rows are not persons.
    """
    size = "persons" if rows is None else "rows"
    copy = table if rows is None else f"{table} ({rows:,})"
    return (
        f"Every {' and '.join(aggregates)} is a NO: if the private table has another number of "
        f"{size} than {copy}, {option('--scale rows')} compares them per row."
    )


@sentence
def account_unseen(table: str, ledger: str) -> str:
    """Note that a dry run does not know the account of the private table."""
    return (
        f"The ledger {ledger} knows no data set by the place or name of {table}. Whether it has an "
        "account for the same rows under another name is seen only by the run itself, since a dry "
        "run reads no private row."
    )


@sentence
def dataset_asked(table: str, ledger: str) -> str:
    """Note that a run will ask for the data set of a held-out table."""
    return (
        f"The ledger {ledger} has a limit. So a run asks for the data set of {table}, unless its "
        f"rows were charged before: state {option('--held-out-dataset NAME')}, or dataset under "
        "[held_out] of a spec."
    )


@sentence
def taken_as_unchanged(table: str, ledger: str) -> str:
    """Note that a dry run takes the private table as it was when it was charged last."""
    return (
        f"Answers in the ledger {ledger} cost nothing again if {table} is as it was when it was "
        f"charged last. A dry run takes this for granted, since it reads no private row; "
        f"{option('--fresh')} shows the price otherwise."
    )


@sentence
def other_size_of_shares(table: str, rows: int, private: int, within: int) -> str:
    """Note that a copy has another size, where shares of the rows are compared."""
    return (
        f"{_sizes(table, rows, private, within)}. Shares of the rows are compared here, so the "
        f"size does not matter; a COUNT or a SUM of the copy needs {option('--scale rows')} (pqd "
        "audit, check, compare)."
    )


def _sizes(table: str, rows: int, private: int, within: int) -> str:
    known = f"about {private:,}, as was released before" if within else f"{private:,}, as stated"
    return f"{table} has {rows:,} rows and the private table {known}"


@sentence
def tau_wide(tolerance: str) -> str:
    """Warning that a tolerance is 100 % or more."""
    return (
        f"tau {tolerance} admits an answer of 0 as well as one twice as large; most want a few "
        "per cent."
    )


@sentence
def tau_amount(tolerance: str, least: Fraction) -> str:
    """Warning that a tolerance is an amount, and was probably meant in per cent."""
    return (
        f"tau {tolerance} is an amount: the private answer must lie within {tolerance} of answers "
        f"of {float(least):,.6g} and more; for a share of the answer write {tolerance}%."
    )


@sentence
def alpha_wide(alpha: Fraction) -> str:
    """Warning that alpha, an error probability, is above one half."""
    return (
        f"alpha {number_text(alpha)} accepts a verdict that is more often wrong than "
        "right; 0.05 is usual."
    )


@sentence
def epsilon_large(epsilon: Fraction) -> str:
    """Warning that epsilon is so large that it protects hardly anybody."""
    return (
        f"epsilon {epsilon_text(epsilon)} protects hardly anybody: odds about a person may "
        "change by a factor of more than 22,000; 1 or less is usual."
    )


@sentence
def delta_large(delta: Fraction) -> str:
    """Warning that delta, the probability that privacy fails, is large."""
    return (
        f"delta {number_text(delta)} is the probability that privacy fails altogether; less than "
        "one over the number of people is usual, such as 1e-6."
    )


@sentence
def estimator_unfit(estimator: str, queries: Sequence[str]) -> str:
    """Warning that the estimator that the caller named does not fit some queries."""
    does = "does" if len(queries) == 1 else "do"
    return (
        f"estimator {estimator} does not fit {_first_names(queries)}, which {does} with the one "
        "that auto takes."
    )


Constant = str | float


@sentence
def text_unknown(column: str, constant: Constant, tables: str, nearest: Constant) -> str:
    """Warning that a query compares a column with a text or number that the column never holds."""
    return (
        f'"{column}" is never {readable(_quoted(constant))} in {tables}; the nearest that it holds '
        f"is {_quoted(nearest)}."
    )


def _quoted(constant: Constant) -> str:
    """Constant as SQL writes it: a text in single quotes, a number as it is."""
    if isinstance(constant, str):
        return "'" + constant.replace("'", "''") + "'"
    return number_text(constant)


@sentence
def texts_unknown(column: str, first: Sequence[Constant], others: int, tables: str) -> str:
    """Warning that a column never holds many texts or numbers; it names the ``first`` of them."""
    values = readable(", ".join(map(_quoted, first)))
    return (
        f'"{column}" is never {values} or any of {others:,} other values that it is compared with, '
        f"in {tables}."
    )


@sentence
def person_key(column: str, table: str) -> str:
    """Warning that a column looks like a person's key and repeats, but nobody says who is one."""
    return (
        f'"{readable(column)}" looks like the key of a person and repeats in {table}: state '
        f"{option(f'--unit {pasted(column)}')} if all rows with one value of it are one person, or "
        f"{option('--row-is-person')} if each row is one. Until then no run spends anything."
    )


@sentence
def header_missing(table: str, names: Sequence[str]) -> str:
    """Warning that a synthetic table seems to lack its header."""
    cells = ", ".join(map(repr, names))
    return (
        f"columns of {table} have names that are values of theirs ({cells}): does the file lack a "
        "header? The first line of every table must name its columns."
    )


# Reasons why a decider, an estimator or a mechanism is taken.


@sentence
def named() -> str:
    """Reason of a choice that the caller named."""
    return "named by the caller"


@sentence
def settled() -> str:
    """Reason of a verdict that is the same for every private table within the bounds."""
    return "no table within the bounds can answer otherwise"


@sentence
def most_right() -> str:
    """Reason of a decider that has p-values and errs least often."""
    return "most often right of those with p-values"


@sentence
def least_budget() -> str:
    """Reason of a decider that has p-values and needs the least epsilon."""
    return "needs the smallest budget of those with p-values"


@sentence
def looked_again(queries: Sequence[str], looks: int, alpha: Fraction) -> str:
    """Note that queries were asked ``looks`` times on one table, this time included."""
    level = number_text(100 * float(alpha), 3)
    all_looks = number_text(100 * min(1.0, looks * float(alpha)), 3)
    were = "was" if len(queries) == 1 else "were each"
    return (
        f"{names_and_more(queries, _MOST_NAMES)} {were} asked {looks:,} times on this table, this "
        f"time included. Each time a wrong verdict is decided with probability at most {level} %, "
        f"over all {looks:,} times with at most {all_looks} %: over all of them a p-value counts "
        f"{looks:,} times as much."
    )


@sentence
def registered_decider(decider: str, package: str) -> str:
    """Note that a decider is registered, so that pqd has not checked what it promises."""
    return (
        f"{decider} is a registered decider, of the package {package}: pqd has not checked that it "
        "keeps its epsilon, so that is its author's promise, and its answers are never decided."
    )


@sentence
def shows_answer(sharpest: str) -> str:
    """Reason of a decider that is taken because it also releases a noisy answer.

    ``sharpest`` is the decider that is right most often.
    """
    return f"tells how far off the copy is, and is nearly as often right as {sharpest}"


_TABLE_FOUR = {
    "lm_count": "the better choice unless q(D) = q(Ds)",
    "hist_median": "empirically smaller error",
    "r2t_sum": "the largest synthetic value is far below the column's bound",
    "lm_sum": "the largest synthetic value is not far below the column's bound",
}


@sentence
def table_four(decider: str) -> str:
    """Reason of a decider that Table 4 of Patwa 2023 advises."""
    return f"Table 4: {_TABLE_FOUR[decider]}"


@sentence
def against_table_four(decider: str, advised: str) -> str:
    """Reason of a decider of the paper if Table 4 of the paper advises another decider."""
    return (
        f"errs less on test tables made from the copy than the other deciders of the paper; "
        f"Table 4 advises {advised} ({_TABLE_FOUR[advised]}), but {_WHY_AGAINST[decider]}"
    )


@sentence
def least_of_paper(aggregate: str, others: Sequence[str]) -> str:
    """Reason of a decider of the paper for an aggregate that its Table 4 leaves out."""
    return (
        f"errs less on test tables made from the copy than {', '.join(others)}; the paper offers "
        f"both for {aggregate} (section 6.2), and its Table 4 advises neither"
    )


@sentence
def only_of_paper(aggregate: str) -> str:
    """Reason of the one decider of the paper that fits a query."""
    return f"the only decider of the paper for {aggregate} that fits here"


_WHY_AGAINST = {
    "em_count": "its comparison rests on a threshold that is too small (docs/errata.md)",
    "em_median": "the advice rests on experiments with other tables",
    "r2t_sum": "here cutting large values costs less than the noise of the bound",
    "svt_sum": "it does not weigh SVT, whose noise does not grow with the bound",
    "lm_sum": "here the noise of the bound costs less",
}


@sentence
def likely_right() -> str:
    """Reason of a decider without p-values, taken if no decider with p-values is reliable."""
    return (
        "no decider with p-values is reliable here; this one errs least on test tables made from "
        "the copy, also on those with a tail that the copy lacks"
    )


@sentence
def cut_at_copy() -> str:
    """Reason of a decider that cuts values to the copy's bounds, although wider ones are stated."""
    return (
        "the stated bounds lie too far beyond the copy's values for a proof; values are cut to "
        "the copy's, and the rows beyond are counted"
    )


@sentence
def rows_to_change() -> str:
    """Reason of the decider for distances."""
    return "counts the rows that would have to change for another answer"


@sentence
def in_batch() -> str:
    """Reason of a mechanism that answers a batch."""
    return "answered in one batch, the way that is most often right"


_ONE_FOR_ALL = "one estimate for all candidates, which also bounds their gaps"
_MOST_RIGHT = "most often right on test tables made from the copies"


@sentence
def one_for_all() -> str:
    """Reason of an estimator whose one estimate serves all candidates."""
    return _ONE_FOR_ALL


@sentence
def each_most_right() -> str:
    """Reason of an estimator that errs least often."""
    return _MOST_RIGHT


@sentence
def split_most_right() -> str:
    """Reason of deciding each candidate by itself."""
    return f"each candidate by itself at its share of epsilon: {_MOST_RIGHT}"


@sentence
def one_for_all_undecided() -> str:
    """Reason of one estimate for all candidates if no estimator decides all of them."""
    return f"nothing decides every candidate at this epsilon; {_ONE_FOR_ALL}"


@sentence
def none_decides() -> str:
    """Reason of the estimator that errs least often, if no estimator decides."""
    return "nothing decides at this epsilon; this is most often right"


@sentence
def named_error(error: float, unit: Fraction) -> str:
    """Reason of a mechanism that the caller named, with its simulated error.

    ``error`` is a multiple of ``unit``.
    """
    return f"{named()}; simulated error {_short(error, unit)} on average"


@sentence
def least_error(error: float, others: Sequence[tuple[str, float]], unit: Fraction) -> str:
    """Reason of the mechanism with the smallest simulated error, and the errors of the ``others``.

    ``error`` and the errors of the ``others`` are multiples of ``unit``.
    """
    against = ", ".join(f"{name} {_short(other, unit)}" for name, other in others)
    rivals = f", against {against}" if against else ""
    return f"smallest simulated error: {_short(error, unit)} on average{rivals}"


@sentence
def one_batch(
    error: float,
    measures: Sequence[tuple[str, float, float, Fraction]],
    others: Sequence[tuple[float, str]],
) -> str:
    """Reason of one batch of several measures, with its errors and those at equal shares.

    ``measures`` are (name, error, error at equal shares, unit); the errors are multiples of the
    unit.  ``error`` and the errors of the ``others`` are multiples of the errors at equal shares.
    """
    each = ", ".join(
        f"{name} {_short(mean, unit)} in place of {_short(share, unit)}"
        for name, mean, share, unit in measures
    )
    against = "".join(f"; {name} {_per_cent(other)}" for other, name in others)
    return (
        f"one noise for its measures has {_per_cent(error)} of the simulated error of a batch for "
        f"each ({each}){against}"
    )


@sentence
def measures_apart(mechanism: str, error: float) -> str:
    """Note that one batch of all measures would err more than a batch for each."""
    return (
        f"Each measure has a batch of its own: one batch of all, by {mechanism}, would have "
        f"{_per_cent(error)} of their simulated error."
    )


def _per_cent(multiple: float) -> str:
    return f"{number_text(100 * multiple, 2)} %"


def _short(error: float, unit: Fraction) -> str:
    return number_text(error * float(unit), 3)


@sentence
def gate_left_out(conditions: Sequence[tuple[str, str]]) -> str:
    """Note on conditions that a gate does not judge; ``conditions`` are pairs (name, reason)."""
    reasons: dict[str, list[str]] = {}
    for name, reason in conditions:
        reasons.setdefault(reason, []).append(name)
    parts = [f"{_first_names(names)} ({reason})" for reason, names in reasons.items()]
    return f"Not judged: {names_and_more(parts, _MOST_NAMES, '; ')}."


@sentence
def alarm_not_judged(copies: Sequence[str]) -> str:
    """Note that the gate of a spec has no alarm for these ``copies``."""
    verb = "is" if len(copies) == 1 else "are"
    return (
        f"Not judged: alarm (whether {_first_names(copies)} {verb} nearly all private rows: no "
        "check of the spec has an alarm, so the private table itself may pass; pqd init names a "
        "gate that has one)."
    )


@sentence
def risk_without_held_out() -> str:
    """Warning, before anything is spent, that attacks get no verdict without held-out rows."""
    return (
        "Without held-out rows no attack gets a verdict, whatever is spent: give "
        f"{option('--held-out TABLE')}, rows of other persons that the generator never saw."
    )


@sentence
def some_rows_not_judged(copies: Sequence[str]) -> str:
    """Note that a gate has no attacks, which alone find single private rows in ``copies``."""
    return (
        f"Not judged: whether some rows of {_first_names(copies)} are private (only attacks tell: "
        "pqd risk; an alarm sees only a copy that is nearly all private rows)."
    )


@sentence
def checks_not_decidable(checks: Sequence[str]) -> str:
    """Warning that a gate may not pass an honest copy, since ``checks`` are not decidable."""
    hides = "it" if len(checks) == 1 else "them"
    return (
        f"{_first_names(checks)} may keep the gate of an honest copy from passing, by chance or "
        f"since the gate's noise hides {hides}: {option('--dry-run')} names the tau that would do. "
        "A check that the gate names as failing does not fail by noise."
    )


@sentence
def gate_not_run() -> str:
    """Note that a gate, one test of all checks, was not run."""
    return (
        "The gate was not run and nothing was spent, since it is one test of all checks, and one "
        "already fails or is broken."
    )


@sentence
def checks_set_aside(checks: int, columns: Sequence[str]) -> str:
    """Note on the number of ``checks`` of a spec that compare ``columns`` which it sets aside."""
    verb = "is" if checks == 1 else "are"
    return (
        f"{counted(checks, 'check')} {verb} left out: judge = false is stated for "
        f"{_first_names(columns)}."
    )


# Findings in a copy (pqd lint).


@sentence
def column_empty(column: str) -> str:
    """Finding that no cell of a column has a value."""
    return f'"{column}" is empty in every row.'


@sentence
def column_constant(column: str, value: str, filled: int, rows: int) -> str:
    """Finding that a column has one value alone."""
    where = "every row" if filled == rows else f"all of its {filled:,} filled cells"
    return f'"{column}" is {value!r} in {where}.'


@sentence
def codes_as_text(column: str, example: str) -> str:
    """Finding that a column of codes with a zero in front counts as text."""
    word = pasted(column, "=number")
    return (
        f'"{column}" is text: as numbers, codes such as {example.strip()} would lose the zero '
        f"({option(f'--type {word}')} makes them numbers all the same)."
    )


@sentence
def kind_nearly(column: str, kind: str, cells: int, unfit: int, example: str) -> str:
    """Finding that a few cells alone make a column text."""
    word = pasted(column, f"={kind}")
    return (
        f'"{column}" is text, because {unfit:,} of its {cells:,} cells read as no {_ONE[kind]}'
        f"{_example(example, '')}; {option(f'--type {word}')} makes these cells NULL."
    )


@sentence
def identifier_like(column: str, filled: int) -> str:
    """Finding that a column looks like an identifier."""
    return (
        f'"{column}" looks like an identifier: no two of its {filled:,} cells are alike. If the '
        "original column has few values, the generator destroyed it."
    )


@sentence
def key_nearly(column: str, repeated: int, filled: int) -> str:
    """Finding that a column would be a key, but for some values that occur more than once."""
    return (
        f'"{column}" looks like a key, but {repeated:,} of its {filled:,} cells have a value that '
        f"another cell has, too ({option(f'--key {pasted(column)}')} states a key)."
    )


@sentence
def text_free(column: str, distinct: int, filled: int) -> str:
    """Finding that a column looks like free text."""
    return (
        f'"{column}" looks like free text or made-up names: {distinct:,} different texts in '
        f"{filled:,} filled cells."
    )


@sentence
def days_as_numbers(column: str, example: str) -> str:
    """Finding that numbers look like days."""
    return (
        f'"{column}" counts as number, but its numbers look like days, such as {example}; write '
        f"{example[:4]}-{example[4:6]}-{example[6:]} in all tables to have days."
    )


@sentence
def days_unusual(column: str, cells: int, example: str) -> str:
    """Finding that times are so far away that they probably stand for something else."""
    return (
        f'"{column}" has {counted(cells, "time")} before 1800 or after 2200, such as {example}: '
        "do they stand for a missing value?"
    )


@sentence
def rows_repeat(repeated: int, rows: int, most: int, column: str, pairs: int, nearly: int) -> str:
    """Finding that rows are equal in every cell, and how unusual this is.

    ``pairs`` are pairs of equal rows, ``nearly`` pairs of rows that agree in all columns but
    ``column``, which is the column with the most of them.
    """
    times = f", one of them {most:,} times" if most > 2 else ""
    return (
        f"{repeated:,} of {rows:,} rows ({_share_of(repeated, rows)}) are equal to another row in "
        f'every cell{times}. Rows that agree in all columns but "{column}" agree in it, too, in '
        f"{_share_of(pairs, nearly)} of all cases; in real tables mostly in less than half."
    )


def _share_of(part: int, whole: int) -> str:
    return f"{number_text(100 * part / whole, 2)} %" if whole else "none"


@sentence
def columns_independent(independence: Independence) -> str:
    """Finding that the columns of the copy are nearly independent."""
    return independence_sentence(independence)


@sentence
def columns_missing(names: Sequence[str]) -> str:
    """Finding that the copy lacks stated columns."""
    return f"The copy lacks what is stated: {names_and_more(names, _MOST_NAMES)}."


@sentence
def columns_unlisted(names: Sequence[str]) -> str:
    """Finding that the metadata does not describe some columns of the copy."""
    return f"Not described by the metadata: {names_and_more(names, _MOST_NAMES)}."


@sentence
def key_repeats(columns: Sequence[str], repeated: int, rows: int) -> str:
    """Finding that a stated key is none."""
    return (
        f'"{", ".join(columns)}" is stated as a key, but {repeated:,} of {rows:,} rows have a '
        "value that another row has, too."
    )


@sentence
def rule_violated(rule: str, violations: int, rows: int) -> str:
    """Finding that rows of the copy violate a stated rule."""
    return f"{violations:,} of {rows:,} rows violate the stated rule: {rule}."


@sentence
def cells_required(column: str, cells: int, rows: int) -> str:
    """Finding that cells are empty in a column that is stated to have a value in every row."""
    return f'"{column}" is empty in {cells:,} of {rows:,} rows, but a value is stated as required.'


@sentence
def cells_outside(column: str, cells: int, example: str, low: str, high: str) -> str:
    """Finding that cells lie outside the stated range."""
    stated = f"{low} to {high}" if low and high else f"at least {low}" if low else f"at most {high}"
    return (
        f'"{column}" has {counted(cells, "cell")} outside the stated range, {stated}, such as '
        f"{example}."
    )


@sentence
def values_unlisted(column: str, cells: int, example: str, values: int) -> str:
    """Finding that cells have values that are not among the stated values."""
    return (
        f'"{column}" has {counted(values, "value")} that the metadata does not list, in '
        f"{counted(cells, 'cell')}, such as {example!r}."
    )


@sentence
def metadata_used(file: str, columns: int, *, found: bool, ranged: bool) -> str:
    """Note that facts of columns come from a file of metadata.

    ``ranged``: a named file has ranges that SDV may have detected, a found one any that do not
    serve.
    """
    where = f"{file}, which lies beside the copy" if found else file
    seen = (
        " If SDV detected its ranges and values, they are those of the table that SDV has seen: "
        "put those of a data dictionary in their place."
    )
    if found:
        name_it = option(f"--metadata {pasted(file)}")
        seen = (
            " Its ranges and lists of values do not serve, since they may be those of private "
            f"rows: if they are public, name the file: {name_it}."
        )
    return f"Facts of {counted(columns, 'column')} come from {where}.{seen if ranged else ''}"


@sentence
def metadata_not_used(file: str, reason: str) -> str:
    """Warning that the file of metadata beside the copy is not that of the copy."""
    return f"{file}, which lies beside the copy, is not used: {reason}."


@sentence
def metadata_beside_both(file: str) -> str:
    """Warning that the file of metadata beside the copy lies beside the private table, too."""
    return (
        f"{file} is not read: it lies beside the private table, too, and may hold that table's own "
        f"least and largest values. If its facts are public, name it: "
        f"{option(f'--metadata {pasted(file)}')}."
    )


@sentence
def metadata_of_private(file: str) -> str:
    """Note that the named file of metadata lies beside the private table."""
    return (
        f"{file} lies beside the private table. Its facts are taken as public, and this report "
        "shows them: a range must come from a data dictionary, not from the private table's own "
        "least and largest values."
    )


@sentence
def metadata_key_repeats(column: str, table: str) -> str:
    """Note that a column that metadata states as a key repeats in a copy."""
    return (
        f'The metadata states "{column}" as a key or an identifier, and it repeats in {table}: if '
        f"its values are persons, state {option(f'--unit {pasted(column)}')}; if each row is one "
        f"person, {option('--row-is-person')}."
    )


@sentence
def metadata_unread(facts: Sequence[str]) -> str:
    """Note that some stated facts of the metadata were not looked at."""
    return f"Facts of the metadata that pqd does not look at: {names_and_more(facts, _MOST_NAMES)}."
