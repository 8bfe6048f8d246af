"""All that the command line writes: the terminal report, and renderings beside it."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from deciders.errors import ParameterError, PqdError
from pqd.cli.option_groups import option_group
from pqd.cli.streams import command_to_runner
from pqd.engine.sources.locations import like_table, location_of
from pqd.engine.sources.postgres_address import without_address
from pqd.paths import unlinked, usable, writable, write_text

if TYPE_CHECKING:
    from pqd.cli.display import DisplayOptions
    from pqd.spec import Problem
    from reports.models.check import CheckReport
    from reports.models.report import Report

FILES, GITHUB, JUNIT = ("json", "markdown", "html"), "github", "junit"
_SUMMARY_VARIABLE = "GITHUB_STEP_SUMMARY"
_STANDARD = "-"

Json = Annotated[
    str | None,
    typer.Option(metavar="FILE|-", help="Write the report as JSON; - for standard output."),
]


class Target(NamedTuple):
    """One rendering and its place: a file, ``-`` for standard output, None for ``github``."""

    kind: str
    place: str | None


@dataclass(frozen=True, slots=True)
class Targets:
    """Renderings of one run, at most one of them on standard output.

    ``spec`` is the file that GitHub's annotations point into, None where a run has none.
    """

    renderings: tuple[Target, ...] = ()
    spec: Path | None = None

    @property
    def takes_stdout(self) -> bool:
        """Whether a rendering goes to standard output, in place of the terminal report."""
        return any(target.place == _STANDARD for target in self.renderings)

    def has_curves(self, queries: int) -> bool:
        """Whether a rendering of as many queries draws curves."""
        from reports.html import MOST_ROWS

        pages = any(target.kind == "html" for target in self.renderings)
        return pages and queries <= MOST_ROWS

    @property
    def has_values(self) -> bool:
        """Whether a rendering holds every value."""
        return any(target.kind == "json" for target in self.renderings)

    def check(self, *inputs: str | Path | None) -> None:
        """Refuse a place that cannot be written or is one of ``inputs``, before any charge."""
        for target in self.renderings:
            check_place(target.place, *inputs)

    def tell_missing_summary(self) -> None:
        """Say before the run that ``github`` has no summary to write to."""
        if not any(target.kind == GITHUB for target in self.renderings):
            return
        if not os.environ.get(_SUMMARY_VARIABLE):
            rest = "annotations alone are written" if self.spec else "it writes nothing"
            typer.echo(
                f"pqd: --output github: {_SUMMARY_VARIABLE} is not set, as it is in GitHub "
                f"Actions, so there is no summary of the step; {rest}",
                err=True,
            )

    def finish(self, report: Report, display: DisplayOptions) -> None:
        """Show a report, then write its renderings: a verdict is seen even where that fails."""
        if not self.takes_stdout:
            display.show(report)
        self.write(report)

    def write(self, report: Report) -> None:
        """Write every rendering; the first that fails is raised after all others are written."""
        failures = []
        for target in self.renderings:
            try:
                self._write(target, report)
            except PqdError as error:
                failures.append(error)
        if failures:
            raise failures[0]

    def _write(self, target: Target, report: Report) -> None:
        if target.kind == GITHUB:
            self._tell_github(report)
        else:
            write(rendering(target.kind, report), str(target.place))

    def _tell_github(self, report: Report) -> None:
        """Annotations on the lines of a spec, and the summary of the job's step."""
        if self.spec is not None:
            from reports.github import github_text

            # Beside a rendering on standard output; the runner reads both streams.
            text = github_text(_checked(report), path_in_repository(self.spec))
            command_to_runner(text, aside=self.takes_stdout)
        if summary := os.environ.get(_SUMMARY_VARIABLE):
            write(report.to_markdown(), summary, append=True)

    @contextmanager
    def stopping(self, unit: str | None = None) -> Iterator[None]:
        """Render a run of a spec that is stopped: each problem is an error at its line.

        ``unit`` is the column whose values are people in that run.
        """
        try:
            yield
        except PqdError as error:
            if self.spec is not None:
                with suppress(PqdError):
                    self.write(_stopped(error, self.spec, unit))
            raise


