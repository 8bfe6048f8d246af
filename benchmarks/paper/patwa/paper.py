"""The paper of DP-PQD: its experiments and its items, in the order of the paper."""

from functools import partial

from benchmarks.paper.patwa import claims, claims_by_aggregate, closed_forms, pictures, real
from benchmarks.paper.patwa.cases import answers, printed_answers
from benchmarks.paper.patwa.errors import errors
from benchmarks.paper.patwa.seconds import seconds
from benchmarks.paper.record import Experiment, Item, Paper


def ids(table: str, aggregate: str) -> list[str]:
    """Ids of the queries of Table 5 (cps) or Table 6 (taxi) with an aggregate."""
    return [
        row.id
        for row in printed_answers().values()
        if row.table == table and row.aggregate == aggregate
    ]


COUNT, SUM, MEDIAN = (f"patwa-{name}" for name in ("count", "sum", "median"))
_TABLES = {"COUNT": COUNT, "SUM": SUM, "MEDIAN": MEDIAN}
_MAIN = {
    "COUNT": ("q1", "q3", "q5", "q12"),
    "SUM": ("q13", "q16", "q20", "q21"),
    "MEDIAN": ("q22", "q23", "q28", "q29"),
}
_CLAIMS = {
    5: claims_by_aggregate.count_by_tau,
    6: claims_by_aggregate.count_by_epsilon,
    7: claims_by_aggregate.sum_by_tau,
    8: claims_by_aggregate.sum_by_epsilon,
    9: claims_by_aggregate.median_by_tau,
    10: claims_by_aggregate.median_by_epsilon,
}


def _sweeps(first: int, tables: tuple[str, ...], *, main: bool) -> list[Item]:
    """Items of the figures that vary tau, then epsilon, for each aggregate and table."""
    items = []
    number = first
    for aggregate, name in _TABLES.items():
        for table in tables:
            queries = _MAIN[aggregate] if main else ids(table, aggregate)
            for along in ("tau", "epsilon"):
                items.append(
                    Item(
                        f"Figure {number}",
                        f"{aggregate} on the {'census' if table == 'cps' else 'taxi'} table, "
                        f"{len(queries)} queries, as {along} varies",
                        (name,),
                        pictures.sweep(queries, along),
                        _CLAIMS.get(number),
                    )
                )
                number += 1
    return items


PATWA = Paper(
    key="patwa",
    title="DP-PQD (Patwa et al. 2023)",
    about=(
        "Lines are exact errors from closed forms or one integral (`accept`), marks the share of "
        "wrong answers in 100 seeded trials, as the paper has it.\n"
        "The dotted line marks the smallest tau whose interval holds q(D).\n"
        "COUNT needs only the printed answers q(D) and q(Ds) of the paper's Tables 5 and 6, and so "
        "does LM for SUM.\n"
        "For the other deciders the values are those of the generated census (1,340,703 rows) and "
        "taxi (2,177,719 rows) tables.\n"
        "They are drawn until their sum and their largest value are the printed ones, or shifted "
        "until their median is: so q(D), q(Ds) and DS are the paper's, and the shape is ours.\n"
        "The same 60 queries with the generated tables' own answers stand in the same CSV files "
        "(`answers` is `generated`).\n"
        "tau is rounded up to a whole number, as in the paper's code (errata, number 8)."
    ),
    experiments=(
        Experiment("patwa-figure-1", real.figure_1, (real.ADULT, real.ADULT_COPY)),
        Experiment("patwa-answers", answers),
        Experiment("patwa-figure-4", closed_forms.figure_4),
        Experiment("patwa-examples", closed_forms.examples),
        Experiment("patwa-table-4", closed_forms.thresholds),
        Experiment(SUM, partial(errors, "SUM")),
        Experiment(COUNT, partial(errors, "COUNT")),
        Experiment(MEDIAN, partial(errors, "MEDIAN")),
        Experiment("patwa-table-3", seconds, timed=True),
        Experiment("patwa-real", real.real_errors, real.NEEDS),
    ),
    items=(
        Item(
            "Figure 1",
            "capital gains in Adult and in a PrivBayes copy",
            ("patwa-figure-1",),
            pictures.histogram,
            claims.figure_1,
        ),
        Item(
            "Figure 2 and Table 1",
            "the workflow, and the notation",
            (),
            note="A drawing and a list without numbers: [architecture.md](architecture.md) has our "
            "pipeline, [glossary.md](glossary.md) the paper's symbols.",
        ),
        Item(
            "Tables 2, 5 and 6",
            "the queries and their answers",
            ("patwa-answers",),
            None,
            claims.queries,
            "The queries stand in `samples/census.sql` and `samples/taxi.sql`, the printed answers "
            "in `samples/paper_answers.csv`.",
        ),
        Item("Figure 3", "the score u' of EM count", (), pictures.score),
        Item(
            "Figure 4",
            "LM and EM count against q(D); epsilon 0.1, q(Ds) = 749",
            ("patwa-figure-4", COUNT),
            lambda profiles, _: pictures.profiles(profiles),
            claims.section_4,
        ),
        Item("Section 5", "thresholds, and SVT", ("patwa-examples", SUM), None, claims.section_5),
        Item("Section 6.2", "the example of EM and Hist", (), None, claims.section_6),
        *_sweeps(5, ("cps",), main=True),
        Item(
            "Figure 11",
            "SUM on the taxi table, q45 and q50, as tau and epsilon vary",
            (SUM, "patwa-real"),
            lambda sums, _: pictures.sweep(("q45", "q50"), "tau", "epsilon")(sums),
            claims_by_aggregate.taxi_sums,
        ),
        Item(
            "Table 3",
            "seconds of a decision",
            ("patwa-table-3",),
            pictures.ratios,
            claims.table_3,
            "The printed seconds are of an Apple M1, ours of 2 cores, recorded with `TIMES=1`.",
        ),
        Item(
            "Table 4",
            "thresholds and recommendations",
            ("patwa-table-4", COUNT, SUM, MEDIAN),
            None,
            claims.table_4,
        ),
        Item("Section 7.2.3", "discussion", (COUNT, SUM, MEDIAN), None, claims.discussion),
        *_sweeps(12, ("cps", "taxi"), main=False),
        Item(
            "Beyond the paper",
            "the deciders on real tables: Adult, CPS, taxi trips",
            ("patwa-real",),
            pictures.real_means,
            None,
            "Adult with its PrivBayes copy and 22 queries; heads of household of CPS, 42 queries, "
            "and 230,000 taxi trips with the paper's 30 queries, each with a copy by the noisy "
            "network of `samples/treecopy.py`.",
        ),
    ),
)
