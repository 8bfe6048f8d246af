"""Base of the reports that rank candidates; it plots their leaderboard."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar, NamedTuple, cast

from pqd.reports.models.report import IndexedReport, Item, rendering

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes


class BoardRow(NamedTuple):
    """Candidate in the plot of a leaderboard: its share between 0 and 1, with an interval.

    ``low`` and ``high`` are the ends of the interval.  ``reference`` says that the table was made
    for comparison only.
    """

    name: str
    share: float
    low: float
    high: float
    reference: bool = False


class BoardReport(IndexedReport[Item]):
    """Base of the reports of ``compare``; ``board_title`` says what the axis of the plot shows."""

    __slots__ = ()
    board_title: ClassVar[str]

    @property
    @abstractmethod
    def simulated(self) -> bool:
        """Whether any noise was seeded."""

    @abstractmethod
    def _board(self) -> Sequence[BoardRow]:
        """Candidates, best first."""

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the leaderboard: the share or quality of each candidate, with its interval.

        Parameters
        ----------
        ax
            Axes to draw on.  Without ``ax``, the plot gets a new figure, which pyplot does not
            manage.  A notebook shows the figure if the axes are the last value of a cell.
            ``ax.figure.savefig(...)`` writes it to a file.

        Returns
        -------
        matplotlib.axes.Axes
            Axes that the plot was drawn on.

        Raises
        ------
        ParameterError
            Nothing was compared.
        """
        draw = rendering("plot_board")
        return cast("Axes", draw(self._board(), self.board_title, ax, simulated=self.simulated))
