"""The terminal report of a run: how much of the report is shown, or which verdict in full."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from pqd.cli.option_groups import option_group
from pqd.deciders.errors import ParameterError
from pqd.deciders.names import nearest_names

if TYPE_CHECKING:
    from pqd.reports.models.report import Report
    from pqd.sql.query import Query


@option_group
class DisplayOptions:
    """Amount of detail in the terminal; by default one line per verdict, the worst first."""

    all: Annotated[
        bool,
        typer.Option(
            "--all",
            help="Show a line for every verdict; by default one line sums up passes beyond ten.",
        ),
    ] = False
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose",
            "-v",
            help="Show all that is known: every query in full, with Pr[yes] against the true gap "
            "per decider; of a profile every distance and cell.",
        ),
    ] = False
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet", help="Show failures (of a release the answers) and the last line alone."
        ),
    ] = False
    explain: Annotated[
        str | None,
        typer.Option(
            metavar="ID",
            help="Show everything about one verdict of an earlier run: repeat its queries and "
            "options. The answer comes from the ledger; nothing is spent.",
        ),
    ] = None

    def check(self, *, stdout: bool = False, fresh: bool = False) -> None:
        """Refuse options that contradict each other, before anything is read.

        ``stdout``: does a rendering take standard output?  ``fresh``: are known answers paid for
        again?
        """
        more = {
            "--all": self.all,
            "--verbose": self.verbose,
            "--explain": self.explain is not None,
        }
        given = [name for name, is_given in more.items() if is_given]
        if self.quiet and given:
            raise ParameterError(f"{given[0]} and --quiet contradict each other; give one of them")
        if self.explain is not None and (stdout or fresh):
            other = "--fresh" if fresh else "the output on standard output (-)"
            raise ParameterError(
                f"--explain shows one verdict of an earlier run at no cost; leave {other} out"
            )

    @property
    def explains(self) -> bool:
        """Whether the run only shows a verdict of an earlier run, so that it must not spend."""
        return self.explain is not None

    @property
    def detailed(self) -> bool:
        """Whether charts are shown; their curves must then be computed."""
        return self.verbose or self.explains

    def selected(self, queries: tuple[Query, ...]) -> tuple[Query, ...]:
        """Queries that are shown: all queries, or those that ``--explain`` names.

        If it names a group such as ``q1[a]``, the result is the whole query ``q1``.

        Raises
        ------
        NothingSelectedError
            If no query has the name.
        """
        name = self.explain
        if name is None:
            return queries
        matches = tuple(
            query
            for query in queries
            if name in {query.id, query.block} or name.startswith(f"{query.id}[")
        )
        if not matches:
            from pqd.errors import NothingSelectedError

            known = [query.id or "" for query in queries]
            near = nearest_names(name, known, cutoff=0.4) or known[:8]
            raise NothingSelectedError(f"there is no query {name!r}; there is {', '.join(near)}")
        return matches

    def show(self, report: Report) -> None:
        """Print a report."""
        from rich.console import Console

        from pqd.reports.writers.terminal import TerminalReport
        from pqd.reports.writers.terminal.layout import Extent

        extent = Extent.BRIEF
        for chosen, is_chosen in (
            (Extent.ALL, self.all),
            (Extent.VERBOSE, self.verbose),
            (Extent.QUIET, self.quiet),
        ):
            extent = chosen if is_chosen else extent
        Console(highlight=False).print(TerminalReport(report, extent, self.explain))
