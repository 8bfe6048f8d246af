"""The swaps that are tested: a command on one workload, its tables, noises and renderings."""

from typing import Any

from pqd.deciders import DECIDERS
from pqd.engine.scan_plan import PrivacyUnit
from pqd.sql.grouping import Bins
from pqd.sql.query import Query
from pqd.sql.workload_files import as_queries
from pqd.stated.queries import scaled
from tests.support.private_tables import (
    AGE_TABLES,
    AGES,
    CANARY,
    OTHER_PAY,
    PAY,
    PAY_FILES,
    PAY_TABLES,
    PERSON_TABLES,
    PERSONS,
    WORKER_TABLES,
    WORKERS,
    csv_of,
    many_persons,
    named,
)
from tests.support.swaps import (
    BUILD,
    EVERY,
    RECORDS,
    SCREEN,
    Swap,
    attacks,
    audit,
    check,
    check_of_held_out,
    compare,
    from_file,
    gate,
    held_out,
    of_held_out,
    profile,
    rank,
    release,
    risk,
    twice,
)

NEAR, BOTH, ALL = (
    dict.fromkeys(names, SCREEN) for names in (["near"], ["near", "far below"], RECORDS)
)
NEIGHBOUR, MANY, NONE = "a neighbour", "many other rows", "no rows"
NULL, TEXTS, EXTREMES = "nothing but NULL", "texts for numbers", "extremes"

# Pay and jobs -------------------------------------------------------------------------------------

