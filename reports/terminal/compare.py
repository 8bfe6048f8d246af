"""The terminal rendering of ``pqd compare``: leaderboard first, then a line per query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from rich.table import Table
from rich.text import Text

from reports.terminal.audit import SIMULATED, indented, left_out, wrapped
from reports.text.audit import cost_sentences, question
from reports.text.compare import (
    SYMBOLS,
    cell_sentence,
    cell_sign,
    column_names,
    how_to_read,
    named_sentence,
    percent,
    query_sentences,
    rank_text,
    share_words,
    tie_sentences,
)
from reports.text.escape import visible

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

    from reports.models.compare import ComparedQuery, CompareReport
    from reports.text.compare import Columns

_STYLES = {"trusted": "bold green", "not trusted": "bold red", "undecided": "bold yellow"}
# Below this width a table would cut its numbers off.
_NARROW = 72
_BAR = 16


class TerminalCompare:
    """A rich renderable of a comparison; ``verbose`` tells every query in full."""

    def __init__(self, report: CompareReport, *, verbose: bool = False) -> None:
        """Keep the report."""
        self._report, self._verbose = report, verbose

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the leaderboard, the queries, the summary."""
        report, width = self._report, options.max_width
        unicode = options.encoding.lower().startswith("utf")
        if report.simulated:
            yield from wrapped(Text(SIMULATED, style="bold yellow"), console, width)
            yield Text()
        yield from self._board(console, width, unicode=unicode)
        yield Text()
        if self._verbose:
            for query in report.queries:
                yield from _full(query, console, width, "±" if unicode else "+-")
        else:
            yield from _lines(report, console, width, unicode=unicode)
        yield Text()
        for line in left_out(report.refused):
            yield from wrapped(line, console, width)
        tables = f"{visible(report.private)}, whatever the number of candidates"
        for sentence in (*_costs(report, tables), *how_to_read(report, unicode=unicode)):
            yield from wrapped(Text(visible(sentence)), console, width)
        for note in report.notes:
            yield from wrapped(Text(visible(note)), console, width)

    def _board(self, console: Console, width: int, *, unicode: bool) -> RenderResult:
        report = self._report
        if width < _NARROW:
            for standing in report.leaderboard:
                head = Text(visible(standing.candidate), style="bold")
                yield from wrapped(head, console, width)
                yield from indented(Text(share_words(standing)), console, width)
        else:
            table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
            table.add_column("rank", no_wrap=True)
            table.add_column("candidate", overflow="fold")
            table.add_column("within", justify="right", no_wrap=True)
            table.add_column(f"0 %{'100 %':>{_BAR - 3}}", no_wrap=True)
            table.add_column("true share", no_wrap=True)
            for title in ("yes", "no", "?"):
                table.add_column(title, justify="right")
            for standing in report.leaderboard:
                table.add_row(
                    rank_text(standing, unicode=unicode),
                    Text(visible(standing.candidate), style="bold"),
                    percent(standing.share),
                    _bar(standing.low, standing.share, standing.high, unicode=unicode),
                    f"{percent(standing.low)} to {percent(standing.high)}",
                    *(str(n) for n in (standing.trusted, standing.not_trusted, standing.undecided)),
                )
            yield table
        for sentence in (*tie_sentences(report), *named_sentence(report)):
            yield from wrapped(Text(visible(sentence)), console, width)


def _bar(low: float, share: float, high: float, *, unicode: bool) -> str:
    """Return a share between the ends of its band on a line."""
    rule, dot, blank = ("─", "●", "·") if unicode else ("-", "o", ".")
    first, last, middle = (round(x * (_BAR - 1)) for x in (low, high, share))
    signs = [rule if first <= place <= last else blank for place in range(_BAR)]
    signs[middle] = dot
    return "".join(signs)


def _lines(report: CompareReport, console: Console, width: int, *, unicode: bool) -> Iterator[Text]:
    """Yield each query with a sign per candidate: on one line where there is room."""
    columns = column_names(report)
    for legend in columns.legend:
        yield from wrapped(Text(legend, style="dim"), console, width)
    signs = columns.width * len(columns.candidates)
    longest = max((len(visible(query.id)) for query in report.queries), default=0)
    if signs + longest > width:
        for query in report.queries:
            yield from _stacked(query, columns, console, width, SYMBOLS[unicode])
        return
    yield Text("".join(f"{title:<{columns.width}}" for title in columns.titles), style="dim")
    for query in report.queries:
        line = Text(no_wrap=True)
        for name in columns.candidates:
            cell = query.cell(name)
            sign = cell_sign(cell, SYMBOLS[unicode])
            line.append(f"{sign:<{columns.width}}", style=_STYLES[cell.standing])
        line.append(_cut(_asked(query), width - signs, "…" if unicode else "..."))
        yield line


def _stacked(
    query: ComparedQuery,
    columns: Columns,
    console: Console,
    width: int,
    symbols: Mapping[str, str],
) -> Iterator[Text]:
    """Yield one query, and below it the candidates with their signs."""
    yield from wrapped(Text(_asked(query)), console, width)
    line = Text()
    for name, title in zip(columns.candidates, columns.titles, strict=True):
        cell = query.cell(name)
        # One word each, so that no line breaks between a candidate and its sign.
        line.append(f"{title}:{cell_sign(cell, symbols)}", style=_STYLES[cell.standing])
        line.append("  ")
    yield from indented(line, console, width)


def _asked(query: ComparedQuery) -> str:
    asked = question(query.aggregate, query.attribute, query.p, query.where)
    return f"{visible(query.id)}  {asked}"


def _cut(text: str, width: int, sign: str) -> str:
    """Return ``text`` in ``width`` cells, with a sign where it is cut."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, max(0, width - len(sign))).rstrip() + sign


def _full(query: ComparedQuery, console: Console, width: int, sign: str) -> Iterator[Text]:
    """Yield one query in full."""
    yield from wrapped(Text(visible(query.id), style="bold"), console, width)
    for text in query_sentences(query):
        yield from indented(Text(visible(text)), console, width)
    for cell in query.cells:
        line = Text(visible(cell.candidate), style=_STYLES[cell.standing])
        line.append(f": {cell_sentence(cell, query, sign)}", style="default")
        yield from indented(line, console, width)
    yield Text()


def _costs(report: CompareReport, tables: str) -> Iterator[str]:
    for sentence in cost_sentences(report.cost, tables):
        yield sentence.replace(", which is taken as public", "; candidates are taken as public")
