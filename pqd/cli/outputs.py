"""Outputs of the command line: the terminal report, and renderings such as a page or JSON."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer
from typer._click.globals import get_current_context

from pqd.cli.option_groups import option_group
from pqd.cli.streams import LostOutputError, command_to_runner
from pqd.deciders.errors import ParameterError, PqdError
from pqd.deciders.extras import LIBRARIES, missing_library
from pqd.engine.sources.locations import OF_TABLE, is_address, like_table
from pqd.engine.sources.postgres_address import without_address
from pqd.errors import RunError
from pqd.paths import told_as_unwritten, usable, writable, write_text

if TYPE_CHECKING:
    from pqd.cli.display import DisplayOptions
    from pqd.reports.models.check import CheckReport
    from pqd.reports.models.report import Report
    from pqd.spec import Problem

FILES, GITHUB, JUNIT = ("json", "markdown", "html"), "github", "junit"
# Renderings of the tables alone, which --output names.
TABLES = ("csv", "latex")
_FORMS = {
    "json": "all of it as JSON",
    "markdown": "a summary",
    "html": "the report as a page",
    "csv": "its tables",
    "latex": "its tables",
    JUNIT: "results for a build",
}
# First column of a CSV of a report; by it a file is known as one that may be overwritten.
_FIRST_COLUMN = "table,"
_KINDS = "markdown=FILE, html=FILE, csv=FILE, latex=FILE (- for standard output) or github"
# Ends of names of documents that no rendering is.
_OF_OFFICES = {".pdf", ".docx", ".xlsx", ".xls", ".doc", ".odt"}
_SUMMARY_VARIABLE = "GITHUB_STEP_SUMMARY"
_STANDARD = "-"
# Kinds of reports whose pages have curves, which matplotlib draws.
_CURVED = frozenset({"audit", "check", "plan"})
# Folders of an absolute path.
_FOLDERS = re.compile(r"(?<![\w./])/(?:[^\s/]+/)+(?=[^\s/])")
# Word for a file in the help.
_FILE = "FILE"
# Word for a table in the help, which may be a file.
_TABLE = "TABLE"

# An act writes or shows something.  A condition calls an act, or raises an error and does not.
_Act = Callable[[], None]
_Condition = Callable[[_Act], None]

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
    """Renderings of one run; at most one rendering goes to standard output.

    ``spec`` is the file whose lines GitHub annotates; None if the run has no spec.  No rendering
    may overwrite a file of ``inputs``, the stated ``ledger`` or another ledger.
    """

    renderings: tuple[Target, ...] = ()
    spec: Path | None = None
    inputs: tuple[str | Path | None, ...] = ()
    ledger: Path | None = None

    @property
    def takes_stdout(self) -> bool:
        """Whether a rendering goes to standard output, in place of the terminal report."""
        return any(target.place == _STANDARD for target in self.renderings)

    def has_curves(self, queries: int) -> bool:
        """Whether a rendering draws curves for this number of queries."""
        from pqd.reports.writers.html.views import MOST_ROWS

        pages = any(target.kind == "html" for target in self.renderings)
        return pages and queries <= MOST_ROWS

    @property
    def has_values(self) -> bool:
        """Whether a rendering holds every value of the report, as JSON does."""
        return any(target.kind == "json" for target in self.renderings)

    def beside(self, *inputs: str | Path | None, ledger: Path | None = None) -> Targets:
        """Targets of a run that also reads ``inputs``; their places are checked.

        Raises
        ------
        ParameterError
            If a place cannot be written or must not be written.
        """
        targets = replace(self, inputs=(*self.inputs, *inputs), ledger=ledger or self.ledger)
        for target in targets.renderings:
            targets.check_place(target.kind, _file_of(target))
        return targets

    def check_place(self, kind: str, place: str | None) -> None:
        """Refuse a file that cannot or must not be written."""
        known = _is_report if kind == "csv" else None
        appended = kind == GITHUB
        check_place(place, *self.inputs, ledger=self.ledger, append=appended, known=known)

    def tell_missing_summary(self) -> None:
        """Tell the caller before the run if ``github`` has no summary to write to."""
        if not any(target.kind == GITHUB for target in self.renderings):
            return
        if not os.environ.get(_SUMMARY_VARIABLE):
            rest = "annotations alone are written" if self.spec else "it writes nothing"
            typer.echo(
                f"pqd: --output github: {_SUMMARY_VARIABLE} is not set, as it is in GitHub "
                f"Actions, so there is no summary of the step; {rest}",
                err=True,
            )

    def checked(self, display: DisplayOptions, *, fresh: bool = False) -> Targets:
        """Targets, after a check that no options contradict each other; see ``display.check``.

        With ``--explain`` there are none: a command can be repeated as it was typed, and the files
        of its run stay as they are.
        """
        display.check(stdout=self.takes_stdout, fresh=fresh)
        if not display.explains:
            return self
        if files := [target.place for target in self.renderings if target.place]:
            verb = "stays as it is" if len(files) == 1 else "stay as they are"
            shows = "--explain shows one verdict alone"
            typer.echo(f"pqd: {shows}, so {', '.join(files)} {verb}", err=True)
        return replace(self, renderings=())

    def finish(self, report: Report, display: DisplayOptions, *failed: Exception) -> None:
        """Write all renderings, then show the report.

        The files come first, so that they exist even if nobody reads standard output.  Each output
        is tried even if another output fails; one error lists all failures, ``failed`` first.  If
        the ledger has lost the charge, nothing is written or shown.
        """
        show = partial(standing, partial(display.show, report))
        unwritten = failures_of(*self._files(report, standing))
        shown: list[_Act] = [] if self.takes_stdout else [show]
        if shown and not (unwritten or display.quiet):
            shown.append(self._tell_written)
        acts = [*shown, *self._streams(report, standing)]
        raise_together(*failed, *unwritten, *failures_of(*acts))

    def _tell_written(self) -> None:
        """Tell which files hold the report, and in which form."""
        written = [
            f"{target.place} ({_FORMS[target.kind]})" for target in self.renderings if target.place
        ]
        if written:
            typer.echo(f"Written: {', '.join(written)}.")

    def write(self, report: Report) -> None:
        """Write every rendering; one error lists all failures."""
        raise_together(*failures_of(*self._files(report), *self._streams(report)))

    def _files(self, report: Report, when: _Condition | None = None) -> Iterator[_Act]:
        """Yield functions that write the renderings to files; ``when`` permits each write."""
        for target in self.renderings:
            place = _file_of(target)
            if place is not None:
                yield partial(self._write, target.kind, report, place, when or _always)

    def _write(self, kind: str, report: Report, place: str, when: _Condition) -> None:
        # The rendering takes long, so all checks come after it, just before the write.
        text = rendering("markdown" if kind == GITHUB else kind, report)
        if kind == "html" and report.kind in _CURVED and find_spec(LIBRARIES["plots"]) is None:
            typer.echo(f"pqd: {missing_library('plots', 'A page with curves')}", err=True)
        path, append = Path(place), kind == GITHUB
        # During the run a ledger may have been created at this place, even by this run.
        with told_as_unwritten(path):
            self.check_place(kind, place)
        when(partial(write_text, path, text, append=append))

    def _streams(self, report: Report, when: _Condition | None = None) -> Iterator[_Act]:
        """Yield functions that write annotations, and the rendering on standard output."""
        for target in self.renderings:
            if target.kind == GITHUB and self.spec is not None:
                yield partial(self._annotate, report, self.spec, when or _always)
            elif target.place == _STANDARD:
                yield partial(self._print, target.kind, report, when or _always)

    def _annotate(self, report: Report, spec: Path, when: _Condition) -> None:
        """Annotate the lines of a spec."""
        from pqd.reports.github import github_text

        # If a rendering takes standard output, annotations go to standard error: the runner of the
        # build reads both streams.
        text = github_text(_checked(report), path_in_repository(spec))
        when(partial(command_to_runner, text, aside=self.takes_stdout))

    def _print(self, kind: str, report: Report, when: _Condition) -> None:
        when(partial(typer.echo, rendering(kind, report), nl=False))

    @contextmanager
    def stopping(self, unit: str | None = None) -> Iterator[None]:
        """Context that renders an error of a run of a spec; each problem is shown at its line.

        ``unit`` is the column that names people in that run.
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
            help="Also write json=FILE, markdown=FILE, html=FILE, or the tables as csv=FILE or "
            "latex=FILE; or github, a summary of the step in GitHub Actions. May be given several "
            "times.",
        ),
    ] = None

    def targets(
        self,
        *inputs: str | Path | None,
        spec: Path | None = None,
        ledger: Path | None = None,
    ) -> Targets:
        """Targets of all stated outputs; ``spec`` is the file of a check.

        Raises
        ------
        ParameterError
            Before anything is read or spent: if the command lacks a rendering, if two renderings
            have one place, or if a place cannot be written, is one of ``inputs`` or a ledger's.
        """
        stated = ((kind, getattr(self, kind)) for kind in FILES)
        renderings = (
            *(Target(kind, place) for kind, place in stated if place is not None),
            *(_target(text, checks=spec is not None) for text in self.output or []),
        )
        standard = sum(target.place == _STANDARD for target in renderings)
        files = [Path(place) for place in map(_file_of, renderings) if place is not None]
        if standard > 1 or any(_is_same(a, b) for a, b in combinations(files, 2)):
            raise ParameterError("two outputs go to the same place; name different files")
        targets = Targets(renderings, spec).beside(spec, *inputs, ledger=ledger)
        targets.tell_missing_summary()
        return targets


