"""Base of the reports that rank candidates: their leaderboard as a plot."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar, NamedTuple, cast

from pqd.reports.models.report import Report, rendering

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes


class BoardRow(NamedTuple):
    """Candidate in the plot of a leaderboard: its share between 0 and 1, with its interval.

    A ``reference`` was made for comparison, and is nobody's copy.
    """

    name: str
    share: float
    low: float
    high: float
    reference: bool = False


class BoardReport(Report):
    """Base of the reports of ``compare``; ``board_title`` says what the plot's axis measures."""

    __slots__ = ()
    board_title: ClassVar[str]

    @property
    @abstractmethod
    def simulated(self) -> bool:
        """Whether any noise was seeded."""

    @abstractmethod
    def _board(self) -> Sequence[BoardRow]:
        """Candidates, the best first."""

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the leaderboard: each candidate's share or quality, with its interval.

        Parameters
        ----------
        ax
            Where to draw.  Without it the axes have a figure of their own, which pyplot does not
            know: a notebook shows it where the axes are the last value of a cell, and
            ``ax.figure.savefig(...)`` writes it.

        Returns
        -------
        matplotlib.axes.Axes
            What was drawn on.

        Raises
        ------
        ParameterError
            Nothing was compared.
        """
        draw = rendering("plot_board")
        return cast("Axes", draw(self._board(), self.board_title, ax, simulated=self.simulated))
