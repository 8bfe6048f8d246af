"""The spec of ``pqd check``: reading, describing and suggesting an ``audit.toml``."""

from pqd.spec.model import Check, Source, Spec
from pqd.spec.problems import Code, Place, Problem, SpecError
from pqd.spec.reader import read_spec
from pqd.spec.schema import json_schema

__all__ = [
    "Check",
    "Code",
    "Place",
    "Problem",
    "Source",
    "Spec",
    "SpecError",
    "json_schema",
    "read_spec",
]
