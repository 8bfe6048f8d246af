"""The spec of ``pqd check``: an ``audit.toml`` read, described and begun."""

from pqd.spec.reader import Check, Source, Spec, SpecError, read_spec
from pqd.spec.schema import json_schema
from pqd.spec.template import starter
from pqd.spec.validation import Problem

__all__ = ["Check", "Problem", "Source", "Spec", "SpecError", "json_schema", "read_spec", "starter"]
