"""Failures of Spark in pqd's own words, since Spark's messages may quote a cell."""

from __future__ import annotations

from pqd.engine.spark.jobs import WorkerError
from pqd.engine.spark.workers import OTHER_VERSION

# Words in messages of Spark, Java and Python that mark a failure, and pqd's words on this failure.
UNKNOWN_TABLE = (
    "is not known to Spark; check its name, and that the catalog is in Spark's configuration"
)
_OPENING = {
    (
        *("TABLE_OR_VIEW_NOT_FOUND", "NoSuchTable"),
        *("SCHEMA_NOT_FOUND", "CATALOG_NOT_FOUND"),
    ): UNKNOWN_TABLE,
    ("PATH_NOT_FOUND", "FileNotFound"): "does not exist where Spark looks for it; check its path",
    ("ermission", "AccessControl", "AccessDenied", "Forbidden", "orbidden"): (
        "may not be read by this user of Spark; ask for the right to read it"
    ),
    ("DATA_SOURCE_NOT_FOUND", "ClassNotFound"): (
        "has a format that this Spark lacks; add its package to Spark's configuration "
        "(spark.jars.packages)"
    ),
    ("PARSE_SYNTAX_ERROR", "ParseException", "REQUIRES_SINGLE_PART_NAMESPACE"): (
        "has a name that Spark cannot read; write catalog.schema.table, odd names in backticks"
    ),
    ("UNABLE_TO_INFER_SCHEMA",): "has no columns that Spark can tell; check its path and format",
}
_RUNNING = {
    ("No module named",): (
        "the Python of Spark's workers lacks pqd or what it needs; on one machine set "
        "PYSPARK_PYTHON to the Python of this program before the session begins, on a cluster see "
        "docs/spark.md on packing it"
    ),
    ("PYTHON_VERSION_MISMATCH",): (
        "Spark's workers have another version of Python; set PYSPARK_PYTHON to one like this"
    ),
    ("Cannot run program",): "Spark's workers have no Python; set PYSPARK_PYTHON",
    ("OutOfMemory", "MemoryError"): "Spark ran out of memory; give its executors more",
    ("maxResultSize",): (
        "what is counted has more distinct values than spark.driver.maxResultSize holds; "
        "state coarser bounds and steps, or raise it"
    ),
    ("exited unexpectedly", "ExecutorLost", "Executor heartbeat", "executor lost", "SIGKILL"): (
        "a worker of Spark was lost; run it again, with more memory for its executors"
    ),
    ("ermission", "AccessControl", "AccessDenied"): (
        "this user of Spark may not read all of it; ask for the right to read it"
    ),
    ("FileNotFound", "FILE_NOT_EXIST"): (
        "some of its files are gone since it was opened; run again when it is settled"
    ),
}
_OTHER_VERSION = (
    "Spark's workers have another version of pqd than this one; see docs/spark.md on packing it"
)


_UNOPENED = "cannot be opened by Spark; check its name or path, and that it has the format stated"
_UNREAD = "check whether Spark runs, and that no row makes a view or a cast fail"


def refusal_of(error: Exception) -> str:
    """Reason why a table cannot be opened."""
    return _told(error, _OPENING) or _told(error, _RUNNING) or _UNOPENED


def advice_on(error: Exception) -> str:
    """Advice on a failure of Spark, whose own message is not quoted."""
    if isinstance(error, WorkerError):
        return _OTHER_VERSION if error.reason == OTHER_VERSION else "check the table"
    return _told(error, _RUNNING) or _UNREAD


def _told(error: Exception, words: dict[tuple[str, ...], str]) -> str:
    text = f"{type(error).__name__} {error}"
    return next((what for marks, what in words.items() if any(m in text for m in marks)), "")
