"""The JSON Schema of spec files, for editors, made from the reader's table of keys."""

from __future__ import annotations

from typing import Any

from pqd.spec.schema import CHECK_NEEDS, IN_PLACE_OF, SECTIONS, SHARED_BY, Key, Section


def json_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of a spec file, for editors.

    It admits every file that ``read_spec`` reads.  Some rules only the reader checks: that ids
    differ, that bounds ascend, that names and variables exist.
    """
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "pqd audit spec",
        "description": "What `pqd check` compares on a synthetic and a private table.",
        "type": "object",
        "properties": {section.name: _section(section) for section in SECTIONS},
        "required": [s.name for s in SECTIONS if s.required and s.name != "check"],
        "anyOf": [{"required": ["check"]}, {"required": ["release"]}],
        "additionalProperties": False,
        "allOf": [_required_somewhere(name) for name in CHECK_NEEDS],
    }


def _section(section: Section) -> dict[str, Any]:
    about = {"title": section.header, "description": section.doc}
    keys: dict[str, Any] = {
        "type": "object",
        "properties": {key.name: _key(key) for key in section.keys},
        "additionalProperties": False,
    }
    if required := [key.name for key in section.keys if key.required]:
        keys["required"] = required
    if section.together:
        keys["dependentRequired"] = section.together
    if section.apart:
        keys["dependentSchemas"] = {
            name: {"properties": dict.fromkeys(others, False)}
            for name, others in section.apart.items()
        }
    if section.one_of:
        keys["oneOf"] = [{"required": [name]} for name in section.one_of]
    if section.form == "list":
        return {**about, "type": "array", "items": keys, "minItems": 1}
    if section.form == "named":
        least = {"minProperties": 1} if section.required else {}
        names = {"propertyNames": section.names, "additionalProperties": keys}
        return {**about, "type": "object", **names, **least}
    return {**about, **keys}


def _key(key: Key) -> dict[str, Any]:
    default = {} if key.default is None else {"default": key.default}
    return {"title": key.name, "description": key.doc, **key.value_type.schema, **default}


def _with_any_of(name: str) -> dict[str, Any]:
    """Condition on a check: it has ``name``, or the key that replaces ``name``."""
    if name not in IN_PLACE_OF:
        return {"required": [name]}
    return {"anyOf": [{"required": [name]}, {"required": [IN_PLACE_OF[name]]}]}


def _required_somewhere(name: str) -> dict[str, Any]:
    return {
        "anyOf": [
            {"properties": {"defaults": {"required": [name]}}, "required": ["defaults"]},
            {"properties": {"check": {"items": _with_any_of(name)}}},
            *([{"required": [SHARED_BY[name]]}] if name in SHARED_BY else []),
        ]
    }