WHERE = "age > 25 AND job <> 'nurse' AND YEAR(born) = 1990"
OPERANDS = {
    "COUNT": "COUNT(*)",
    "COUNT DISTINCT": "COUNT(DISTINCT job)",
    "SUM": "SUM(pay)",
    "AVG": "AVG(age)",
    "MEDIAN": "MEDIAN(age)",
    "QUANTILE": "QUANTILE(age, 0.25)",
}
AGGREGATES = [f"SELECT {operand} FROM D WHERE {WHERE}" for operand in OPERANDS.values()]
BOUNDED = {"age": {"bounds": (0, 99)}}
ROWS = "SELECT COUNT(*) FROM D"
PER_ROW = scaled(as_queries([AGGREGATES[0], AGGREGATES[2]]), "rows")
SHARES = scaled(as_queries(f"{ROWS} WHERE age > 45 GROUP BY job"), "rows")
LONG = " * ".join(["LENGTH(job)"] * 6)
CONDITIONS = ["job <> 'x'", f"{LONG} > 0", "job ILIKE 'X%' OR age * age * age > 1e300"]
PRIVATE = 'path = "private.parquet"'
SPEC = """
[private]
path = "private.parquet"
[synthetic.copy]
path = "copy.parquet"
[defaults]
tau = 1.5
epsilon = 0.5
[columns.age]
bounds = [0, 99]
[[check]]
id = "count"
sql = "SELECT COUNT(*) FROM D WHERE age > 25"
[[check]]
id = "by-job"
sql = "SELECT job, COUNT(*) FROM D GROUP BY job"
[[check]]
id = "middle"
sql = "SELECT MEDIAN(age) FROM D"
"""
DISTANCE_SPEC = """
[private]
path = "private.parquet"
[synthetic.copy]
path = "copy.parquet"
[defaults]
tau = "20%"
epsilon = 0.5
[columns.age]
cells = [0, 30, 60]
[[check]]
id = "pair"
marginal = ["job", "age"]
[[check]]
id = "ordered"
marginal = ["pay"]
distance = "ks"
[[check]]
id = "way"
marginal = ["age"]
distance = "emd"
[[check]]
id = "quality"
score = "overall"
at_least = "60%"
[[check]]
id = "near"
alarm = "overall"
[[check]]
id = "count"
sql = "SELECT COUNT(*) FROM D WHERE age > 25"
"""
SHARED_DISTANCES = (
    DISTANCE_SPEC.replace("epsilon = 0.5", "") + "[shared_budget]\ntotal_epsilon = 2\n"
)
GATED_SPEC = (
    DISTANCE_SPEC.replace("epsilon = 0.5", "")
    + '[[check]]\nid = "by-job"\nsql = "SELECT job, COUNT(*) FROM D GROUP BY job"\n'
    + "[budget]\ngate = 0.5\nnames = 1\n"
)
SCALED_SPEC = (
    GATED_SPEC
    + """
[[check]]
id = "share"
sql = "SELECT COUNT(*) FROM D WHERE age > 35"
scale = "rows"
[[check]]
id = "pay"
sql = "SELECT SUM(pay) FROM D WHERE age > 25"
scale = "rows"
[columns.pay]
bounds = [0, 10]
"""
)
SWAPS: dict[str, Swap] = {
    f"audit by {decider}": Swap(
        audit(PAY, f"SELECT {OPERANDS[made.aggregate]} FROM D WHERE {WHERE}", decider=decider),
        named(PAY_TABLES, NEIGHBOUR, MANY, NONE, TEXTS, EXTREMES),
        BOTH,
        differing=[NEIGHBOUR, MANY, NONE] if decider == "inv_count" else (),
    )
    for decider, made in DECIDERS.items()
}
SWAPS |= {
    "audit of every aggregate": Swap(audit(PAY, AGGREGATES, columns=BOUNDED), PAY_TABLES),
    "audit in detail": Swap(
        audit(PAY, AGGREGATES, columns=BOUNDED, detailed=True),
        PAY_TABLES,
        {"near": EVERY, "far below": EVERY},
        differing=[NEIGHBOUR, MANY],
    ),
    "audit of files": Swap(from_file(audit(PAY, AGGREGATES)), PAY_FILES),
    "audit per row": Swap(
        audit(PAY, PER_ROW, columns=BOUNDED, private_rows=9),
        PAY_TABLES,
        {"near": EVERY, "far below": SCREEN},
        differing=[NEIGHBOUR, MANY],
    ),
    "audit per row of files": Swap(from_file(audit(PAY, PER_ROW)), PAY_FILES),
    "audit per row of people": Swap(
        audit(PERSONS, SHARES, options={"unit": PrivacyUnit("PID", 3)}), PERSON_TABLES
    ),
    "audit with a released number of rows": Swap(
        twice(
            lambda account: audit(
                PAY, ROWS, decider="noisy_count", tau=1, options={"accountant": account}
            )
        ),
        named(PAY_TABLES, NEIGHBOUR, MANY, NONE),
        {"far above": EVERY},
    ),
    "audit of two": Swap(
        audit(PAY, ["SELECT COUNT(*) FROM D", "SELECT SUM(pay) FROM D"]), PAY_TABLES
    ),
    **{
        f"audit of frames where {where}": Swap(
            audit(AGES, ["SELECT SUM(age) FROM D", f"SELECT COUNT(*) FROM D WHERE {where}"]),
            AGE_TABLES,
        )
        for where in CONDITIONS
    },
    "check": Swap(
        check(PAY, SPEC),
        named(PAY_TABLES, NEIGHBOUR, MANY, NONE, EXTREMES),
        {"near": (*EVERY, *BUILD)},
        differing=[NEIGHBOUR, MANY, NONE],
    ),
    "check of distances": Swap(
        check(PAY, DISTANCE_SPEC),
        named(PAY_TABLES, NEIGHBOUR, MANY, NONE, NULL, TEXTS, EXTREMES),
        {"near": (*EVERY, *BUILD), "far below": SCREEN},
        differing=[NEIGHBOUR, MANY, NONE],
    ),
    "check of distances that share": Swap(
        check(PAY, SHARED_DISTANCES), named(PAY_TABLES, NEIGHBOUR, MANY)
    ),
}

# Groups, bins and privacy units -------------------------------------------------------------------

