"""The three papers, in the order of the page."""

from benchmarks.paper.patwa.paper import PATWA
from benchmarks.paper.qiu.paper import QIU
from benchmarks.paper.record import Paper
from benchmarks.paper.wu.paper import WU

PAPERS: tuple[Paper, ...] = (PATWA, WU, QIU)
