"""The sections and keys of a spec file; both the reader and the JSON Schema use this list."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from pqd.batches.mechanisms import RELEASING, SHARINGS
from pqd.deciders import DECIDERS
from pqd.engine.reading.text_format import DECIMALS, THOUSANDS
from pqd.planning.choose_decider import PAPER
from pqd.reports.models.risk import AttackId
from pqd.spec.value_types import (
    ALPHA,
    AT_LEAST,
    BINS,
    BOUNDS,
    BUDGET,
    CELLS,
    DELTA,
    FLAG,
    ID,
    KEYS,
    MARGINAL,
    NAMES,
    OPTIONS,
    PRICE,
    PRIVATE_ROWS,
    ROWS,
    SQL,
    STEP,
    TAU,
    TEXT,
    TEXTS,
    WAYS,
    WORDED_OPTIONS,
    ValueType,
    one_of,
)
from pqd.sql.query import RULE_TOLERANCE, SCALES
from pqd.sql.schema import Kind
from pqd.stated.budgets import AUTO

# What a check of risk names all kinds of attacks.
ALL_ATTACKS = "all"
NAME_PATTERN = "^[A-Za-z0-9_-]+$"


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a section; ``example`` is a line that a message can suggest."""

    name: str
    value_type: ValueType
    doc: str
    example: str = ""
    required: bool = False
    default: str | int | float | None = None

    def schema(self) -> dict[str, Any]:
        """JSON Schema of the key's value."""
        default = {} if self.default is None else {"default": self.default}
        return {"title": self.name, "description": self.doc, **self.value_type.schema, **default}


@dataclass(frozen=True, slots=True)
class Section:
    """Section of the file; ``header`` shows how its header is written, such as ``[[check]]``.

    The ``form`` tells what the section holds: ``table`` is one table with these keys, ``named`` is
    one table for each name, ``list`` is any number of tables.  ``names`` is the pattern of allowed
    names; ``example`` is a header to copy.  Exactly one key of ``one_of`` must be present.
    ``together`` maps a key to the key that it needs; ``apart`` maps a key to the keys that it
    excludes.
    """

    name: str
    header: str
    doc: str
    keys: tuple[Key, ...]
    form: Literal["table", "named", "list"] = "table"
    required: bool = False
    example: str = ""
    names: str = ""
    together: dict[str, str] = field(default_factory=dict)
    apart: dict[str, tuple[str, ...]] = field(default_factory=dict)
    one_of: tuple[str, ...] = ()

    @property
    def key(self) -> dict[str, Key]:
        """Keys by name."""
        return {key.name: key for key in self.keys}

    @property
    def defaults(self) -> dict[str, Any]:
        """Default values of the keys that may be left out, in the form that ``Spec`` holds."""
        stated = (key for key in self.keys if key.default is not None)
        return {key.name: key.value_type.parse(key.default, key.name) for key in stated}

    def schema(self) -> dict[str, Any]:
        """JSON Schema of the section, with all its tables if it is named or a list."""
        table: dict[str, Any] = {
            "type": "object",
            "properties": {key.name: key.schema() for key in self.keys},
            "additionalProperties": False,
        }
        if required := [key.name for key in self.keys if key.required]:
            table["required"] = required
        if self.together:
            table["dependentRequired"] = {name: [key] for name, key in self.together.items()}
        if self.apart:
            table["dependentSchemas"] = {
                name: {"properties": dict.fromkeys(others, False)}
                for name, others in self.apart.items()
            }
        if self.one_of:
            table["oneOf"] = [{"required": [name]} for name in self.one_of]
        if self.form == "list":
            table = {"type": "array", "items": table, "minItems": 1}
        elif self.form == "named":
            least = {"minProperties": 1} if self.required else {}
            names = {"pattern": self.names}
            table = {
                "type": "object",
                "propertyNames": names,
                "additionalProperties": table,
                **least,
            }
        return {"title": self.header, "description": self.doc, **table}


_PLACES = (
    "a file of CSV, TSV, JSON lines or Parquet, a folder or pattern of such parts, "
    "FILE.duckdb::TABLE, or a URL of PostgreSQL or Spark"
)


def _path(what: str, example: str) -> Key:
    doc = f"{what}, relative to this file; ${{NAME}} is taken from the environment."
    return Key("path", TEXT, doc, f'path = "{example}"', required=True)


