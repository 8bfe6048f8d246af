"""The pytest plugin: a test that a query can be trusted.

    def test_the_copy_can_be_used(pqd):
        pqd.assert_trusted("employed-women")          # a check of the spec
        pqd.assert_trusted("SELECT AVG(age) FROM D", tau=2, epsilon=0.25)

The spec is ``audit.toml`` beside the configuration file of pytest.  Another spec can be named by
``pqd_spec`` in that file, or by ``--pqd-spec`` on the command line.  When a test needs the first
check of the spec, all its checks are run and charged together; later runs are replayed from the
ledger.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pqd.deciders.exact import Number
    from pqd.reports.models.check import CheckReport, CheckResult, GateFacts
    from pqd.spec import Spec

_SPEC = "audit.toml"


class UntrustedWarning(UserWarning):
    """Warning about a check that fails and has the severity ``warn``."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option and the ini key that name the spec."""
    parser.addini("pqd_spec", "the spec that the fixture pqd runs", default=_SPEC)
    parser.getgroup("pqd").addoption(
        "--pqd-spec", metavar="FILE", help=f"the spec that the fixture pqd runs ({_SPEC})"
    )


@pytest.fixture(scope="session")
def pqd(request: pytest.FixtureRequest) -> Trust:
    """Assert that queries can be trusted on synthetic data; see ``Trust.assert_trusted``."""
    config = request.config
    named = config.getoption("--pqd-spec")
    if named:
        return Trust(Path(config.invocation_params.dir) / named)
    return Trust(config.rootpath / str(config.getini("pqd_spec")))


class Trust:
    """Fixture ``pqd``: one spec, whose checks are run at most once in a pytest session."""

    def __init__(self, spec: Path) -> None:
        """Read nothing yet."""
        self._path = spec

    @cached_property
    def _spec(self) -> Spec:
        from pqd.spec import read_spec  # noqa: PLC0415 - pytest loads plugins at its start

        return read_spec(self._path)

    @cached_property
    def report(self) -> CheckReport:
        """Report of all checks of the spec; the first use runs the checks and pays for them."""
        return _run(self._spec)

    def assert_trusted(  # noqa: PLR0913 - the facts of a check, all but the first by keyword
        self,
        query: str,
        *,
        tau: Number | None = None,
        epsilon: Number | None = None,
        alpha: Number = "0.05",
        decider: str = "auto",
        on_undecided: Literal["fail", "warn", "pass"] = "fail",
        evidence: Literal["proof", "likely"] = "proof",
        synthetic: str | None = None,
    ) -> CheckResult:
        """Fail unless ``query`` can be trusted on the synthetic table.

        Parameters
        ----------
        query
            The id of a check of the spec, or one SQL query.  A query needs ``tau`` and ``epsilon``;
            tables, budget, ledger and privacy unit come from the spec.
        on_undecided
            For a query: whether an undecided verdict fails the test (``"fail"``), skips the test
            (``"warn"``) or lets it pass (``"pass"``).
        evidence
            For a query: whether a verdict without a proof counts if it is ``"likely"`` right.
        synthetic
            The name of a synthetic table of the spec; needed if the spec has several.

        Returns
        -------
        CheckResult
            The result of the check; it is not a failure.

        Raises
        ------
        AssertionError
            If the verdict is not as expected; the message says why.
        PqdError
            If the query, the spec or a table cannot be used, or the budget is too small.
        """
        __tracebackhide__ = True
        # Imported here, since pytest loads plugins at its start.
        from pqd.deciders.exact import probability  # noqa: PLC0415
        from pqd.reports.text.gate import ALL_CHECKS  # noqa: PLC0415
        from pqd.spec import Check  # noqa: PLC0415
        from pqd.stated.budgets import stated_budget  # noqa: PLC0415

        name = self._table(synthetic)
        if query in {check.id for check in self._spec.checks}:
            if tau is not None or epsilon is not None:
                raise TypeError(f"the terms of the check {query!r} stand in {self._path.name}")
            return _passing(self._entry(query, name), self.report.gate, self._sizes)
        if tau is None or epsilon is None:
            if query == ALL_CHECKS and self._spec.gate is not None:
                raise TypeError(
                    f"a gate passes or fails as a whole, so {query!r} is no check; name any check "
                    f"of it, such as {self._spec.checks[0].id!r}"
                )
            known = ", ".join(check.id for check in self._spec.checks[:8])
            raise TypeError(
                f"{query!r} is no check of {self._path.name}, which has {known}; SQL needs tau "
                "and epsilon"
            )
        check = Check(
            id=query if query.isprintable() else "query",
            sql=query,
            tau=tau,
            epsilon=stated_budget(epsilon),
            alpha=probability(alpha, "alpha"),
            decider=decider,
            expect="close",
            severity="error",
            on_undecided=on_undecided,
            evidence=evidence,
            synthetic=(name,),
            bins=None,
            keys=None,
            line=1,
        )
        table = {name: self._spec.synthetic[name]}
        alone = replace(self._spec, checks=(check,), synthetic=table, gate=None, names=None)
        return _passing(_run(alone).checks[0])

    @property
    def _sizes(self) -> list[str]:
        """Notes on sizes that may be why all COUNT and SUM fail."""
        from pqd.deciders.options import for_spec  # noqa: PLC0415 - pytest loads plugins at its start

        with for_spec():
            return [each.sentence for each in self.report.notes if each.code == "sizes-unlike"]

    def _table(self, name: str | None) -> str:
        names = list(self._spec.synthetic)
        if name is None and len(names) == 1:
            return names[0]
        if name not in names:
            raise TypeError(f"synthetic must name one of {', '.join(names)}, not {name!r}")
        return name

    def _entry(self, check: str, synthetic: str) -> CheckResult:
        name = f"{check}@{synthetic}" if len(self._spec.synthetic) > 1 else check
        entry = next((e for e in self.report.checks if e.id == name), None)
        if entry is None:
            raise TypeError(f"{self._path.name} does not hold {synthetic} to the check {check!r}")
        return entry