@option_group
class CheckOutputOptions(OutputOptions):
    """Renderings of a check, including those that only a spec has."""

    output: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND=FILE",
            help="Also write json=FILE, junit=FILE, markdown=FILE, html=FILE, or the tables as "
            "csv=FILE or latex=FILE; or github, annotations of the spec and a summary of the step "
            "in GitHub Actions. May be given several times.",
        ),
    ] = None


def _target(text: str, *, checks: bool) -> Target:
    kind, sign, place = text.partition("=")
    if kind == GITHUB and not sign:
        return Target(kind, None)
    if kind not in {*FILES, *TABLES, JUNIT} or not place:
        junit = "junit=FILE, " if checks else ""
        raise ParameterError(f"output {text!r} is not understood; write json=FILE, {junit}{_KINDS}")
    if kind == JUNIT and not checks:
        raise ParameterError(
            f"output {text!r} is for the checks of a spec (pqd check); write json=FILE, {_KINDS}"
        )
    return Target(kind, place)


def _is_report(path: Path) -> bool:
    """Whether a file is a CSV of an earlier report."""
    with suppress(OSError), path.open(encoding="utf-8", errors="replace") as file:
        return file.readline().startswith(_FIRST_COLUMN)
    return False


def _file_of(target: Target) -> str | None:
    """File that a rendering goes to; None for standard output or without a summary of GitHub."""
    if target.kind == GITHUB:
        return os.environ.get(_SUMMARY_VARIABLE) or None
    return None if target.place == _STANDARD else target.place