STATED = Query("SELECT COUNT(*) FROM D GROUP BY job", id="stated", keys=(("cook",), (CANARY[:0],)))
BINNED = Bins.parse('"capital-gain"=0:10:2.5').of(
    Query("SELECT COUNT(*) FROM D WHERE job <> 'nurse'", id="bins")
)
GROUPS = [
    "SELECT COUNT(*) FROM D GROUP BY job",
    "SELECT COUNT(DISTINCT age) FROM D WHERE age > 45 GROUP BY retired, job",
    "SELECT SUM(age) FROM D WHERE age > 45 GROUP BY age",
    'SELECT MEDIAN("capital-gain") FROM D GROUP BY retired',
]
NEITHER = [
    "SELECT COUNT(*) FROM D WHERE job <> 'nurse'",
    'SELECT SUM("capital-gain") FROM D',
    "SELECT AVG(age) FROM D WHERE retired",
    "SELECT QUANTILE(age, 0.25) FROM D",
    "SELECT COUNT(DISTINCT pid) FROM D",
]
GAIN = {"capital-gain": {"bounds": (0, 10), "step": "0.25"}}
FACTS = {"age": {"bounds": (0, 99)}, **GAIN}
PEOPLE, OF_THREE, BY_AGE = PrivacyUnit("pid"), PrivacyUnit("PID", 3), PrivacyUnit("age", 2)
UNITS: dict[str, tuple[Any, Any, PrivacyUnit | None]] = {
    "groups, rows": (GROUPS, FACTS, None),
    "groups, people of three rows": (GROUPS, FACTS, OF_THREE),
    "bins, rows": ([*BINNED, STATED], GAIN, None),
    "bins, people": ([*BINNED, STATED], GAIN, PEOPLE),
    "neither, people of three rows": (NEITHER, FACTS, OF_THREE),
    "neither, ages": (NEITHER, FACTS, BY_AGE),
}
SWAPS |= {
    f"audit of {name}": Swap(
        audit(PERSONS, queries, columns=facts, options={"unit": unit}),
        PERSON_TABLES,
        BOTH if name == "groups, people of three rows" else NEAR,
        differing=[NEIGHBOUR, MANY, NONE],
        secrets=(CANARY, "77777"),
    )
    for name, (queries, facts, unit) in UNITS.items()
}
SWAPS |= {
    f"audit of files, {name}": Swap(
        from_file(audit(PERSONS, [*GROUPS[:2], *BINNED], columns=FACTS, options={"unit": unit})),
        csv_of(PERSON_TABLES),
    )
    for name, unit in {"rows": None, "people of three rows": OF_THREE}.items()
}

# Batches and releases -----------------------------------------------------------------------------

