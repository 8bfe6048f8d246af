"""The paper of Qiu et al. (KDD 2022): its experiments and its items."""

from functools import partial

import pandas as pd
from matplotlib.figure import Figure

from benchmarks.paper.qiu import claims, facts, pictures, runs
from benchmarks.paper.qiu import claims_figures_1_to_3 as first_figures
from benchmarks.paper.qiu import claims_figures_4_to_7 as last_figures
from benchmarks.paper.qiu.problems import ADULT, BANK, BLOOD, LINEITEM
from benchmarks.paper.record import Experiment, Item, Paper

_ABOUT = """\
The paper's figures do not print their epsilons; 0.25, 1 and 4 are ours.
Boxes are means over eight seeds: the maximum, the 75 %, 50 % and 25 % points of the errors of all queries.
A box that reaches the lower edge begins at 0.
Lines show the errors of *all zeros*, which answers every query by 0 and reads nothing.
*Algorithm 2* is the paper's mechanism (`numerical` in pqd), with T = 10; *two PMW* is that of section 3.2 (`numerical_two`).
A ratio is the geometric mean over the seeds, with its 95 % interval by Student's t in brackets.
A claim holds or fails at an epsilon if the interval lies on one side of its bar (1 unless it names another), else it is undecided.
With so many verdicts a few may be chance."""  # noqa: E501 - lines of the page
_TABLES = (ADULT, BANK, BLOOD)


def _first(frame: pd.DataFrame, *_: pd.DataFrame) -> Figure:
    return pictures.errors(frame)


def _bounds(census: pd.DataFrame, real: pd.DataFrame, *_: pd.DataFrame) -> Figure:
    return pictures.bounds(census, real)


QIU = Paper(
    "qiu",
    "Numerical queries (Qiu et al. 2022)",
    _ABOUT,
    (
        Experiment("qiu-facts", facts.facts, _TABLES),
        Experiment("qiu-facts-tpch", facts.facts_tpch, (LINEITEM,)),
        Experiment("qiu-bounds", facts.bounds, _TABLES),
        Experiment("qiu-bounds-census", facts.bounds_census),
        Experiment("qiu-growth", runs.growth),
        Experiment("qiu-guarantee", facts.guarantee, _TABLES),
        Experiment("qiu-options", runs.options, (BLOOD,)),
        Experiment("qiu-delta", runs.delta, (ADULT,)),
        Experiment("qiu-rounds", runs.rounds, (ADULT,)),
        Experiment("qiu-figure-1", runs.FIGURES["1"], (ADULT,)),
        Experiment("qiu-domain", runs.domain, (ADULT,)),
        Experiment("qiu-figure-2", runs.FIGURES["2"], (ADULT,)),
        Experiment("qiu-figure-3", runs.FIGURES["3"], (BANK,)),
        Experiment("qiu-figure-4", runs.FIGURES["4"], (BLOOD,)),
        Experiment("qiu-figure-5", runs.figure_5, (BLOOD,)),
        Experiment("qiu-figure-6", runs.FIGURES["6"], (BANK,)),
        Experiment("qiu-all-ranges", runs.all_ranges, (BANK,)),
        Experiment("qiu-work", facts.work, (BANK,)),
        Experiment("qiu-speed", facts.speed, (BANK,), timed=True),
        Experiment("qiu-figure-7", runs.FIGURES["7"], (LINEITEM,)),
        Experiment("qiu-census", runs.FIGURES["census"]),
    ),
    (
        Item(
            "Table 1",
            "bounds on the error of a query",
            ("qiu-bounds-census", "qiu-bounds", "qiu-growth", "qiu-figure-4"),
            _bounds,
            claims.table_1,
            "The picture has the four bounds over all queries, without constants and logarithms.\n"
            "The ticks of the table are judged by errors at epsilon 1: those of the same 1,700 "
            "queries on the generated census, and those of Figure 4.",
        ),
        Item("Example 1.2", "range-income queries", ("qiu-bounds-census",), None, claims.example),
        Item(
            "Section 3",
            "thresholds, errors, and one PMW in place of two",
            ("qiu-guarantee", "qiu-figure-4", "qiu-figure-6"),
            None,
            claims.section_3,
            "Runs on Adult (capital-loss), Transfusion and the age ranges on Bank.",
        ),
        Item(
            "Sections 4 and 5",
            "reduced universe, structured queries, lowest threshold",
            ("qiu-options", "qiu-figure-6"),
            None,
            claims.sections_4_and_5,
        ),
        Item(
            "Section 6",
            "tables, alpha, and delta",
            ("qiu-facts", "qiu-guarantee", "qiu-figure-1", "qiu-delta"),
            None,
            claims.setup,
        ),
        Item(
            "Figure 1",
            "Adult, aggregate loss",
            ("qiu-figure-1", "qiu-domain", "qiu-facts"),
            _first,
            first_figures.figure_1,
        ),
        Item(
            "Figure 2",
            "Adult, aggregate gain",
            ("qiu-figure-2", "qiu-figure-1"),
            _first,
            first_figures.figure_2,
        ),
        Item(
            "Rounds",
            "Adult, aggregate loss, more rounds T (ours)",
            ("qiu-rounds",),
            pictures.by_rounds,
            claims.rounds,
            "Eight seeds, and three at T = 200.",
        ),
        Item(
            "Figure 3",
            "Bank",
            ("qiu-figure-3", "qiu-figure-1", "qiu-facts"),
            _first,
            first_figures.figure_3,
            "Our table has all 45,211 rows of UCI's file, the paper's 41,445.",
        ),
        Item(
            "Figure 4",
            "Transfusion, varying epsilon",
            ("qiu-figure-4", "qiu-facts"),
            _first,
            last_figures.figure_4,
            "A donor's interval is counted in 2^-20 of a month; the lowest threshold b is 2^-6.",
        ),
        Item(
            "Figure 5",
            "Transfusion, varying Delta, epsilon 1",
            ("qiu-figure-5",),
            partial(pictures.errors, key="longest", label="largest time in months"),
            last_figures.figure_5,
        ),
        Item(
            "Figure 6",
            "range mechanism on Bank",
            ("qiu-figure-6", "qiu-all-ranges", "qiu-work", "qiu-speed"),
            _first,
            last_figures.figure_6,
            "Queries are the 1,045 age ranges alone, on positive balances.\n"
            "The seconds are recorded, with `TIMES=1`.",
        ),
        Item(
            "Figure 7",
            "TPC-H Q6 at scale 1",
            ("qiu-figure-7", "qiu-facts-tpch"),
            _first,
            last_figures.figure_7,
            "Revenues are whole dollars, rounded down.\n"
            "The table has 0.2 GB and is made in ten seconds, after `pip install tpchgen-cli`, by "
            "`tpchgen-cli parquet -s 1 --tables lineitem --output-dir FOLDER`.",
        ),
        Item(
            "Generated census",
            "the queries of Figure 1 on a table of this repository (ours)",
            ("qiu-census",),
            _first,
            first_figures.census,
            "Sums of incomes by age ranges and one or two educations: 34,485 queries on the 20,000 "
            "rows of `samples/census_private.parquet`, which need no real table.",
        ),
    ),
)