# Keys for the format of delimited text, of all tables in [text] or of one table in its section.
TEXT_FORMAT = (
    Key("decimal", one_of(*DECIMALS), "Sign before the decimals of numbers.", 'decimal = ","'),
    Key(
        "thousands",
        one_of(*THOUSANDS, ""),
        "Sign between the thousands of numbers; none if it is empty or left out.",
        'thousands = "."',
    ),
    Key(
        "dates",
        TEXTS,
        "Forms of days and times, beside ISO.",
        'dates = ["%d.%m.%Y", "%d.%m.%Y %H:%M"]',
    ),
    Key(
        "missing",
        TEXTS,
        "Texts that mean a missing cell, beside the usual ones (NA, N/A, NaN, NULL, None, - and "
        "the like); an empty text sets these aside.",
        'missing = ["k.A.", "unknown"]',
    ),
)

_SHARED_BUDGET = (
    Key(
        "total_epsilon",
        PRICE,
        "Privacy budget that all checks without an epsilon of their own share.",
        "total_epsilon = 1",
        required=True,
    ),
    Key(
        "sharing",
        one_of(*SHARINGS),
        "auto (most often right on test tables made from the copy), alone (each check by itself "
        "at its share), or what answers COUNT and SUM checks together.",
        default=AUTO,
    ),
)

# Keys for which [defaults] may state the value of all checks.
_CHECK_DEFAULTS = (
    Key(
        "tau",
        TAU,
        'Tolerance: an amount in the unit of the query (10), or a share of its answer ("5%"), or '
        'of a COUNT a share of all rows ("0.1% of rows"); of a marginal a share of the rows.',
        'tau = "5%"',
    ),
    Key("epsilon", PRICE, "Privacy budget of one query.", "epsilon = 0.25"),
    Key("alpha", ALPHA, "Accepted risk of a wrong verdict (0.05 is 5 %).", default=0.05),
    Key(
        "decider",
        one_of(AUTO, PAPER, *DECIDERS),
        "auto (most often right on test tables made from the copy), paper (the least wrong of the "
        "paper's), or the id of a decider.",
        default=AUTO,
    ),
    Key(
        "decider_options",
        OPTIONS,
        "Options of the decider that the check or [defaults] names, each between 0 and 1: beta of "
        "r2t_sum and r2t_sum_tight, theta of svt_sum, share of lm_mean.",
        "decider_options = { beta = 0.05 }",
    ),
    Key(
        "expect",
        one_of("close", "far"),
        "The answer that passes: the private one is within tau, or it is not.",
        default="close",
    ),
    Key(
        "severity",
        one_of("error", "warn"),
        "Whether a check that does not pass fails the run.",
        default="error",
    ),
    Key(
        "on_undecided",
        one_of("fail", "warn", "pass"),
        "What a verdict that is not conclusive counts as.",
        default="fail",
    ),
    Key(
        "evidence",
        one_of("proof", "likely"),
        "What a verdict needs to count: a proof (a p-value of at most alpha), or also the answer "
        "of a decider without p-values that is likely right.",
        default="proof",
    ),
    Key(
        "outside",
        FLAG,
        "Whether a tenth of epsilon counts the rows beyond bounds that nobody stated.",
        default=False,
    ),
    Key(
        "scale",
        one_of(*SCALES),
        "rows: the synthetic table has another size, so a COUNT is compared as a share of all rows "
        "and a SUM per row.",
        'scale = "rows"',
    ),
    Key("synthetic", NAMES, "Names of the synthetic tables to check; all if left out."),
)