def _run(spec: Spec) -> CheckReport:
    from pqd.commands.check import run_check  # noqa: PLC0415 - pytest loads plugins at its start
    from pqd.deciders import SecureNoise  # noqa: PLC0415 - pytest loads plugins at its start

    return run_check(spec, SecureNoise())


def _passing(
    entry: CheckResult, gate: GateFacts | None = None, sizes: Sequence[str] = ()
) -> CheckResult:
    """The entry, if its gate passes; otherwise the test fails, is skipped, or gets a warning.

    A check that a gate does not tell fails too: nothing shows that it holds.  The message then says
    the outcome of the ``gate``.  The message of a failed query ends with notes on ``sizes``.
    """
    __tracebackhide__ = True
    from pqd.reports.models.query import PER_ROW  # noqa: PLC0415 - pytest loads plugins at its start
    from pqd.reports.text.check import failure_lines  # noqa: PLC0415 - pytest loads plugins at its start
    from pqd.reports.text.gate import gate_message  # noqa: PLC0415 - pytest loads plugins at its start

    text = _harmless(f"{entry.id}: {entry.message}")
    if entry.gate in {"fail", "error", "untold"}:
        untold = []
        if entry.gate == "untold":
            outcome = f"the gate of all checks: {gate_message(gate)}" if gate else ""
            untold = [f"not told, since the gate did not pass; {outcome}"]
        grows = any(each.aggregate in PER_ROW for each in entry.verdicts)
        lines = (entry.sql, *untold, *failure_lines(entry, gate), *(sizes if grows else ()))
        raise AssertionError("\n".join([text, *map(_harmless, lines)]))
    if entry.gate == "warn" and entry.status == "undecided":
        pytest.skip(text)
    if entry.gate == "warn":
        warnings.warn(text, UntrustedWarning, stacklevel=3)
    return entry


def _harmless(text: str) -> str:
    """``text`` in a form that is safe for a terminal and for the log of a build."""
    from pqd.reports.escape import inert, visible  # noqa: PLC0415 - pytest loads plugins at its start

    return inert(visible(text, keep="\n"))
