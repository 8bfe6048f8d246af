"""What ``pqd check`` writes beside the terminal report: several renderings at once."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from deciders.errors import ParameterError, PqdError
from pqd.cli import options
from pqd.cli.streams import command_to_runner
from pqd.paths import usable

if TYPE_CHECKING:
    from reports.models.check import CheckReport

_KINDS = ("json", "junit", "markdown", "html", "github")
_SUMMARY_VARIABLE = "GITHUB_STEP_SUMMARY"


class Output(NamedTuple):
    """One rendering and where it goes: a file, ``-`` for standard output, None for github."""

    kind: str
    target: str | None


def parsed(texts: Sequence[str], *inputs: Path) -> tuple[Output, ...]:
    """Read ``json=report.json`` and ``github``; refuse what cannot be written.

    Raises
    ------
    ParameterError
        Before anything is read or spent.
    """
    found = tuple(_parsed(text) for text in texts)
    named = (Path(o.target) for o in found if o.target not in {None, "-"})
    targets = [usable(path).resolve() for path in named]
    if len(set(targets)) < len(targets) or sum(o.target == "-" for o in found) > 1:
        raise ParameterError("two outputs go to the same place; name different files")
    check(found, *inputs)
    return found


def check(outputs: Sequence[Output], *inputs: Path) -> None:
    """Refuse an output that cannot be written, or would overwrite one of ``inputs``."""
    for output in outputs:
        options.check_target(output.target, *map(str, inputs))


def _parsed(text: str) -> Output:
    kind, sign, target = text.partition("=")
    if kind == "github" and not sign:
        return Output(kind, None)
    if kind == "github" or kind not in _KINDS or not target:
        raise ParameterError(
            f"output {text!r} is not understood; write json=FILE, junit=FILE, markdown=FILE, "
            "html=FILE (- for standard output) or github"
        )
    return Output(kind, target)


def takes_stdout(outputs: Sequence[Output]) -> bool:
    """Say whether a rendering goes to standard output, in place of the terminal report."""
    return any(output.target == "-" for output in outputs)


def has_page(outputs: Sequence[Output]) -> bool:
    """Say whether a rendering has room for the curves."""
    return any(output.kind == "html" for output in outputs)


def write(outputs: Sequence[Output], report: CheckReport, spec: Path) -> None:
    """Write every rendering; the first that fails is raised after all others are written."""
    failed: PqdError | None = None
    aside = takes_stdout(outputs)
    for output in outputs:
        try:
            _write(output, report, spec, aside=aside)
        except PqdError as error:
            failed = failed or error
    if failed:
        raise failed


def _write(output: Output, report: CheckReport, spec: Path, *, aside: bool) -> None:
    if output.kind == "github":
        from reports.github import annotations as commands

        # Beside a rendering on standard output; the runner reads both streams.
        command_to_runner(commands(report, shown_path(spec)), aside=aside)
        if summary := os.environ.get(_SUMMARY_VARIABLE):
            options.write(report.to_markdown(), summary, append=True)
    elif output.kind == "junit":
        from reports.junit import junit_text

        options.write(junit_text(report), str(output.target))
    else:
        options.write(options.rendered(output.kind, report), str(output.target))


@contextmanager
def stopping(outputs: Sequence[Output], spec: Path) -> Iterator[None]:
    """Render a run that is stopped as well: each problem is an error at its line of the spec."""
    try:
        yield
    except PqdError as error:
        _stopped(outputs, error, spec)
        raise


def _stopped(outputs: Sequence[Output], error: PqdError, spec: Path) -> None:
    from reports.models.audit import Cost
    from reports.models.check import CheckReport, stopped

    problems = getattr(error, "problems", None) or [error]
    checks = tuple(
        stopped(spec.name, getattr(p, "line", None), getattr(p, "text", str(p)), error.exit_code)
        for p in problems
    )
    report = CheckReport(spec=spec.name, private="", checks=checks, cost=Cost())
    with suppress(PqdError):
        write(outputs, report, spec)


def shown_path(spec: Path) -> str:
    """Return the spec's path as GitHub wants it: relative to the repository, where it is in it."""
    home = Path(os.environ.get("GITHUB_WORKSPACE") or Path.cwd())
    with suppress(ValueError):
        return spec.resolve().relative_to(home.resolve()).as_posix()
    return spec.as_posix()