MIXED = [
    *(f"SELECT COUNT(*) FROM D WHERE age > {age}" for age in (10, 20, 30)),
    "SELECT COUNT(*) FROM D GROUP BY job",
    "SELECT SUM(pay) FROM D",
    "SELECT SUM(pay) FROM D WHERE age > 30 AND job = 'cook'",
    "SELECT MEDIAN(age) FROM D",
]
BATCHES = ["auto", "alone", "workload", "identity", "numerical"]
BATCH_SPEC = """
[private]
path = "private.parquet"
[synthetic.copy]
path = "copy.parquet"
[shared_budget]
total_epsilon = "3/5"
sharing = "identity"
[defaults]
tau = 30
[[check]]
id = "old"
sql = "SELECT COUNT(*) FROM D WHERE age > 40"
[[check]]
id = "jobs"
sql = "SELECT job, COUNT(*) FROM D GROUP BY job"
[[check]]
id = "middle"
sql = "SELECT MEDIAN(age) FROM D"
[[check]]
id = "own"
sql = "SELECT COUNT(*) FROM D WHERE age > 20"
epsilon = "1/4"
"""
RELEASED = [
    "SELECT COUNT(*) FROM D WHERE age > 30",
    "SELECT COUNT(*) FROM D GROUP BY job",
    "SELECT COUNT(pay) FROM D WHERE job <> 'nurse'",
    "SELECT SUM(pay) FROM D",
    "SELECT SUM(pay) FROM D WHERE age > 30 AND job = 'cook'",
    "SELECT SUM(debt) FROM D WHERE age > 30",
]
RANGE_SUMS = [f"SELECT SUM(pay) FROM D WHERE pay {rule}" for rule in ("> 3", "<= 6", "< 9")]
DEBT = {"debt": {"bounds": (-50, 50)}}
OTHERS = "as many other rows"
# Those that have pages; of the others the text is compared.
PAGED = ("auto", "workload", "numerical", "clipped_composition")
SWAPS |= {
    f"audit of a batch, {batch}": Swap(
        audit(WORKERS, [MIXED[0], *MIXED[3:5]], tau=20, detailed=True, options={"sharing": batch}),
        WORKER_TABLES
        if batch in {"alone", "identity"}
        else named(WORKER_TABLES, OTHERS, MANY, EXTREMES),
        {"near": EVERY, "far below": SCREEN} if batch == "identity" else {"near": EVERY},
        differing=[OTHERS, MANY, NONE] if batch == "identity" else (),
    )
    for batch in BATCHES
}
SWAPS |= {
    "check of a gate": Swap(
        check(PAY, GATED_SPEC),
        named(PAY_TABLES, NEIGHBOUR, MANY, NONE, NULL, TEXTS, EXTREMES),
        {"near": (*EVERY, *BUILD), "far below": SCREEN, "far above": SCREEN},
        differing=[NEIGHBOUR, MANY, NONE],
    ),
    "check of a gate per row": Swap(
        check(PAY, SCALED_SPEC.replace(PRIVATE, f"{PRIVATE}\nrows = 9")),
        named(PAY_TABLES, NEIGHBOUR, MANY, NONE, NULL, TEXTS, EXTREMES),
        {"near": SCREEN, "far below": SCREEN, "far above": SCREEN},
    ),
    "gate of a table": Swap(
        gate(WORKERS, tau="20%"),
        named(WORKER_TABLES, OTHERS, MANY, NONE, NULL, TEXTS, EXTREMES),
        {"near": EVERY, "far below": SCREEN},
        differing=[OTHERS, MANY, NONE],
    ),
    "gate of a table of people": Swap(
        gate(many_persons(900), tau="20%", options={"unit": OF_THREE}), PERSON_TABLES
    ),
    "check of a batch": Swap(
        check(WORKERS, BATCH_SPEC), named(WORKER_TABLES, OTHERS, MANY, NONE), {"near": EVERY}
    ),
    **{
        f"release, {mechanism}": Swap(
            release(RELEASED, mechanism, columns=DEBT),
            WORKER_TABLES,
            dict.fromkeys(RECORDS, EVERY if mechanism in PAGED else SCREEN),
            differing=[OTHERS, MANY, NONE] if mechanism in PAGED else (),
        )
        for mechanism in (*PAGED, "identity", "normalization")
    },
    **{
        f"release of persons, {mechanism}": Swap(
            release(RELEASED, mechanism, columns=DEBT, options={"unit": PrivacyUnit("age")}),
            named(WORKER_TABLES, OTHERS, MANY, NONE, NULL, EXTREMES),
            differing=[OTHERS, MANY],
        )
        for mechanism in ("workload", "joint")
    },
    "audit of persons, one budget": Swap(
        audit(
            *(WORKERS, RELEASED[:5]),
            columns=DEBT,
            options={"unit": PrivacyUnit("age"), "sharing": "joint"},
        ),
        named(WORKER_TABLES, OTHERS, MANY, NONE, NULL, EXTREMES),
    ),
    "release of range sums": Swap(release(RANGE_SUMS, "ranges"), WORKER_TABLES, ALL),
    "release with a ledger": Swap(
        twice(lambda account: release(RELEASED, columns=DEBT, options={"accountant": account})),
        named(WORKER_TABLES, OTHERS, MANY),
    ),
}