SECTIONS = (
    Section(
        "private",
        "[private]",
        "The private table.",
        (
            _path(f"The private table: {_PLACES}", "private.csv"),
            Key(
                "rows",
                PRIVATE_ROWS,
                "Number of its rows, where it may be published; it is never compared with the "
                "table.",
            ),
            Key(
                "dataset",
                TEXT,
                "Name of the data set of which it is a version: the budget belongs to the data "
                "set. By default its place and its content find the data set.",
                'dataset = "patients"',
            ),
            *TEXT_FORMAT,
        ),
        required=True,
        example="[private]",
    ),
    Section(
        "held_out",
        "[held_out]",
        "Rows of the same population, of other persons, that the generator never saw: checks of "
        "risk need them.  They are private too, with an account of their own, and their cells are "
        "written as those of the private table.",
        (
            _path(f"The held-out table: {_PLACES}", "others.csv"),
            Key("epsilon", BUDGET, "The most epsilon, over all runs; no limit if left out."),
            Key(
                "rows",
                PRIVATE_ROWS,
                "Number of its rows, with a unit of its persons, where it may be published: a dry "
                "run plans with it, and takes the copy's number if it is left out.",
            ),
            Key(
                "dataset",
                TEXT,
                "Name of the data set of which it is a version, as under [private].",
                'dataset = "others"',
            ),
        ),
        example="[held_out]",
    ),
    Section(
        "risk",
        "[risk]",
        "What attacks on a synthetic table cost, and what an attacker knows; for checks of risk.",
        (
            Key(
                "total_epsilon",
                PRICE,
                "Privacy budget of all attacks on one synthetic table together: of the private "
                "table, and again of the held-out table.",
                "total_epsilon = 1",
                required=True,
            ),
            Key(
                "secrets",
                NAMES,
                "Columns that an attacker guesses, at most 8; the three columns of texts that the "
                "copy's own rows give away most if left out.",
                'secrets = ["income"]',
            ),
            Key(
                "known",
                NAMES,
                "Columns that an attacker knows who guesses a secret; all others if left out.",
                'known = ["age", "sex"]',
            ),
            Key(
                "learner",
                one_of("nearest", "trees"),
                "How a secret is guessed: by the nearest row of the copy, or by boosted trees, "
                "which need the extra learn.",
                default="nearest",
            ),
        ),
        example="[risk]",
    ),
    Section(
        "synthetic",
        "[synthetic.NAME]",
        "The synthetic tables, each under a name of your choice; taken as public.",
        (
            _path(f"A synthetic table: {_PLACES}", "synthetic.csv"),
            Key(
                "copy_epsilon",
                PRICE,
                "The epsilon under which the table was made, if its generator is differentially "
                "private: an alarm is then a note and fails nothing.",
            ),
            *TEXT_FORMAT,
        ),
        form="named",
        required=True,
        example="[synthetic.tree]",
        names=NAME_PATTERN,
    ),
    Section(
        "text",
        "[text]",
        "How cells of delimited text are written, in all tables; a table may state its own.",
        TEXT_FORMAT,
        example="[text]",
    ),
    Section(
        "budget",
        "[budget]",
        "The most that all versions of the private table may ever spend in its ledger, and the "
        "price of a gate.",
        (
            Key("epsilon", BUDGET, "The most epsilon, over all runs; no limit if left out."),
            Key("delta", DELTA, "The most delta, over all runs.", default=0),
            Key(
                "gate",
                PRICE,
                "Makes one test of all checks: the epsilon that tells whether all of them hold.",
                "gate = 0.25",
            ),
            Key(
                "names",
                PRICE,
                "The epsilon that names the worst check; spent only if the gate does not pass.",
                "names = 0.5",
            ),
        ),
        together={"names": "gate"},
    ),
    Section(
        "shared_budget",
        "[shared_budget]",
        "One budget for all checks that have none of their own.",
        _SHARED_BUDGET,
        example="[shared_budget]",
    ),
    Section(
        "release",
        "[release]",
        "What `pqd release` answers: COUNT and SUM queries under one budget.",
        (
            Key(
                "total_epsilon",
                PRICE,
                "Privacy budget of all answers together.",
                "total_epsilon = 1",
                required=True,
            ),
            Key(
                "queries",
                TEXT,
                "A file of queries (.sql or .csv), relative to this file.",
                'queries = "queries.sql"',
                required=True,
            ),
            Key(
                "mechanism",
                one_of(AUTO, *RELEASING),
                "auto (least simulated error on the synthetic table), or a mechanism by its id.",
                default=AUTO,
            ),
            Key(
                "mechanism_options",
                WORDED_OPTIONS,
                "Options of the mechanism that is named, such as rounds, delta and radius of "
                "numerical, or truncation and s of tamm; the guide lists all.",
                "mechanism_options = { rounds = 20 }",
            ),
            Key(
                "isotonic",
                FLAG,
                "Whether answers to nested queries are made non-decreasing, at no cost.",
                default=False,
            ),
            Key("alpha", ALPHA, "What an interval misses the answer with.", default=0.05),
            Key("synthetic", TEXT, "Name of the synthetic table; the first if left out."),
        ),
        example="[release]",
    ),
    Section(
        "ledger",
        "[ledger]",
        "Where spending is kept on record.",
        (_path("The ledger; beside the private table if left out", "ledger.sqlite"),),
    ),
    Section(
        "privacy",
        "[privacy]",
        "Who is protected: one row, or all rows of one person.",
        (
            Key("unit", TEXT, "A column: all rows with one value of it are one person."),
            Key(
                "max_rows",
                ROWS,
                "As how many rows one person counts at most where rows count; 1 if left out.",
            ),
            Key(
                "row_is_person",
                FLAG,
                "Whether each row is one person, even where the copy has a column like person_id "
                "that repeats; without it and without unit such a spec is refused.",
                default=False,
            ),
        ),
        together={"max_rows": "unit"},
    ),
    Section(
        "metadata",
        "[metadata]",
        "A file with facts of columns; those under [columns] go before it.",
        (
            Key(
                "file",
                TEXT,
                "Metadata of SDV for one table, or a table schema of Frictionless, as JSON, "
                "relative to this file; ${NAME} is taken from the environment.",
                'file = "copy.metadata.json"',
                required=True,
            ),
        ),
        example="[metadata]",
    ),
    Section(
        "columns",
        "[columns.NAME]",
        "Public facts of columns; what is left out is taken from the synthetic table.",
        (
            Key(
                "bounds",
                BOUNDS,
                "Lowest and highest value (one may be open), others count as the nearest; or copy.",
            ),
            Key("step", STEP, "What values are whole multiples of, from the lower bound on."),
            Key("type", one_of(*(str(kind) for kind in Kind)), "Kind of the values."),
            Key(
                "cells",
                CELLS,
                "Cells of a marginal: a number of bins, edges, or values.",
            ),
            Key(
                "judge",
                FLAG,
                "true: judged even if it looks like an identifier; false: not judged, its checks "
                "are left out, and no check fails if a table lacks it.",
            ),
        ),
        form="named",
        example="[columns.age]",
        names=r"\S",
    ),
    Section(
        "defaults",
        "[defaults]",
        "What every check takes unless it says otherwise.",
        _CHECK_DEFAULTS,
    ),
    Section(
        "check",
        "[[check]]",
        "The checks: each is one query (or one per bin or key), one marginal, the values of a "
        "column, a score, an alarm, the columns or the risk for persons.",
        (
            Key("id", ID, "Name of the check in reports.", 'id = "rows"', required=True),
            Key(
                "sql",
                SQL,
                "One aggregate over one table, which may have any name.",
                'sql = "SELECT COUNT(*) FROM D"',
            ),
            Key(
                "marginal",
                MARGINAL,
                "Columns whose joint distribution is held to the private one: the distance is a "
                "share of the rows.",
                'marginal = ["age", "sex"]',
            ),
            Key(
                "column",
                TEXT,
                "Column whose values are about as frequent as in the private table: filled rows, "
                "each value, lost values, heaping. It needs a gate.",
                'column = "diagnosis"',
            ),
            Key(
                "score",
                one_of("overall", "relations"),
                "overall: the overall quality of the table, 100 % minus the mean distance of all "
                "columns and pairs. relations: how much of the relations between columns it keeps, "
                "0 % as shuffled columns, 100 % exactly.",
                'score = "overall"',
            ),
            Key(
                "alarm",
                one_of("overall"),
                "Fails if the table is nearer to the private one than rows drawn from the private "
                "one itself, by the overall quality.",
                'alarm = "overall"',
            ),
            Key(
                "schema",
                one_of("complete"),
                "Fails if a column of either table is missing in the other one, or cannot be "
                "judged; public, exact and free.",
                'schema = "complete"',
            ),
            Key(
                "risk",
                one_of(ALL_ATTACKS, *get_args(AttackId), blanks=True),
                "Fails if an attack succeeds on private rows more often than on held-out rows by "
                "more than tau; all: each kind of attack. It needs [held_out] and [risk].",
                'risk = "all"',
            ),
            *_CHECK_DEFAULTS,
            Key("bins", BINS, "Bins of a column: makes one query per bin."),
            Key("keys", KEYS, "Keys of a GROUP BY: makes one query per key."),
            Key(
                "distance",
                one_of("tv", "ks", "emd"),
                "Distance of a marginal: tv (total variation); of one ordered column also ks "
                "(Kolmogorov-Smirnov) or emd (earth mover's).",
                default="tv",
            ),
            Key("at_least", AT_LEAST, "Least score that passes.", 'at_least = "90%"'),
            Key(
                "ways",
                WAYS,
                "Columns of a score's marginals: 1 (columns), 2 (and pairs), 3 (and triples).",
                default=2,
            ),
        ),
        together={
            "bins": "sql",
            "keys": "sql",
            "decider": "sql",
            "decider_options": "sql",
            "scale": "sql",
            "distance": "marginal",
            "at_least": "score",
            "ways": "score",
            "score": "at_least",
        },
        apart={
            "column": ("expect",),
            "score": ("tau",),
            "schema": ("tau", "epsilon", "expect", "on_undecided", "evidence"),
            "alarm": ("tau", "expect", "severity", "on_undecided", "evidence"),
            "risk": ("epsilon", "expect", "evidence", "outside"),
        },
        one_of=("sql", "marginal", "column", "score", "alarm", "schema", "risk"),
        form="list",
        required=True,
        example="[[check]]",
    ),
    Section(
        "rule",
        "[[rule]]",
        "Rules that each row keeps: about as many private rows as rows of the copy violate them.",
        (
            Key("id", ID, "Name of the rule in reports.", 'id = "loans"', required=True),
            Key(
                "must",
                SQL,
                "A condition of a row; a row for which it is NULL does not violate it.",
                'must = "NOT has_loan OR loan_amount IS NOT NULL"',
                required=True,
            ),
            Key("tau", TAU, "By how many rows the violations may differ.", default=RULE_TOLERANCE),
            Key("epsilon", PRICE, "Privacy budget; that of [defaults] or of a gate if left out."),
            Key("synthetic", NAMES, "Names of the synthetic tables to check; all if left out."),
        ),
        form="list",
        example="[[rule]]",
    ),
)
SECTION = {section.name: section for section in SECTIONS}
# Each check needs the keys on the left, in itself or in [defaults].  The exceptions stand on the
# right: a check with the key ``column``, ``score``, ``alarm``, ``schema`` or ``risk`` needs no tau;
# a file with the section ``shared_budget``, or with a gate, needs no epsilon.
CHECK_NEEDS = {
    "tau": ("column", "score", "alarm", "schema", "risk"),
    "epsilon": ("shared_budget",),
}
# Checks without an epsilon of their own: one is free, the budget of others is that of [risk].
NO_EPSILON = ("schema", "risk")
# Tolerance of the values of a column, if the check states none.
VALUES_TOLERANCE = "5%"
# Tolerance of an excess, if a check of risk states none.
RISK_TOLERANCE = "1%"
# Keys of a check that a spec with a gate cannot have: the gate is one test of all checks.
NOT_GATED = (
    "epsilon",
    "decider",
    "decider_options",
    "outside",
    "evidence",
    "severity",
    "on_undecided",
)


