"""Address of a table in PostgreSQL: a URL of a database, and the table's name in it.

The form is ``postgresql://user@host:port/database?table=schema.name``.  pqd reads ``table`` and
``read_timeout``; libpq reads the rest, and also the variables PG..., the password file and the
service file.  The URL may hold a password, so pqd shows only the table's name.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, TypeGuard
from urllib.parse import unquote

from pqd.deciders.names import closest_name
from pqd.errors import TableError
from pqd.sql.schema import quote_identifier

if TYPE_CHECKING:
    from pqd.engine.sources.source import Role

_SCHEMES = ("postgresql://", "postgres://")
FORM = "postgresql://user@host:port/database?table=schema.name"
# Text that may hold a password: a URL of PostgreSQL, a URL of another scheme with a user, or
# libpq's own form.  It ends before a blank, or before the punctuation of its sentence.
_SECRET = re.compile(
    r"""(?:postgres(?:ql)?:/+|[a-z][a-z0-9+.-]+:/+[^\s/@]*:\S*@|\bpassword=[^\s'"])"""
    r"""\S*?(?=['"]?[,;:.)]*(?:\s|$))""",
    re.IGNORECASE,
)
# Part of a name: in quotes (a quote inside is doubled), or without quotes.
_PART = r'"(?:[^"\0]|"")+"|[^".\0]+'
_NAME = re.compile(rf"(?:({_PART})\.)?({_PART})")
# Default number of seconds that a server may be silent.  libpq would wait forever for a server that
# hangs while its operating system still answers.
_PATIENCE = 60.0
_OWN = ("table", "read_timeout")
# Settings for libpq unless the URL or a variable states them, so that libpq does not wait forever
# for a server that cannot be reached.
_TIMEOUT = "PGCONNECT_TIMEOUT"
_DEFAULTS = {
    "connect_timeout": "10",
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "fallback_application_name": "pqd",
}


@dataclass(frozen=True)
class PostgresAddress:
    """Address of a table; if ``schema`` is None, the server looks the schema up.

    ``database`` is a URL that may hold a password, so no repr shows it.  ``patience`` is the number
    of seconds that the server may be silent; 0 sets no limit.
    """

    database: str = field(repr=False)
    schema: str | None
    table: str
    patience: float = _PATIENCE

    @property
    def identifier(self) -> str:
        """Name of the table in SQL."""
        names = [self.schema, self.table] if self.schema else [self.table]
        return ".".join(map(quote_identifier, names))

    @property
    def label(self) -> str:
        """Name of the table in messages."""
        return f"{self.schema}.{self.table}" if self.schema else self.table


def is_postgres(given: object) -> TypeGuard[str]:
    """Whether ``given`` is the URL of a table of PostgreSQL."""
    return isinstance(given, str) and given.lower().startswith(_SCHEMES)


def address_of(url: str, role: Role) -> PostgresAddress:
    """Address that a URL states.

    Raises
    ------
    TableError
        If the URL names no table; the message does not quote the URL.
    """
    scheme, _, rest = url.partition("://")
    database, _, query = f"{scheme.lower()}://{rest}".partition("?")
    stated = [part.partition("=")[::2] for part in query.split("&") if part]
    tables = [unquote(value) for name, value in stated if name == "table"]
    named = _NAME.fullmatch(tables[0]) if len(tables) == 1 else None
    if named is None:
        near = closest_name("table", [name for name, _ in stated])
        typo = f" (is {near}= meant as table=?)" if near and near != "table" else ""
        raise TableError(
            f"the {role} table is given as a URL of PostgreSQL that names no table{typo}; write "
            f"{FORM}, with a name that has a dot or a quote in double quotes"
        )
    schema, table = (part and _unquoted(part) for part in named.groups())
    settings = _DEFAULTS | {name: value for name, value in stated if name not in _OWN}
    if _TIMEOUT in os.environ and "connect_timeout" not in dict(stated):
        del settings["connect_timeout"]
    query = "&".join(f"{name}={value}" for name, value in settings.items())
    patience = _seconds(dict(stated).get("read_timeout", str(_PATIENCE)))
    return PostgresAddress(f"{database}?{query}", schema, table, patience)


def _seconds(text: str) -> float:
    """Number of seconds that a URL states."""
    with suppress(ValueError):
        if 0 <= (seconds := float(text)) < inf:
            return seconds
    raise TableError(
        "the read_timeout in the URL of a table is no number of seconds; write &read_timeout=600, "
        "or 0 for a server that may be silent for any time"
    )


def table_name(url: str) -> str:
    """Name of the table in a URL, as written; empty if the URL names no table."""
    found = re.search(r"[?&]table=([^&#\s]*)", url)
    return found[1] if found else ""


def _unquoted(part: str) -> str:
    return part[1:-1].replace('""', '"') if part.startswith('"') else part


def without_password(url: str) -> str:
    """``url`` without its password, which a variable or the password file can state instead."""
    bare = re.sub(r"^(\w+://[^:@/?]*):[^/?]*@", r"\1@", url)
    return re.sub(r"(?<=[?&])(?:ssl)?password=[^&]*&?", "", bare)


def without_address(text: str) -> str:
    """``text`` without passwords; of the URLs of servers only the table's name is kept."""
    return _SECRET.sub(_shortened, text)


def _shortened(secret: re.Match[str]) -> str:
    if secret[0] == FORM:
        return FORM
    scheme, sign, _ = secret[0].partition(":/")
    if not sign:
        return "password=..."
    own = "postgresql" if f"{scheme}{sign}/".lower() in _SCHEMES else scheme
    name = table_name(secret[0])
    return f"{own}://?table={name}" if name else f"{own}://"