# Comparisons --------------------------------------------------------------------------------------

CANDIDATES = {"first": PAY, "second": OTHER_PAY}
HELD_OUT = OTHER_PAY.iloc[1:]
COMPARED = [
    *AGGREGATES,
    "SELECT COUNT(*) FROM D GROUP BY job",
    "SELECT SUM(age) FROM D WHERE age > 25 GROUP BY job",
]
SHORT = [AGGREGATES[0], AGGREGATES[1], AGGREGATES[2], AGGREGATES[4]]
ESTIMATORS = {
    "auto": {"near": EVERY, "far below": EVERY},
    "split": {"far above": EVERY},
    "exponential": {"near": EVERY},
    "race_to_the_top": {"far above": EVERY},
}
SWAPS |= {
    f"comparison by {estimator}": Swap(
        compare(CANDIDATES, COMPARED, estimator=estimator),
        named(PAY_TABLES, NEIGHBOUR, MANY, NONE, EXTREMES),
        records,
    )
    for estimator, records in ESTIMATORS.items()
}
SWAPS |= {
    f"comparison with tau {tau} and epsilon {epsilon}": Swap(
        compare(CANDIDATES, COMPARED, tau=tau, epsilon=epsilon, columns=BOUNDED),
        named(PAY_TABLES, NEIGHBOUR, MANY, NULL, "long text"),
        {"near": EVERY},
    )
    for tau, epsilon in [("1%", "50"), ("90%", "0.01"), ("3", "0.5")]
}
COMPARED_FILES = ("lines of other lengths", "open quote", "no text", "zero byte")
SWAPS |= {
    "comparison": Swap(
        compare(CANDIDATES, SHORT),
        named(PAY_TABLES, NEIGHBOUR, MANY, NONE, EXTREMES),
        dict.fromkeys(RECORDS, SCREEN),
        differing=[NEIGHBOUR, MANY, NONE],
    ),
    "comparison with references": Swap(
        compare(CANDIDATES, COMPARED, references=1),
        named(PAY_TABLES, NEIGHBOUR, MANY, NONE, TEXTS),
        {"near": EVERY},
        words="independent marginals",
    ),
    "comparison with references, short": Swap(
        compare(CANDIDATES, SHORT, references=1),
        named(PAY_TABLES, NEIGHBOUR, MANY),
        differing=[NEIGHBOUR, MANY],
    ),
    "comparison per row": Swap(
        compare(CANDIDATES, PER_ROW),
        named(PAY_TABLES, NEIGHBOUR, MANY, NONE, EXTREMES),
        {"near": EVERY},
    ),
    "comparison of files": Swap(
        from_file(compare(CANDIDATES, COMPARED)),
        named(PAY_FILES, NEIGHBOUR, NONE, *COMPARED_FILES),
        {"near": EVERY},
    ),
    "comparison with a ledger": Swap(
        twice(
            lambda account: compare(
                CANDIDATES, SHORT, references=1, options={"accountant": account}
            )
        ),
        named(PAY_TABLES, NEIGHBOUR, MANY),
        {"near": EVERY},
    ),
    "comparison per person": Swap(
        compare(CANDIDATES, SHORT, options={"unit": PrivacyUnit("born", 2)}),
        named(PAY_TABLES, NEIGHBOUR, MANY, NONE),
        {"near": EVERY},
    ),
}

# Rankings -----------------------------------------------------------------------------------------

SWAPS |= {
    "ranking": Swap(
        rank(CANDIDATES, marginals=True),
        PAY_TABLES,
        {"near": EVERY, "far above": SCREEN},
        differing=[NEIGHBOUR, MANY, NONE],
    ),
    "ranking of files": Swap(from_file(rank(CANDIDATES)), PAY_FILES),
    "ranking of people of three rows": Swap(
        rank({"first": PERSONS, "second": PERSONS.assign(age=1)}, options={"unit": OF_THREE}),
        PERSON_TABLES,
        {"near": EVERY},
    ),
    "ranking with a ledger": Swap(
        twice(lambda account: rank(CANDIDATES, options={"accountant": account})),
        named(PAY_TABLES, NEIGHBOUR, MANY, NONE),
        {"near": EVERY},
    ),
}

