"""Qiu et al. (KDD 2022): experiments, figures and claims."""

from functools import partial

from benchmarks.paper import qiu_claims as general
from benchmarks.paper import qiu_facts, qiu_pictures, qiu_runs
from benchmarks.paper import qiu_figure_claims as figures
from benchmarks.paper.qiu_problems import ADULT, BANK, BLOOD, LINEITEM
from benchmarks.paper.record import Experiment, Item, Paper

_TABLES = (ADULT, BANK, BLOOD)

EXPERIMENTS = (
    Experiment("qiu-facts", qiu_facts.facts, _TABLES),
    Experiment("qiu-facts-tpch", qiu_facts.facts_tpch, (LINEITEM,)),
    Experiment("qiu-bounds", qiu_facts.bounds, _TABLES),
    Experiment("qiu-bounds-census", qiu_facts.bounds_census),
    Experiment("qiu-growth", qiu_runs.growth),
    Experiment("qiu-guarantee", qiu_facts.guarantee, _TABLES),
    Experiment("qiu-options", qiu_runs.options, (BLOOD,)),
    Experiment("qiu-delta", qiu_runs.delta, (ADULT,)),
    Experiment("qiu-rounds", qiu_runs.rounds, (ADULT,)),
    Experiment("qiu-figure-1", qiu_runs.FIGURES["1"], (ADULT,)),
    Experiment("qiu-domain", qiu_runs.domain, (ADULT,)),
    Experiment("qiu-figure-2", qiu_runs.FIGURES["2"], (ADULT,)),
    Experiment("qiu-figure-3", qiu_runs.FIGURES["3"], (BANK,)),
    Experiment("qiu-figure-4", qiu_runs.FIGURES["4"], (BLOOD,)),
    Experiment("qiu-figure-5", qiu_runs.figure_5, (BLOOD,)),
    Experiment("qiu-figure-6", qiu_runs.FIGURES["6"], (BANK,)),
    Experiment("qiu-all-ranges", qiu_runs.all_ranges, (BANK,)),
    Experiment("qiu-work", qiu_facts.work, (BANK,)),
    Experiment("qiu-figure-7", qiu_runs.FIGURES["7"], (LINEITEM,)),
    Experiment("qiu-census", qiu_runs.FIGURES["census"]),
)

ITEMS = (
    Item(
        "Table 1", "bounds on the error of a query", 
        ("qiu-bounds-census", "qiu-bounds", "qiu-growth", "qiu-figure-4"),
        lambda census, real, *_: qiu_pictures.bounds(census, real),
        general.table_1,
        "The picture has the four bounds over all queries, without constants and logarithms.\n"
        "The ticks of the table are judged by errors at epsilon 1: those of the same 1,700 queries "
        "on the generated census, and those of Figure 4.",
    ),
    Item("Example 1.2", "range-income queries", ("qiu-bounds-census",), None, general.example),
    Item(
        "Section 3", "thresholds, errors, and one PMW in place of two",
        ("qiu-guarantee", "qiu-figure-4", "qiu-figure-6"), None, general.section_3,
        "Runs on Adult (capital-loss), Transfusion and the age ranges on Bank.",
    ),
    Item(
        "Sections 4 and 5", "reduced universe, structured queries, lowest threshold",
        ("qiu-options", "qiu-figure-6"), None,
        lambda options, ranges: [*general.options(options), *general.section_4(ranges)],
    ),
    Item(
        "Section 6", "tables, alpha, and delta", ("qiu-facts", "qiu-guarantee", "qiu-delta"), None,
        general.setup,
    ),
    Item(
        "Figure 1", "Adult, aggregate loss", ("qiu-figure-1", "qiu-domain", "qiu-facts"),
        lambda errors, *_: qiu_pictures.errors(errors), figures.figure_1,
    ),
    Item(
        "Figure 2", "Adult, aggregate gain", ("qiu-figure-2", "qiu-figure-1"),
        lambda errors, *_: qiu_pictures.errors(errors), figures.figure_2,
    ),
    Item(
        "Rounds", "Adult, aggregate loss, more rounds T (ours)", ("qiu-rounds",),
        qiu_pictures.by_rounds, general.rounds,
        "Eight seeds, and three at T = 200.",
    ),
    Item(
        "Figure 3", "Bank", ("qiu-figure-3", "qiu-figure-1", "qiu-facts"),
        lambda errors, *_: qiu_pictures.errors(errors), figures.figure_3,
        "Our table has all 45,211 rows of UCI's file, the paper's 41,445.",
    ),
    Item(
        "Figure 4", "Transfusion, varying epsilon", ("qiu-figure-4", "qiu-facts"),
        lambda errors, *_: qiu_pictures.errors(errors), figures.figure_4,
        "A donor's interval is counted in 2^-20 of a month, and the lowest threshold b is 2^-6 of "
        "a month.",
    ),
    Item(
        "Figure 5", "Transfusion, varying Delta, epsilon 1", ("qiu-figure-5",),
        partial(qiu_pictures.errors, key="longest", label="largest time in months"),
        figures.figure_5,
    ),
    Item(
        "Figure 6", "range mechanism on Bank", ("qiu-figure-6", "qiu-all-ranges", "qiu-work"),
        lambda errors, *_: qiu_pictures.errors(errors), figures.figure_6,
        "Queries are the 1,045 age ranges alone, on positive balances.",
    ),
    Item(
        "Figure 7", "TPC-H Q6 at scale 1", ("qiu-figure-7", "qiu-facts-tpch"),
        lambda errors, *_: qiu_pictures.errors(errors), figures.figure_7,
        "Revenues are whole dollars, rounded down.\n"
        "The table has 0.2 GB and is made in ten seconds, after `pip install tpchgen-cli`, by "
        "`tpchgen-cli parquet -s 1 --tables lineitem --output-dir FOLDER`.",
    ),
    Item(
        "Generated census", "the queries of Figure 1 on a table of this repository (ours)",
        ("qiu-census",), qiu_pictures.errors, figures.census,
        "Sums of incomes by age ranges and one or two educations: 34,485 queries on 20,000 rows "
        "from `samples/census_private.parquet`: nobody needs a real table for this one.",
    ),
)  # fmt: skip

QIU = Paper(
    "qiu",
    "Qiu et al. 2022, Releasing Private Data for Numerical Queries",
    "\n".join(
        (
            "The paper's figures do not print their epsilons; 0.25, 1 and 4 are ours.",
            "Boxes are means over eight seeds: the maximum, the 75 %, 50 % and 25 % points of the "
            "errors of all queries; a box that reaches the lower edge begins at 0.",
            "Lines show the errors of *all zeros*, which answers every query by 0 and reads nothing.",
            "*Algorithm 2* is the paper's mechanism (`numerical` in pqd), with T = 10; *two PMW* is "
            "its variant of section 3.2 (`numerical_two`).",
            "Each number is a ratio, the geometric mean over the seeds, with its 95 % interval by "
            "Student's t in brackets.",
            "A claim holds or fails at an epsilon if the interval lies on one side of the bar that "
            "the claim states (1 unless it says another), and is undecided otherwise.",
            "With so many verdicts a few may be chance.",
        )
    ),
    EXPERIMENTS,
    ITEMS,
)