def json_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of a spec file, for editors.

    The schema admits every file that ``read_spec`` reads.  Some rules are checked by the reader
    only: ids must differ, bounds must ascend, names and variables must exist.
    """
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "pqd audit spec",
        "description": "What `pqd check` compares on a synthetic and a private table.",
        "type": "object",
        "properties": {section.name: section.schema() for section in SECTIONS},
        "required": [s.name for s in SECTIONS if s.required and s.name != "check"],
        "anyOf": [{"required": [name]} for name in ("check", "rule", "release")],
        "additionalProperties": False,
        "allOf": [_check_needs(*need) for need in CHECK_NEEDS.items()],
    }


def _check_needs(name: str, substitutes: tuple[str, ...]) -> dict[str, Any]:
    """Condition on a file: its checks have the key ``name``, or a substitute is present."""
    key, instead = {"required": [name]}, [{"required": [each]} for each in substitutes]
    of_file = substitutes[0] in SECTION
    return {
        "anyOf": [
            {"properties": {"defaults": key}, "required": ["defaults"]},
            {
                "properties": {
                    "check": {"items": {"anyOf": [key, *(_FREE if of_file else instead)]}}
                }
            },
            *([*instead, _GATED] if of_file else []),
        ]
    }


# A check without an epsilon.
_FREE = [{"required": [name]} for name in NO_EPSILON]
# A file with a gate.
_GATED = {"properties": {"budget": {"required": ["gate"]}}, "required": ["budget"]}