# Profiles -----------------------------------------------------------------------------------------

ZOOMED = {"zoom": 3, "distances": ["ks", "emd"]}
SWAPS |= {
    "profile": Swap(
        profile(PAY, **ZOOMED), PAY_TABLES, {"near": EVERY}, differing=[NEIGHBOUR, MANY, NONE]
    ),
    "profile at the ends of noise": Swap(
        profile(PAY, **ZOOMED),
        named(PAY_TABLES, NEIGHBOUR, NONE),
        {"far below": EVERY, "far above": EVERY},
    ),
    "profile of files": Swap(
        from_file(profile(PAY, **ZOOMED)),
        named(PAY_FILES, NEIGHBOUR, NONE, EXTREMES, *COMPARED_FILES, "long line"),
    ),
    "profile of frames": Swap(
        profile(AGES, zoom=1, cells={"age": [0, 30, 90]}),
        # Neighbouring tables share one schema, and names of columns are told.
        {name: table for name, table in AGE_TABLES.items() if "aside" not in table},
    ),
    "profile of triples": Swap(
        profile(WORKERS, ways=3, total_epsilon="0.1"), named(WORKER_TABLES, OTHERS, MANY, TEXTS)
    ),
    "profile with Gaussian noise": Swap(
        profile(WORKERS, delta="1e-6"), named(WORKER_TABLES, OTHERS, MANY, NONE)
    ),
    "profile of files with a target": Swap(
        from_file(profile(PAY, target="job")), named(PAY_FILES, NEIGHBOUR, NONE, *COMPARED_FILES)
    ),
    "profile with a target": Swap(
        profile(WORKERS, target="job", zoom=1),
        named(WORKER_TABLES, OTHERS, MANY, NONE, TEXTS),
        {"near": EVERY},
        differing=[OTHERS, MANY, NONE],
    ),
    "profile with a ledger": Swap(
        twice(lambda account: profile(PAY, **ZOOMED, options={"accountant": account})),
        named(PAY_TABLES, NEIGHBOUR, MANY),
    ),
    "profile of people": Swap(
        profile(PERSONS, **ZOOMED, options={"unit": PEOPLE}),
        named(PERSON_TABLES, NEIGHBOUR, MANY, "one person"),
    ),
    "profile of people of three rows": Swap(
        profile(PERSONS, **ZOOMED, options={"unit": OF_THREE}),
        PERSON_TABLES,
        {"near": EVERY},
        differing=[NEIGHBOUR, MANY, NONE],
    ),
    "profile of files, people of three rows": Swap(
        from_file(profile(PERSONS, **ZOOMED, options={"unit": OF_THREE})),
        named(csv_of(PERSON_TABLES), NEIGHBOUR, MANY, NONE, "one person"),
    ),
}

# Risk ---------------------------------------------------------------------------------------------