@option_group
class OutputOptions:
    """Renderings beside the terminal report."""

    json: Json = None
    markdown: Annotated[
        str | None,
        typer.Option(metavar="FILE|-", help="Write a summary in Markdown, as for a pull request."),
    ] = None
    html: Annotated[
        str | None,
        typer.Option(metavar="FILE|-", help="Write the report as one page of HTML."),
    ] = None
    output: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND=FILE",
            help="Also write json=FILE, markdown=FILE or html=FILE; or github, a summary of the "
            "step in GitHub Actions. May be given several times.",
        ),
    ] = None

    def targets(self, *inputs: str | Path | None, spec: Path | None = None) -> Targets:
        """Targets of all that is asked for; ``spec`` is the file of a check.

        Raises
        ------
        ParameterError
            Before anything is read or spent: a rendering that a command does not have, two at one
            place, a place that cannot be written or is one of ``inputs``.
        """
        stated = ((kind, getattr(self, kind)) for kind in FILES)
        renderings = (
            *(Target(kind, place) for kind, place in stated if place is not None),
            *(_target(text, checks=spec is not None) for text in self.output or []),
        )
        places = [t.place for t in renderings if t.place is not None]
        files = [p if p == _STANDARD else str(usable(Path(p)).resolve()) for p in places]
        if len(set(files)) < len(files):
            raise ParameterError("two outputs go to the same place; name different files")
        targets = Targets(renderings, spec)
        targets.check(spec, *inputs)
        targets.tell_missing_summary()
        return targets


@option_group
class CheckOutputOptions(OutputOptions):
    """Renderings of a check, with those that only a spec has."""

    output: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND=FILE",
            help="Also write json=FILE, junit=FILE, markdown=FILE or html=FILE; or github, "
            "annotations of the spec and a summary of the step in GitHub Actions. May be given "
            "several times.",
        ),
    ] = None


def _target(text: str, *, checks: bool) -> Target:
    kind, sign, place = text.partition("=")
    if kind == GITHUB and not sign:
        return Target(kind, None)
    if kind not in {*FILES, JUNIT} or not place:
        junit = "junit=FILE, " if checks else ""
        raise ParameterError(
            f"output {text!r} is not understood; write json=FILE, {junit}markdown=FILE, html=FILE "
            "(- for standard output) or github"
        )
    if kind == JUNIT and not checks:
        raise ParameterError(
            f"output {text!r} is for the checks of a spec (pqd check); write json=FILE, "
            "markdown=FILE, html=FILE (- for standard output) or github"
        )
    return Target(kind, place)


def check_place(place: str | None, *inputs: str | Path | None) -> None:
    """Refuse a file that cannot or must not be written, before anything is spent."""
    if place in {None, _STANDARD}:
        return
    path = unlinked(usable(str(place)))
    if path.is_dir():
        raise ParameterError(f"{place} cannot be written: it is a folder; name a file in it")
    # Whether or not it is a table of this run.
    if like_table(str(place)):
        raise ParameterError(f"{place} is named like a table; name a report, such as report.json")
    if not path.absolute().parent.is_dir():
        raise ParameterError(f"{place} cannot be written: there is no such folder")
    writable(path)
    from pqd.accounting.hash_chain import is_ledger

    located = [location_of(each) for each in inputs if each]
    read = [usable(file).resolve() for location in located for file in location.files]
    if path.resolve() in read or is_ledger(path):
        raise ParameterError(f"{place} is an input of this run, or a ledger; write elsewhere")


def new_table(path: str | None) -> Path | None:
    """Path of a table that is to be made; refused before anything is spent if it cannot be."""
    if path is None:
        return None
    from pqd.engine.sources.export import check_new

    return check_new(path)


def rendering(kind: str, report: Report) -> str:
    """Report as ``json``, ``markdown``, ``html`` or ``junit``."""
    if kind == "json":
        return report.to_json()
    if kind == "markdown":
        return report.to_markdown()
    if kind == JUNIT:
        from reports.junit import junit_text

        return junit_text(_checked(report))
    return report.to_html(shlex.join(["pqd", *map(without_address, sys.argv[1:])]))


def write(text: str, place: str, *, append: bool = False) -> None:
    """Write a rendering to a file, or to standard output for ``-``."""
    if place == _STANDARD:
        typer.echo(text, nl=False)
        return
    write_text(Path(place), text, append=append)


def path_in_repository(spec: Path) -> str:
    """Path of a spec as GitHub wants it: relative to the repository, where it is in it."""
    home = Path(os.environ.get("GITHUB_WORKSPACE") or Path.cwd())
    with suppress(ValueError):
        return spec.resolve().relative_to(home.resolve()).as_posix()
    return spec.as_posix()


def _checked(report: Report) -> CheckReport:
    from reports.models.check import CheckReport

    if not isinstance(report, CheckReport):
        raise TypeError(report)
    return report


def _stopped(error: PqdError, spec: Path, unit: str | None) -> CheckReport:
    from pqd.accounting.composition import SEQUENTIAL
    from pqd.accounting.run_charges import run_charges
    from reports.models.audit import Cost
    from reports.models.check import CheckReport, stopped

    problems: Sequence[Problem] = getattr(error, "problems", ())
    lines = [(problem.place.line, problem.message) for problem in problems] or [(None, str(error))]
    results = tuple(stopped(spec.name, line, text, error.exit_code) for line, text in lines)
    charges = run_charges()
    cost = Cost()
    if charges.epsilon:
        cost = Cost(charges.epsilon, charges.delta, SEQUENTIAL, unit=unit)
    return CheckReport(spec=spec.name, private="", checks=results, cost=cost)
