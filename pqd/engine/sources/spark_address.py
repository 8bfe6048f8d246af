"""Addresses of tables of Spark: ``spark://schema.table``, or ``spark:///path?format=parquet``."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import NamedTuple, TypeGuard
from urllib.parse import parse_qsl, unquote, urlsplit

from pqd.deciders.names import names_and_more
from pqd.errors import TableError

# Formats that state the types of their columns, so that no type is inferred from private cells.
FORMATS = ("parquet", "orc", "avro", "delta", "iceberg", "hudi")
_SCHEME = re.compile(r"spark(\+[a-z][a-z0-9.-]*)?://", re.IGNORECASE)
_MASTER = re.compile(r"[^.`]*:\d+")
FORMS = (
    "spark://schema.table for a table of Spark's catalog, spark:///path?format=parquet for a path, "
    "spark+s3a://bucket/path?format=parquet for one of another file system"
)
_OTHERS = "of other files, such as CSV, make a table of Spark's catalog, or a DataFrame"


class Address(NamedTuple):
    """Address of a table: its ``name`` in the catalog, or a ``path`` and its ``format``."""

    name: str = ""
    path: str = ""
    format: str = ""

    @property
    def label(self) -> str:
        """Name of the table in messages and reports."""
        return self.name or self.path.rstrip("/").rpartition("/")[2] or self.path


def is_spark_address(given: object) -> TypeGuard[str]:
    """Whether a text is the address of a table of Spark."""
    return isinstance(given, str) and bool(_SCHEME.match(given))


def is_spark(given: object) -> bool:
    """Whether ``given`` is a table of Spark: an address or a DataFrame."""
    return is_spark_address(given) or is_spark_frame(given)


def is_spark_frame(given: object) -> bool:
    """Whether ``given`` is a DataFrame of Spark; the check does not import Spark."""
    kinds = ((kind.__module__, kind.__name__) for kind in type(given).__mro__)
    return any(module.startswith("pyspark.sql") and name == "DataFrame" for module, name in kinds)


def spark_label(given: str) -> str:
    """Name of the table at an address; empty if the address cannot be read."""
    with suppress(TableError):
        return parsed_address(given).label
    return ""


def parsed_address(given: str) -> Address:
    """Address that a text states.

    Raises
    ------
    TableError
        If the text has another form.
    """
    try:
        scheme, place, path, query, fragment = urlsplit(given)
        options = dict(parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query)))
    except ValueError:
        raise TableError(f"the address of a table of Spark cannot be read; write {FORMS}") from None
    strange = [*sorted(options.keys() - {"format"}), *(["#..."] if fragment else [])]
    if strange:
        # Names of options alone, since a value may be a password.
        raise TableError(
            "the address of a table of Spark has a part too many: "
            f"{names_and_more(strange, 3)}; write {FORMS}; {_OTHERS}"
        )
    if ":" in place.partition("@")[0] and "@" in place:
        raise TableError(
            "the address of a table of Spark holds a password; give it to Spark's configuration, "
            "and leave it out here"
        )
    system = scheme.partition("+")[2]
    if system or not place:
        root = f"{system}://{place}" if system else ""
        return _path(f"{root}{unquote(path)}", options.get("format", FORMATS[0]))
    if _MASTER.fullmatch(place):
        raise TableError(
            f"{given} is the address of a cluster, not of a table; set the master in Spark's "
            f"configuration (spark-defaults.conf, or spark-submit --master), and write {FORMS}"
        )
    if path.strip("/") or options:
        part = path if path.strip("/") else "?format"
        raise TableError(
            f"the address of a table of Spark has a part too many: {part}, after the name of the "
            f"table {place}; write {FORMS}"
        )
    return Address(name=unquote(place))


def _path(path: str, stored: str) -> Address:
    if not path.strip("/"):
        raise TableError(f"the address of a table of Spark names no table; write {FORMS}")
    if stored.lower() not in FORMATS:
        raise TableError(
            f"the format of a path that Spark reads is one of {', '.join(FORMATS)}, which state "
            f"the types of their columns; {_OTHERS}"
        )
    return Address(path=path, format=stored.lower())