def _is_same(one: Path, other: Path) -> bool:
    """Whether two paths lead to the same file, even if the file does not exist yet."""
    if usable(one).exists() and usable(other).exists():
        return one.samefile(other)
    return one.resolve() == other.resolve()


def check_place(
    place: str | None,
    *inputs: str | Path | None,
    ledger: Path | None = None,
    append: bool = False,
    known: Callable[[Path], bool] | None = None,
) -> None:
    """Refuse a file that cannot be written or must not be written, before anything is spent.

    A name like that of a table is refused; with ``known`` only if a file is there, and ``known``
    does not recognise it as one that may be overwritten.
    """
    if place in {None, _STANDARD}:
        return
    if Path(str(place)).suffix.lower() in _OF_OFFICES:
        raise ParameterError(
            f"{place} would hold no such document; name it .html, .md or .json, and print a page "
            "of HTML from the browser for a PDF"
        )
    writable(usable(str(place)), append=append)
    # Refuse a path that looks like a table, even if this run does not read that table.
    path = Path(str(place))
    if like_table(str(place)) and not (known and (not path.exists() or known(path))):
        raise ParameterError(f"{place} is named like a table; name a report, such as report.json")
    from pqd.accounting.free_places import check_free

    check_free(str(place), inputs, ledger)


def new_table(path: str | None) -> Path | None:
    """Path of a new table; refused before anything is spent if it cannot be written."""
    if path is None:
        return None
    from pqd.engine.sources.export import check_new

    return check_new(path)


def rendering(kind: str, report: Report) -> str:
    """Report as ``json``, ``markdown``, ``html``, ``csv``, ``latex`` or ``junit``."""
    if kind == "json":
        return report.to_json()
    if kind == "markdown":
        return report.to_markdown()
    if kind == "csv":
        return report.to_csv()
    if kind == "latex":
        return report.to_latex()
    if kind == JUNIT:
        from pqd.reports.junit import junit_text

        return junit_text(_checked(report))
    return report.to_html(_shown_command())


