"""Qiu et al. (KDD 2022): experiments, figures and claims."""

from benchmarks.paper import qiu_facts, qiu_runs
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
ITEMS: tuple[Item, ...] = ()

QIU = Paper("qiu", "Qiu et al. 2022, Releasing Private Data for Numerical Queries", "", EXPERIMENTS, ITEMS)
