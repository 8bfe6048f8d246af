"""Reader of spec files.

docs/audit-spec.schema.json describes the format.  All problems of a file are reported at once,
each with its line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pqd.batches.mechanisms import RunBudget
from pqd.deciders.exact import Number
from pqd.deciders.names import closest_name, suggestion
from pqd.deciders.options import for_spec, option
from pqd.engine.reading.text_format import USUAL, TextFormat
from pqd.engine.sources.locations import check_scheme, is_address
from pqd.engine.sources.postgres_address import without_address
from pqd.errors import NothingSelectedError, ParameterError, TableError
from pqd.parameters import privacy_unit
from pqd.paths import usable
from pqd.spec.model import Check, HeldOutSpec, ReleaseSpec, RiskSpec, Source, Spec
from pqd.spec.positions import Places
from pqd.spec.problems import Code, Place, Problem, SpecError, printable
from pqd.spec.schema import (
    CHECK_NEEDS,
    NO_EPSILON,
    NOT_GATED,
    RISK_TOLERANCE,
    SECTION,
    SECTIONS,
    VALUES_TOLERANCE,
)
from pqd.spec.toml import UnreadableError, read_toml
from pqd.spec.validation import Document, Values, header
from pqd.spec.value_types import quoted
from pqd.sql.query import RULE_TOLERANCE, rule_sql
from pqd.sql.tolerance import Tolerance
from pqd.stated.budgets import AUTO
from pqd.stated.column_facts import parse_columns
from pqd.stated.decider_options import Options, read_options
from pqd.stated.mechanism_options import NO_OPTIONS, MechanismOptions, read_mechanism_options
from pqd.stated.text_formats import format_of

if TYPE_CHECKING:
    from pqd.spec.positions import Where

# Sections whose path is that of a table; the table may be on a server.
_TABLES = {"private", "synthetic", "held_out"}
# What an alarm is, whatever [defaults] say: it fails only where it is proven.
_OF_ALARM: Values = {
    "tau": None,
    "expect": "far",
    "severity": "error",
    "on_undecided": "pass",
    "evidence": "proof",
}
_VARIABLE = re.compile(r"\$\$\{|\$\{([^}]*)(\}?)")
_VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@for_spec()
def read_spec(
    path: str | Path,
    environ: Mapping[str, str] = os.environ,
    *,
    gate: Fraction | None = None,
    names: Fraction | None = None,
) -> Spec:
    """Read a spec file.

    The reader opens no table and parses no SQL if the file is right.  If the file has problems, the
    reader also looks up the SQL and the columns of its checks, so that all mistakes are told at
    once.

    ``${NAME}`` in a path is looked up in ``environ``; ``$${`` stands for ``${`` itself.  ``gate``
    and ``names`` take the place of those of the file: with a stated gate, all budgets and deciders
    of the checks are set aside.

    Raises
    ------
    SpecError
        If the file cannot be read or anything in it is wrong; no message shows a value of
        ``environ``.
    NothingSelectedError
        If the file is right, but has neither a check nor a release.
    """
    path = Path(path)
    document = _document(path)
    files = _Files(document, path.parent, environ)
    tables = dict(document.named_tables("synthetic"))
    common = _text_format(document, ("text",), document.table("text"), USUAL)
    synthetic = {
        name: files.table(values, ("synthetic", name), common) for name, values in tables.items()
    }
    stated = document.table("private")
    private = files.table(stated, ("private",), common)
    ledger = files.source(document.table("ledger"), ("ledger",))
    metadata = files.source(document.table("metadata"), ("metadata",), "file")
    budget, privacy = document.table("budget"), _privacy(document)
    columns, shared_budget = _columns(document), _shared_budget(document)
    release = _release(document, files, tuple(synthetic))
    of_file = gate is None and "gate" in budget
    if of_file and shared_budget:
        text = "[shared_budget] is divided among checks, but [budget] has a gate, one test of all"
        document.add(Code.CONTRADICTION, ("shared_budget",), f"{text}; leave one of them out")
    shared, lines = document.table("defaults"), dict[str, int]()
    is_gated = of_file or gate is not None or _is_gate_misspelt(document)
    gates = {"of_file": of_file, "is_gated": is_gated}
    checks = [
        *_checks(document, tuple(synthetic), shared, lines, **gates),
        *_rules(document, tuple(synthetic), shared, lines, **gates),
    ]
    held_out, risk = _risk(document, files, private, checks, is_gated=is_gated)
    if document.problems or private is None:
        if not checks and "release" not in document.data:
            document.require("check")
        _note_mistakes(document, private, {n: each for n, each in synthetic.items() if each})
        raise SpecError(path.name, document.problems)
    if not checks and not release:
        raise NothingSelectedError(
            f"{printable(path.name)} has no [[check]] and no [release], so there is nothing to "
            'do; add [[check]] with id = "rows", sql = "SELECT COUNT(*) FROM D"'
        )
    return Spec(
        path=path,
        private=private,
        synthetic={name: source for name, source in synthetic.items() if source},
        ledger=ledger,
        epsilon=budget.get("epsilon"),
        delta=budget["delta"],
        shared_budget=shared_budget,
        release=release,
        unit=privacy.get("unit"),
        max_rows=privacy.get("max_rows"),
        columns=columns,
        metadata=metadata,
        checks=tuple(Check(**check) for check in checks),
        gate=budget.get("gate") if gate is None else gate,
        names=budget.get("names") if names is None else names,
        copy_epsilon={
            name: values["copy_epsilon"]
            for name, values in tables.items()
            if "copy_epsilon" in values
        },
        private_rows=stated.get("rows"),
        dataset=stated.get("dataset"),
        row_is_person=privacy.get("row_is_person", False),
        held_out=held_out,
        risk=risk,
    )


def _note_mistakes(
    document: Document, private: Source | None, synthetic: Mapping[str, Source]
) -> None:
    """Note mistakes in the SQL and the column names of the checks of a file with problems."""
    # Imported here, since a file that is right needs no table and no SQL.
    from pqd.spec.check_mistakes import check_mistakes  # noqa: PLC0415

    found = len(document.problems)
    checks = list(document.list_of_tables("check"))
    # Their problems are noted already.
    del document.problems[found:]
    stated = [{"synthetic": tuple(synthetic), **values} for _, values in checks]
    for number, key, message in check_mistakes(stated, private, synthetic):
        where = ("check", number, key)
        document.add(Code.INVALID_VALUE, where, f"{checks[number][0]}: {message}")


def _document(path: Path) -> Document:
    """Content of a file; SpecError unless it is TOML with at least one section of a spec."""
    try:
        text, data = read_toml(path)
    except UnreadableError as error:
        name = path.name if error.line else str(path)
        problem = Problem(error.code, Place(line=error.line), str(error))
        raise SpecError(name, [problem]) from None
    if data and not data.keys() & SECTION.keys():
        # The message quotes nothing of the file, which may be a private table by mistake.
        headers = ", ".join(section.header for section in SECTIONS)
        message = f"it is no spec: it has none of {headers}"
        raise SpecError(path.name, [Problem(Code.NOT_A_SPEC, Place(), message)])
    return Document(data, Places(text))


@dataclass(frozen=True)
class _Files:
    """Files that the paths in a spec name."""

    document: Document
    folder: Path
    environ: Mapping[str, str] = field(repr=False)

    def source(self, values: Values, where: Where, key: str = "path") -> Source | None:
        """File that ``key`` names; None if the key is missing or has a problem."""
        written = values.get(key)
        if written is None:
            return None
        try:
            expanded = self._expanded(written)
            if where[0] in _TABLES:
                check_scheme(expanded)
                if is_address(expanded):
                    return Source(expanded, written)
            return Source(usable(self.folder / expanded, "it"), written)
        except (ParameterError, TableError) as error:
            message = f"{key} = {quoted(without_address(written))}: {error}"
            self.document.add(Code.UNUSABLE_PATH, (*where, key), message)
            return None

    def table(self, values: Values, where: Where, text: TextFormat) -> Source | None:
        """File of a table, whose own format of text goes before ``text``."""
        text_format = _text_format(self.document, where, values, text)
        source = self.source(values, where)
        return replace(source, text_format=text_format) if source else None

    def _expanded(self, written: str) -> str:
        return _VARIABLE.sub(lambda match: self._value(match[0], match[1], match[2]), written)

    def _value(self, sign: str, name: str | None, end: str | None) -> str:
        if name is None:
            return sign[1:]
        if not end:
            raise ParameterError("${ has no }; write ${NAME}, or $${ for the signs ${ themselves")
        if not _VARIABLE_NAME.fullmatch(name):
            raise ParameterError(
                f"{quoted(name)} is no name of a variable; write ${{NAME}}, or $${{ for ${{ itself"
            )
        value = self.environ.get(name)
        if not value:
            raise ParameterError(
                f"the environment variable {name} is not set; set it, or write the path itself"
            )
        return value


def _text_format(document: Document, where: Where, values: Values, base: TextFormat) -> TextFormat:
    """Format of text that a section states, the rest of ``base``; a problem is noted."""
    try:
        return format_of(values, base)
    except ParameterError as error:
        message = f"[{'.'.join(map(str, where))}]: {error}"
        document.add(Code.CONTRADICTION, where, message)
        return base


def _privacy(document: Document) -> Values:
    values = document.table("privacy")
    stated = document.data.get("privacy")
    if isinstance(stated, dict) and "max_rows" in stated and "unit" not in stated:
        text = '[privacy] has max_rows without unit; add the column of a person: unit = "person_id"'
        document.add(Code.CONTRADICTION, ("privacy", "max_rows"), text)
        return values
    try:
        privacy_unit(
            values.get("unit"),
            values.get("max_rows", 1),
            row_is_person=values.get("row_is_person", False),
        )
    except ParameterError as error:
        key = "row_is_person" if values.get("row_is_person") else "max_rows"
        document.add(Code.INVALID_VALUE, ("privacy", key), f"[privacy]: {error}")
    return values


def _shared_budget(document: Document) -> RunBudget | None:
    """Budget that checks share; a problem is noted if no check can share it."""
    values, defaults = document.table("shared_budget"), document.data.get("defaults")
    if "shared_budget" in document.data and isinstance(defaults, dict) and "epsilon" in defaults:
        text = "[defaults] gives every check an epsilon of its own, so none shares [shared_budget]"
        message = f"{text}; leave one of them out"
        document.add(Code.CONTRADICTION, ("shared_budget",), message)
    if "total_epsilon" not in values:
        return None
    return RunBudget(values["total_epsilon"], values["sharing"])


def _risk(
    document: Document,
    files: _Files,
    private: Source | None,
    checks: Sequence[Values],
    *,
    is_gated: bool,
) -> tuple[HeldOutSpec | None, RiskSpec | None]:
    """Sections ``[held_out]`` and ``[risk]``, which checks of risk need, and no others."""
    text_format = private.text_format if private else USUAL
    stated, terms = document.table("held_out"), document.table("risk")
    source = files.table(stated, ("held_out",), text_format)
    asked = next((number for number, each in enumerate(checks) if each.get("risk")), None)
    for name in ("held_out", "risk"):
        if asked is None and name in document.data:
            text = f"{SECTION[name].header} is for checks of risk, and this file has none"
            hint = 'add [[check]] with id = "risk", risk = "all", or leave it out'
            document.add(Code.CONTRADICTION, (name,), f"{text}; {hint}")
        elif asked is not None and name not in document.data:
            document.require(name)
    if asked is not None and is_gated:
        text = "a check of risk compares two private tables, and a gate is one test of one table"
        hint = "put the checks of risk into a spec of their own (docs/pipeline.md, step 4)"
        document.add(Code.CONTRADICTION, ("check", asked, "risk"), f"{text}; {hint}")
    if asked is not None and not any(each.get("risk") in {"all", "inference"} for each in checks):
        for name in ("secrets", "known", "learner"):
            if name in terms and terms[name] != "nearest":
                text = f'[risk] {name} is for checks of risk = "inference" or "all"'
                hint = "this file has none; leave the line out, or add such a check"
                document.add(Code.CONTRADICTION, ("risk", name), f"{text}, and {hint}")
    if source is None or "total_epsilon" not in terms:
        return None, None
    return (
        HeldOutSpec(source, stated.get("epsilon"), stated.get("dataset"), stated.get("rows")),
        RiskSpec(
            terms["total_epsilon"], terms.get("secrets"), terms.get("known"), terms["learner"]
        ),
    )


def _release(document: Document, files: _Files, synthetic: tuple[str, ...]) -> ReleaseSpec | None:
    """Section ``[release]``; None if it is missing or has a problem."""
    values = document.table("release")
    if "synthetic" in values:
        named = {"synthetic": (values["synthetic"],)}
        _check_synthetic(document, SECTION["release"].header, ("release",), named, synthetic)
    own = _mechanism_options(document, values)
    queries = files.source(values, ("release",), "queries")
    if queries is None or "total_epsilon" not in values or not synthetic:
        return None
    given = {**values, "queries": queries, "mechanism_options": own}
    return ReleaseSpec(**{"synthetic": synthetic[0], **given})


def _mechanism_options(document: Document, values: Values) -> MechanismOptions:
    """Options of the mechanism of ``[release]``; a problem is noted.

    Those of a mechanism that is not known are not read.
    """
    stated, raw = values.get("mechanism_options"), document.data.get("release")
    if not isinstance(raw, dict) or raw.get("mechanism", AUTO) != values["mechanism"]:
        return NO_OPTIONS
    try:
        return read_mechanism_options(values["mechanism"], stated)
    except ParameterError as error:
        message = f"{SECTION['release'].header}: {error}"
        document.add(Code.INVALID_VALUE, ("release", "mechanism_options"), message)
        return NO_OPTIONS


def _columns(document: Document) -> dict[str, dict[str, Any]]:
    """Facts of columns; a problem is noted if ``parse_columns`` refuses them."""
    columns = {}
    for name, facts in document.named_tables("columns"):
        columns[name] = facts
        try:
            parse_columns({name: facts})
        except ParameterError as error:
            message = f"{header('columns', name)}: {error}"
            document.add(Code.INVALID_VALUE, ("columns", name, "bounds"), message)
    return columns


def _check_gated(document: Document, label: str, where: Where, values: Values) -> None:
    """Note keys that a file with a gate cannot have, in a check or in [defaults]."""
    for name in NOT_GATED:
        if name in values:
            document.add(
                Code.CONTRADICTION,
                (*where, name),
                f"{label} has {name}, but [budget] has a gate, which is one test of all checks; "
                f"leave {name} out, or the gate",
            )


def _checks(
    document: Document,
    synthetic: tuple[str, ...],
    shared: Values,
    lines: dict[str, int],
    *,
    of_file: bool,
    is_gated: bool,
) -> Iterator[Values]:
    """Fields of each check; checks with a problem lack some fields.

    ``shared`` has the values of [defaults].  ``lines`` gets the line of each id.  ``is_gated``:
    there is a gate, so no check needs an epsilon.  ``of_file``: the file states it.
    """
    section = SECTION["check"]
    general = {**dict.fromkeys(section.key), **section.defaults, "sql": "", "synthetic": synthetic}
    in_defaults = document, SECTION["defaults"].header, ("defaults",), shared
    _check_synthetic(*in_defaults, synthetic)
    stated = document.data.get("defaults")
    if of_file and isinstance(stated, dict):
        _check_gated(*in_defaults[:3], stated)
    common = _options(*in_defaults, general["decider"])
    for number, (label, values) in enumerate(document.list_of_tables("check")):
        where, line = ("check", number), document.line(("check", number))
        _check_terms(document, label, where, is_gated=is_gated)
        _check_synthetic(document, label, where, values, synthetic)
        if of_file:
            _check_gated(document, label, where, values)
        if (name := values.get("id")) in lines:
            text = f"{label} has the id of the check in line {lines[name]}; ids must differ"
            document.add(Code.DUPLICATE, (*where, "id"), text)
        elif name:
            lines[name] = line
        # [defaults] may hold keys that this kind of check does not use; they are ignored.
        own = {**general, **shared, **values, "line": line}
        if "decider_options" in values:
            options = _options(document, label, where, values, own["decider"])
        else:
            # A check that names a decider of its own takes no options of another one.
            options = common if "sql" in values and "decider" not in values else ()
        own["decider_options"] = options
        if "risk" in values and "tau" in values:
            _check_share(document, label, where, values["tau"])
        if "column" in values and not is_gated:
            text = f"{label} has many conditions on the values of a column, so it needs a gate"
            hint = f"add gate = 0.25 to [budget], or run with {option('--gate 0.25')}"
            document.add(Code.MISSING_KEY, (*where, "column"), f"{text}; {hint}")
        yield own | _fixed(values)


def _check_share(document: Document, label: str, where: Where, tau: Number) -> None:
    """Note a tolerance of a check of risk that is no share of the rows."""
    try:
        Tolerance.parse(tau).share_of("what an attack gains")
    except ParameterError as error:
        document.add(Code.INVALID_VALUE, (*where, "tau"), f"{label}: {error}")


def _fixed(values: Values) -> Values:
    """Fields of a check that its subject fixes, whatever [defaults] say."""
    if "alarm" in values:
        return _OF_ALARM
    if "column" in values:
        return {"tau": values.get("tau", VALUES_TOLERANCE), "expect": "close"}
    if "schema" in values:
        return {"tau": None, "epsilon": None}
    if "risk" in values:
        return {"tau": values.get("tau", RISK_TOLERANCE), "epsilon": None, "expect": "close"}
    return {"tau": None} if "score" in values else {}


def _rules(
    document: Document,
    synthetic: tuple[str, ...],
    shared: Values,
    lines: dict[str, int],
    *,
    of_file: bool,
    is_gated: bool,
) -> Iterator[Values]:
    """Fields of the check of each rule: a COUNT of the rows that violate it, as ``_checks``."""
    section = SECTION["check"]
    general = {**dict.fromkeys(section.key), **section.defaults, "synthetic": synthetic}
    for number, (label, values) in enumerate(document.list_of_tables("rule")):
        where, line = ("rule", number), document.line(("rule", number))
        _check_synthetic(document, label, where, values, synthetic)
        _check_rule(document, label, where, values, lines, is_gated=is_gated)
        if of_file:
            _check_gated(document, label, where, values)
        try:
            sql = rule_sql(values.get("must", "TRUE"))
        except ParameterError as error:
            sql = ""
            document.add(Code.INVALID_VALUE, (*where, "must"), f"{label}: {error}")
        # The tolerance of [defaults] is one of queries.
        rule = {"tau": RULE_TOLERANCE, **values, "sql": sql}
        rule.pop("must", None)
        fixed = {"expect": "close", "decider_options": (), "line": line}
        yield {**general, **shared, **rule, **fixed}


def _check_rule(
    document: Document,
    label: str,
    where: Where,
    values: Values,
    lines: dict[str, int],
    *,
    is_gated: bool,
) -> None:
    """Note the id of another check, and a missing epsilon."""
    if (name := values.get("id")) in lines:
        text = f"{label} has the id of the check in line {lines[name]}; ids must differ"
        document.add(Code.DUPLICATE, (*where, "id"), text)
    elif name:
        lines[name] = document.line(where)
    stated = document.data.get("defaults")
    shared = {*document.data, *(stated if isinstance(stated, dict) else ())}
    if not is_gated and "epsilon" not in values and not shared & {"epsilon", "shared_budget"}:
        text = f"{label} has no epsilon; add epsilon = 0.25 to it or to [defaults]"
        document.add(Code.MISSING_KEY, (*where, "epsilon"), text)


def _is_gate_misspelt(document: Document) -> bool:
    """Whether a gate stands under a misspelt name, the one mistake to tell: no check needs more."""
    keys = SECTION["budget"].key
    return any(
        "gate" in (key, closest_name(key, keys))
        for name, values in document.data.items()
        if "budget" in (name, closest_name(name, SECTION)) and isinstance(values, dict)
        for key in values
    )


def _options(document: Document, label: str, where: Where, values: Values, decider: str) -> Options:
    """Options of the decider that ``values`` state, or else of ``decider``; a problem is noted."""
    try:
        return read_options(values.get("decider", decider), values.get("decider_options"))
    except ParameterError as error:
        document.add(Code.INVALID_VALUE, (*where, "decider_options"), f"{label}: {error}")
        return ()


def _check_terms(document: Document, label: str, where: tuple[str, int], *, is_gated: bool) -> None:
    """Note required keys that neither the check nor [defaults] has; a wrong value is no gap."""
    own, shared = document.data[where[0]][where[1]], document.data.get("defaults")
    if not isinstance(own, dict):
        return
    for name, substitutes in CHECK_NEEDS.items():
        table = SECTION.get(substitutes[0])
        replaced = any(each in (document.data if table else own) for each in substitutes)
        replaced = replaced or (
            name == "epsilon" and (is_gated or any(each in own for each in NO_EPSILON))
        )
        if not replaced and name not in own and not (isinstance(shared, dict) and name in shared):
            example = SECTION["check"].key[name].example
            others = f", {table.example} or [budget] gate = 0.25 for all" if table else ""
            text = f"{label} has no {name}; add {example} to it or to [defaults]{others}"
            document.add(Code.MISSING_KEY, (*where, name), text)


def _check_synthetic(
    document: Document, label: str, where: Where, values: Values, known: tuple[str, ...]
) -> None:
    """Note names of synthetic tables that the file lacks."""
    for name in values.get("synthetic", ()):
        if known and name not in known:
            document.add(
                Code.UNKNOWN_NAME,
                (*where, "synthetic"),
                f"{label}: there is no synthetic table {quoted(name)}; {suggestion(name, known)}",
            )