def _shown_command() -> str | None:
    """Command of the run in the form that a page shows, without folders and addresses."""
    context = get_current_context(silent=True)
    if context is None:
        return None
    metavars = {
        name: str(option.metavar)
        for option in context.command.params
        for name in option.opts
        if name.startswith("-") and not getattr(option, "is_flag", False)
    }
    tables = [
        str(argument.metavar or _FILE)
        for argument in context.command.params
        if argument.param_type_name == "argument"
    ]
    shown, metavar = [], ""
    for word in sys.argv[2:]:
        name, sign, value = word.partition("=")
        if metavar:
            shown.append(_shown_value(metavar, word))
            metavar = ""
        elif sign and name in metavars:
            shown.append(f"{name}={_shown_value(metavars[name], value)}")
        elif word.startswith("-"):
            shown.append(word)
            metavar = metavars.get(word, "")
        else:
            shown.append(_shown_value(tables[0], word))
            # The last argument of a command may have several values.
            tables = tables[1:] or tables
    return shlex.join(["pqd", *sys.argv[1:2], *shown])


def _shown_value(metavar: str, value: str) -> str:
    """Value of an option or argument; a path is cut to its name, a fraction such as 1/3 is not."""
    if not (_FILE in metavar or _TABLE in metavar) or is_address(value):
        return without_address(value)
    name, sign, path = value.partition("=") if "=" in metavar else ("", "", value)
    if is_address(path):
        return f"{name}{sign}{without_address(path)}"
    file, within, table = path.rpartition(OF_TABLE)
    if not (file and within):
        file, within, table = path, "", ""
    return f"{name}{sign}{Path(file).name or file}{within}{table}"


def write(text: str, place: str) -> None:
    """Write a text to a file, or to standard output for ``-``."""
    if place == _STANDARD:
        typer.echo(text, nl=False)
        return
    write_text(Path(place), text)


def failures_of(*writers: _Act) -> list[Exception]:
    """Failures of writers; every writer is called, even if another writer fails."""
    failures: list[Exception] = []
    for write_one in writers:
        try:
            write_one()
        except Exception as error:  # noqa: BLE001 - it is told when all others are written
            failures.append(error)
    return failures


def _always(act: _Act) -> None:
    act()


def standing(act: _Act) -> None:
    """Call ``act``; LostLedgerError if the ledger no longer holds the charge of the run."""
    from pqd.accounting.charge_report import run_charges

    run_charges().check_standing()
    act()


def raise_together(*failures: Exception) -> None:
    """Raise one error that lists all failures; the sentence about the charge comes last.

    A failure that is no PqdError is raised alone: it is unexpected, and must not be hidden.
    """
    from pqd.accounting.charge_report import reports_charges

    broken = [error for error in failures if not isinstance(error, PqdError)]
    if len(set(map(str, failures))) == 1 or broken:
        raise [*broken, *failures][0]
    if failures:
        lost = any(isinstance(error, LostOutputError) for error in failures)
        messages = dict.fromkeys(sorted(map(str, failures), key=reports_charges))
        raise (LostOutputError if lost else RunError)("\n".join(messages))


def path_in_repository(spec: Path) -> str:
    """Path of a spec for GitHub: relative to the repository if the spec lies in the repository."""
    home = Path(os.environ.get("GITHUB_WORKSPACE") or Path.cwd())
    with suppress(ValueError):
        return spec.resolve().relative_to(home.resolve()).as_posix()
    return spec.as_posix()


def _checked(report: Report) -> CheckReport:
    from pqd.reports.models.check import CheckReport

    if not isinstance(report, CheckReport):
        raise TypeError(report)
    return report


def _stopped(error: PqdError, spec: Path, unit: str | None) -> CheckReport:
    from pqd.accounting.charge_report import run_charges
    from pqd.accounting.composition import SEQUENTIAL
    from pqd.reports.models.audit import Cost
    from pqd.reports.models.check import CheckReport, stopped

    problems: Sequence[Problem] = getattr(error, "problems", ())
    # The terminal shows the error with its folders; a report may be handed on.
    base = _FOLDERS.sub("", str(error))
    lines = [(problem.place.line, problem.message) for problem in problems] or [(None, base)]
    results = tuple(stopped(spec.name, line, text, error.exit_code) for line, text in lines)
    charges = run_charges()
    cost = Cost()
    if charges.epsilon:
        cost = Cost(charges.epsilon, charges.delta, SEQUENTIAL, unit=unit)
    return CheckReport(spec=spec.name, private="", checks=results, cost=cost)