RISK_SPEC = """
[private]
path = "private.parquet"
[held_out]
path = "held.parquet"
[synthetic.copy]
path = "copy.parquet"
[risk]
total_epsilon = 1
secrets = ["job"]
[[check]]
id = "count"
sql = "SELECT COUNT(*) FROM D WHERE age > 25"
tau = 1.5
epsilon = 0.5
[[check]]
id = "copied"
risk = "copied"
[[check]]
id = "nobody"
risk = "all"
tau = "5%"
"""
SWAPS |= {
    "risk": Swap(
        risk(PAY, OTHER_PAY, secrets=["job"]),
        PAY_TABLES,
        {"near": EVERY, "far below": EVERY, "far above": SCREEN},
        differing=[NEIGHBOUR, MANY, NONE],
    ),
    "risk without held-out rows": Swap(risk(PAY, None), PAY_TABLES, {"near": EVERY}),
    "risk of held-out rows": Swap(
        held_out(OTHER_PAY, PAY), PAY_TABLES, {"near": EVERY}, differing=[NEIGHBOUR, MANY, NONE]
    ),
    "risk of files": Swap(
        from_file(risk(PAY, OTHER_PAY, known=["age", "born"])),
        named(PAY_FILES, NEIGHBOUR, NONE, EXTREMES, *COMPARED_FILES, "long line"),
    ),
    "check of risk": Swap(
        check(PAY, RISK_SPEC, OTHER_PAY),
        named(PAY_TABLES, NEIGHBOUR, MANY, NONE, NULL, TEXTS, EXTREMES),
        {"near": (*EVERY, *BUILD), "far below": SCREEN},
        differing=[NEIGHBOUR, MANY, NONE],
    ),
    "check of risk of held-out rows": Swap(
        check_of_held_out(OTHER_PAY, PAY, RISK_SPEC),
        named(PAY_TABLES, NEIGHBOUR, MANY, NONE, EXTREMES),
        {"near": (*EVERY, *BUILD)},
    ),
    "risk with trees": Swap(
        risk(PAY, OTHER_PAY, secrets=["job"], learner="trees"),
        named(PAY_TABLES, NEIGHBOUR, MANY, NONE),
        {"near": EVERY},
    ),
    "risk of people": Swap(
        risk(PERSONS, PERSONS.iloc[::-1].assign(age=1), options={"unit": PEOPLE}),
        named(PERSON_TABLES, NEIGHBOUR, MANY, NONE, "one person"),
        {"near": EVERY},
        differing=[NEIGHBOUR, MANY, NONE],
    ),
    "risk with a ledger": Swap(
        twice(lambda account: risk(PAY, OTHER_PAY, options={"accountant": account})),
        named(PAY_TABLES, NEIGHBOUR, MANY),
    ),
    "ranking with attacks": Swap(
        rank(CANDIDATES, options={"risk": attacks(HELD_OUT)}),
        PAY_TABLES,
        {"near": EVERY, "far above": SCREEN},
        differing=[NEIGHBOUR, MANY, NONE],
    ),
    "ranking with attacks on held-out rows": Swap(
        of_held_out(HELD_OUT, lambda rows: rank(CANDIDATES, options={"risk": attacks(rows)})),
        PAY_TABLES,
        # A ranking shows the worst attack on each copy alone; JSON has all that was released.
        {"far below": ["text", "json"], "near": EVERY},
        differing=[NEIGHBOUR, MANY, NONE],
    ),
    "ranking with attacks and a ledger": Swap(
        twice(
            lambda account: rank(
                CANDIDATES,
                options={"accountant": account, "risk": attacks(HELD_OUT, accountant=account)},
            )
        ),
        named(PAY_TABLES, NEIGHBOUR, MANY),
    ),
    "profile with attacks": Swap(
        profile(PAY, options={"risk": attacks(OTHER_PAY)}),
        PAY_TABLES,
        {"near": EVERY, "far above": SCREEN},
        differing=[NEIGHBOUR, MANY, NONE],
    ),
    "profile with attacks on held-out rows": Swap(
        of_held_out(OTHER_PAY, lambda rows: profile(PAY, options={"risk": attacks(rows)})),
        PAY_TABLES,
        # The frame of a profile has its distances alone.
        {"near": [each for each in EVERY if each != "frame"]},
        differing=[NEIGHBOUR, MANY, NONE],
    ),
    "profile with attacks and a ledger": Swap(
        twice(
            lambda account: profile(
                PAY,
                zoom=1,
                options={"accountant": account, "risk": attacks(OTHER_PAY, accountant=account)},
            )
        ),
        named(PAY_TABLES, NEIGHBOUR, MANY),
    ),
}
