"""What every report can be turned into; the renderings are imported when they are asked for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from reports.models.audit import AuditReport, QueryFacts
    from reports.models.check import CheckReport
    from reports.models.compare import CompareReport
    from reports.models.plan import PlanReport
    from reports.models.release import ReleaseReport

    Report: TypeAlias = AuditReport | CheckReport | CompareReport | PlanReport | ReleaseReport


class Rendered(ABC):
    """Mix-in of the reports of audit, plan, check, compare and release."""

    __slots__ = ()

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain JSON values."""

    def to_json(self) -> str:
        """Return the report as JSON text (docs/report-schema.md)."""
        from reports.json import json_text  # noqa: PLC0415 - renderings import the models

        return json_text(self.to_dict())

    def to_html(self, command: str | None = None) -> str:
        """Return the report as a page of HTML that needs no other file.

        ``command`` is the command that makes it again, to be shown.
        """
        from reports.html.document import html_text  # noqa: PLC0415 - the same

        return html_text(cast("Report", self), command)

    def to_markdown(self) -> str:
        """Return the report as GitHub-flavoured Markdown, small enough for a comment."""
        from reports.markdown.check import markdown_text  # noqa: PLC0415 - the same

        return markdown_text(cast("Report", self))

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        from reports.notebook import notebook_html  # noqa: PLC0415 - the same

        return notebook_html(cast("Report", self))


class Plotted(ABC):
    """Mix-in of the reports that hold operating characteristics."""

    __slots__ = ()

    @abstractmethod
    def _plotted(self) -> Sequence[QueryFacts]:
        """Return the queries that have curves."""

    def plot_operating_characteristic(
        self,
        id: str | None = None,  # noqa: A002 - the name that queries go by
        ax: Axes | None = None,
    ) -> Axes:
        """Draw the chance of a yes against the true gap, for the decider and its best rivals.

        Parameters
        ----------
        id
            The query, the first one if None.
        ax
            Where to draw.  Without it the axes have a figure of their own, which pyplot does not
            know: a notebook shows it where the axes are the last value of a cell, and
            ``ax.figure.savefig(...)`` writes it.

        Returns
        -------
        matplotlib.axes.Axes
            What was drawn on; it depends on public data only.

        Raises
        ------
        ParameterError
            There is no such query, or the report was made without ``detailed=True``.
        """
        from reports.plots import plot  # noqa: PLC0415 - a heavy import that only plots need

        return plot(self._plotted(), id, ax)
