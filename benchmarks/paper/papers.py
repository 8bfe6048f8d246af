"""The three papers, in the order of the page."""

from benchmarks.paper.qiu import QIU
from benchmarks.paper.record import Paper

PAPERS: tuple[Paper, ...] = (QIU,)
