"""Base of every report: a frozen dataclass that any format can show.

The file ``reports/documents/audit.py`` makes the document of a report of kind ``audit``, and a
writer shows any document in its format (``reports/writers/``).  Both are imported when they are
needed.  A new kind of report adds a model and a document, and edits no writer.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar, cast

from pqd.deciders.extras import needed

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd
    from matplotlib.axes import Axes

    from pqd.reports.blocks import Document
    from pqd.reports.models.query import QueryFacts

# Where each format's function lives; models import none of them before it is used.
_HOMES = {
    "brief_text": "pqd.reports.writers.notebook",
    "html_text": "pqd.reports.writers.html",
    "json_text": "pqd.reports.json",
    "markdown_text": "pqd.reports.writers.markdown",
    "notebook_html": "pqd.reports.writers.notebook",
    "open_page": "pqd.reports.browser",
    "plot": "pqd.reports.plots",
    "plot_board": "pqd.reports.boards",
    "plot_distances": "pqd.reports.plots",
    "report_values": "pqd.reports.json",
    "terminal_text": "pqd.reports.writers.terminal",
}


def rendering(function: str) -> Callable[..., Any]:
    """Function of a format by its name, imported when it is needed.

    Raises
    ------
    ParameterError
        It draws, and matplotlib is not installed.
    """
    if _HOMES[function] in {"pqd.reports.boards", "pqd.reports.plots"}:
        with needed("plots", "a plot"):
            import matplotlib as _  # noqa: F401, ICN001, PLC0415 - a heavy import, and an extra
    return cast("Callable[..., Any]", getattr(import_module(_HOMES[function]), function))


def document_of(report: Report) -> Document:
    """Document of a report, made by the file of its kind in ``reports/documents``.

    Raises
    ------
    NotImplementedError
        There is no document of that kind.
    """
    home = f"pqd.reports.documents.{report.kind}"
    if find_spec(home) is None:
        raise NotImplementedError(
            f"a report of kind {report.kind!r} has no document: there is no {home}"
        )
    return cast("Document", import_module(home).document(report))


def data_frame(
    rows: Sequence[Mapping[str, object]], columns: list[str] | None = None
) -> pd.DataFrame:
    """Frame of pandas with ``rows``, and with ``columns`` where there may be none."""
    import pandas as pd  # noqa: PLC0415 - a heavy import that only frames need

    return pd.DataFrame(rows, columns=columns)


class Report(ABC):
    """Base of the reports of audit, check, compare, plan and release, and of a ledger's.

    ``kind`` names the report in JSON, and its file in every format's folder.
    """

    __slots__ = ()
    kind: ClassVar[str]

    def computed(self) -> dict[str, Any]:
        """Values that JSON holds beside the fields."""
        return {}

    def to_dict(self) -> dict[str, Any]:
        """Report as plain JSON values (docs/report-schema.md)."""
        return cast("dict[str, Any]", rendering("report_values")(self))

    def to_json(self) -> str:
        """Report as JSON text (docs/report-schema.md)."""
        return cast("str", rendering("json_text")(self))

    def to_html(self, command: str | None = None) -> str:
        """Report as a page of HTML that needs no other file.

        ``command`` is the command that makes it again, to be shown.
        """
        return cast("str", rendering("html_text")(self, command))

    def open(self, path: str | Path | None = None, command: str | None = None) -> Path:
        """Write the page, show it in the browser if there is one, and return its path.

        Parameters
        ----------
        path
            The file to write, which no one but its owner may read; another page there is replaced,
            no other file.  Without it the page lies in a new folder of the system's for temporary
            files.
        command
            As for ``to_html``.

        Raises
        ------
        ParameterError
            The file cannot be written, or something else is there.
        """
        return cast("Path", rendering("open_page")(self, path, command))

    def to_markdown(self) -> str:
        """Report as GitHub-flavoured Markdown, small enough for a comment."""
        return cast("str", rendering("markdown_text")(self))

    def _repr_html_(self) -> str:
        """Report as a notebook shows it."""
        return cast("str", rendering("notebook_html")(self))

    def __repr__(self) -> str:
        """Title of a report, and what it cost, in a few lines; all fields would fill screens."""
        return cast("str", rendering("brief_text")(self))

    def __str__(self) -> str:
        """Report as plain text for a terminal of 80 columns."""
        return cast("str", rendering("terminal_text")(self))


class CurvedReport(ABC):
    """Mix-in of the reports that hold operating characteristics."""

    __slots__ = ()

    @abstractmethod
    def _curved_queries(self) -> Sequence[QueryFacts]:
        """Queries that have curves."""

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
        return cast("Axes", rendering("plot")(self._curved_queries(), id, ax))
