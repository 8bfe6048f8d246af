"""Base of every report: a frozen dataclass that any format can show.

The module ``reports/documents/audit.py`` makes the document of a report of kind ``audit``.  A
writer in ``reports/writers/`` shows any document in the format of the writer.  Both modules are
imported only when they are needed.  A new kind of report needs a model and a document, but no
change to a writer.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NoReturn, TypeVar, cast

from pqd.deciders.extras import needed
from pqd.reports.models.standings import Standing

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd
    from matplotlib.axes import Axes

    from pqd.reports.blocks import Document
    from pqd.reports.models.query import QueryFacts

Item = TypeVar("Item")

_NEAR = 0.7
# Module of each rendering function, imported when the function is used first.
_HOMES = {
    "brief_text": "pqd.reports.writers.notebook",
    "csv_text": "pqd.reports.writers.csv",
    "html_text": "pqd.reports.writers.html",
    "json_text": "pqd.reports.json",
    "latex_text": "pqd.reports.writers.latex",
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
    """Rendering function with this name, imported when it is needed.

    Raises
    ------
    ParameterError
        The function draws a plot, and matplotlib is not installed.
    """
    if _HOMES[function] in {"pqd.reports.boards", "pqd.reports.plots"}:
        with needed("plots", "a plot"):
            import matplotlib as _  # noqa: F401, ICN001, PLC0415 - a heavy import, and an extra
    return cast("Callable[..., Any]", getattr(import_module(_HOMES[function]), function))


def document_of(report: Report) -> Document:
    """Document of a report, made by the module of its kind in ``reports/documents``.

    Raises
    ------
    NotImplementedError
        There is no module for this kind of report.
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
    """Frame of pandas with ``rows``; ``columns`` names the columns even without any row."""
    import pandas as pd  # noqa: PLC0415 - a heavy import that only frames need

    return pd.DataFrame(rows, columns=columns)


class Report(ABC):
    """Base of the reports of all commands.

    ``kind`` names the report in JSON, and names the module that makes its document.
    """

    __slots__ = ()
    kind: ClassVar[str]

    # A type checker knows the attributes, and must not take any name for one.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            """Refuse an attribute that a report lacks, and name the nearest ones."""
            raise AttributeError(_unknown(self, name), name=name, obj=self)

    def computed(self) -> dict[str, Any]:
        """Values that JSON holds in addition to the fields."""
        return {}

    def to_dict(self) -> dict[str, Any]:
        """Report as plain JSON values (docs/report-schema.md)."""
        return cast("dict[str, Any]", rendering("report_values")(self))

    def to_json(self) -> str:
        """Report as JSON text (docs/report-schema.md)."""
        return cast("str", rendering("json_text")(self))

    def to_html(self, command: str | None = None) -> str:
        """Report as an HTML page that needs no other file.

        The page shows ``command``, which is the command that makes the report again.
        """
        return cast("str", rendering("html_text")(self, command))

    def open(self, path: str | Path | None = None, command: str | None = None) -> Path:
        """Write the page, show it in the browser if there is one, and return its path.

        Parameters
        ----------
        path
            File to write; only its owner may read it.  A page that is there already is replaced,
            but any other file is kept and is an error.  Without ``path``, the page is written to a
            new folder for temporary files.
        command
            Command that the page shows, as for ``to_html``.

        Raises
        ------
        ParameterError
            The file cannot be written, or something other than a page is there.
        """
        return cast("Path", rendering("open_page")(self, path, command))

    def to_markdown(self) -> str:
        """Report as GitHub-flavoured Markdown, small enough for a comment."""
        return cast("str", rendering("markdown_text")(self))

    def to_csv(self) -> str:
        """Tables of the report as CSV, with the figures that the report shows, for a spreadsheet.

        The column ``table`` names the table; a simulation has a column that says SIMULATED.
        ``to_frame()``, where a report has it, gives exact figures.
        """
        return cast("str", rendering("csv_text")(self))

    def to_latex(self) -> str:
        r"""Tables of the report for LaTeX; the document needs ``\usepackage{booktabs}``."""
        return cast("str", rendering("latex_text")(self))

    def _repr_html_(self) -> str:
        """Report as HTML for a notebook."""
        return cast("str", rendering("notebook_html")(self))

    def __repr__(self) -> str:
        """Title and cost of the report in a few lines, since all its fields would fill screens."""
        return cast("str", rendering("brief_text")(self))

    def __str__(self) -> str:
        """Report as plain text for a terminal of 80 columns."""
        return cast("str", rendering("terminal_text")(self))


