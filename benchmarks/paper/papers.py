"""The three papers, in the order of the page."""

from benchmarks.paper.patwa.paper import PATWA
from benchmarks.paper.qiu.paper import QIU
from benchmarks.paper.record import Paper

PAPERS: tuple[Paper, ...] = (PATWA, QIU)
