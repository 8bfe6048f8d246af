"""Failures of PostgreSQL, in words of our own: a server's message may quote a cell or a password.

A failure is known by its SQLSTATE, and one before there is a connection by what libpq says.
"""

from __future__ import annotations

_ACCOUNT = "check its user, and its password in PGPASSWORD or in the password file (~/.pgpass)"
_UNREACHABLE = "no server answers there; check the host and port of its URL, and that it runs"
_ENCRYPTED = "the connection is not encrypted as was asked for; check sslmode and the certificates"
_FULL = "the server has no connection left; try again later"
_STARTING = "the server is starting or shutting down; try again later"
_LOST = "the server ended the connection; run again"
_URL = (
    "libpq cannot read its URL; check its form, and escape odd signs of its parts by their "
    "numbers, such as %40 for @"
)
_UNKNOWN = "the server broke it off; its own log says why"
_RIGHT = "permission denied; ask its owner for the right to read it (GRANT SELECT ON ... TO ...)"
_MISSING = (
    "a name in it is not found; a function that a view calls looks for names without a schema in "
    "the search_path of the user: set that (&options=-csearch_path%3Dhr in the URL for the schema "
    "hr, or ALTER ROLE ... SET search_path), or the function's own (ALTER FUNCTION ... SET "
    "search_path); if it was changed or dropped just now, run again"
)
_CONNECT = "the user may not connect to the database; ask its owner (GRANT CONNECT ON DATABASE ...)"

_STATES = {
    "42501": _RIGHT,
    **dict.fromkeys(("42P01", "42703", "42883", "42704", "3F000"), _MISSING),
    "57014": "the server cancelled it, as it does after statement_timeout; give the user a longer "
    "one (ALTER ROLE ... SET statement_timeout), or run when the server is less busy",
    "55P03": "another session keeps it locked; run again when that has ended",
    "57P01": _LOST,
    "57P02": _LOST,
    "57P03": _STARTING,
    "57P05": _LOST,
    "25P04": "the server ended the transaction, as it does after transaction_timeout; give the "
    "user a longer one",
    "25P02": "the read before it broke; run again",
    "40001": "the server needed the rows that it was about to read for recovery; read from the "
    "primary server, or let the standby wait longer (max_standby_streaming_delay)",
    "53300": _FULL,
    "28000": f"the server does not let the user in; {_ACCOUNT}",
    "28P01": f"the server does not let the user in; {_ACCOUNT}",
    "3D000": "the server has no such database; check the name in its URL",
}
# What libpq says, in the order of asking: parts of its messages in English, and the advice.
_SAID = (
    (("unexpected spaces", "unexpected character", "key/value separator", "end of string"), _URL),
    (("no connection to", "closed ", "receive data", "send data"), _LOST),
    (("permission denied",), _CONNECT),
    (("pg_hba.conf",), "the server admits no such connection; its pg_hba.conf says which"),
    (("password", "authentication failed", "role "), _STATES["28P01"]),
    (('database "',), _STATES["3D000"]),
    (("SSL", "certificate", "GSSAPI"), _ENCRYPTED),
    (("too many clients", "connection slots"), _FULL),
    (("starting up", "shutting down"), _STARTING),
    (("invalid ", "definition of service"), _URL),
    (("refused", "No such file", "translate host name", "timeout", "unreachable"), _UNREACHABLE),
)


def advice_on(error: Exception) -> str:
    """Advice on an error of the driver, nothing of which is quoted."""
    state = getattr(error, "sqlstate", None)
    if isinstance(state, str):
        return _STATES.get(state, _UNKNOWN)
    said = str(error)
    return next((advice for parts, advice in _SAID if any(map(said.__contains__, parts))), _UNKNOWN)


def silent(patience: float) -> str:
    """Advice on a server that sends nothing for ``patience`` seconds."""
    return (
        f"the server has been silent for {patience:g} seconds; see whether it runs and is reached, "
        "and run again; if a view takes it so long, add a longer &read_timeout= to the URL"
    )