# Names of attributes that would be true where a report is good; no report has one.
_TRUTHS = frozenset({"failed", "ok", "passed", "success", Standing.TRUSTED.value})

# Names that callers expect, with those of a report that may have what they mean.
_MEANT = {
    "explain": ("open",),
    "pairs": ("marginals",),
    "ranking": ("leaderboard", "copies"),
}


def _unknown(report: object, name: str) -> str:
    """Message for an attribute that a report lacks: where it is, or which ones are near."""
    message = f"{type(report).__name__} has no {name!r}"
    if name.startswith("_") or not is_dataclass(report):
        return message
    if name in _TRUTHS and (question := getattr(type(report), "_question", "")):
        return f"{message}; ask {question}"
    known = [each for each in dir(type(report)) if not each.startswith("_")]
    if meant := [each for each in _MEANT.get(name, ()) if each in known]:
        return f"{message}; it has {meant[0]}"
    own = [each.name for each in fields(report) if hasattr(report, each.name)]
    inner = []
    for place in own:
        value = getattr(report, place)
        many = isinstance(value, tuple) and value
        if is_dataclass(first := value[0] if many else value):
            found = [each for each in dir(type(first)) if not each.startswith("_")]
            path = f"{place}[0]" if many else place
            inner += [f"{path}.{near}" for near in get_close_matches(name, found, cutoff=_NEAR)]
    near = get_close_matches(name, known, n=3, cutoff=_NEAR)
    exact = [path for path in inner if path.endswith(f".{name}")]
    return f"{message}; it has {', '.join([*dict.fromkeys([*exact, *near, *inner])][:3] or own)}"


class IndexedReport(Report, Generic[Item]):
    """Report of several results, which are counted, iterated over, and found by name.

    ``report["q1"]`` is the result of this id, ``report[0]`` the first.  A report is neither true
    nor false, since a verdict may be undecided.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def _items(self) -> tuple[Item, ...]:
        """Results of the report, in its order."""

    @abstractmethod
    def _name(self, item: Item) -> str:
        """Name by which a result is found."""

    def __len__(self) -> int:
        """Number of results."""
        return len(self._items)

    def __iter__(self) -> Iterator[Item]:
        """Iterate over the results, in the order of the report."""
        return iter(self._items)

    def __getitem__(self, key: str | int) -> Item:
        """Result by its name or its place.

        Raises
        ------
        KeyError
            No result has this name.
        IndexError
            There are not so many results.
        """
        if isinstance(key, int):
            return self._items[key]
        found = next((item for item in self._items if self._name(item) == key), None)
        if found is None:
            queries = [each.id for each in getattr(self, "queries", ())]
            if key in queries:
                place = f"report.queries[{queries.index(key)}]"
                raise KeyError(f"a report of copies is read by their names; {place} is this query")
            names = [self._name(item) for item in self._items]
            near = get_close_matches(str(key), names, n=3, cutoff=0.4) or names[:5]
            raise KeyError(f"the report has no {key!r}; it has {', '.join(near) or 'no result'}")
        return found

    def __bool__(self) -> bool:
        """Refuse to be true or false.

        Raises
        ------
        TypeError
            Always.
        """
        raise TypeError(
            f"a report is neither true nor false; ask its results, such as "
            f"{self._question}, or len(report) for their number"
        )

    _question: ClassVar[str] = "report[0].standing"


class CurvedReport(ABC):
    """Mix-in of the reports whose queries have operating characteristic curves."""

    __slots__ = ()

    @abstractmethod
    def _curved_queries(self) -> Sequence[QueryFacts]:
        """Queries of the report, which hold the curves."""

    def plot_operating_characteristic(
        self,
        id: str | None = None,  # noqa: A002 - the name that queries go by
        ax: Axes | None = None,
    ) -> Axes:
        """Draw the chance of a yes against the true gap, for the decider and its best rivals.

        Parameters
        ----------
        id
            Id of the query; None stands for the first query.
        ax
            Axes to draw on.  Without ``ax``, the plot gets a new figure, which pyplot does not
            manage.  A notebook shows the figure if the axes are the last value of a cell.
            ``ax.figure.savefig(...)`` writes it to a file.

        Returns
        -------
        matplotlib.axes.Axes
            Axes that the plot was drawn on; the plot depends on public data only.

        Raises
        ------
        ParameterError
            There is no such query, or the report was made without ``detailed=True``.
        """
        return cast("Axes", rendering("plot")(self._curved_queries(), id, ax))
