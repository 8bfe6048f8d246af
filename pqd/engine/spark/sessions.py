"""Session of Spark: the caller's own, or a session that pqd starts and that prints nothing.

Spark's log of an error may quote a cell.  So the log is off while a job of pqd runs, and the log of
a session that pqd starts is discarded.
"""

from __future__ import annotations

import logging
import os
import signal
import struct
import subprocess
import sys
import threading
import warnings
from contextlib import contextmanager, suppress
from functools import partial
from typing import IO, TYPE_CHECKING, Any, ClassVar

from pqd.deciders.extras import needed
from pqd.errors import TableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from pqd.engine.spark.workers import Mapped

# Python loggers that quote Spark's errors: plain loggers, and loggers of Spark's own class.
_PLAIN = ("py4j", "py4j.clientserver", "py4j.java_gateway")
_OWN = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
# Modules of py4j, which also log to the root logger.
_OF_PY4J = ("java_gateway", "clientserver")
LOST = "the session of Spark was lost; begin another and run it again"
# Settings of a session that pqd starts, beside the settings in Spark's configuration.
_SETTINGS = {
    "spark.app.name": "pqd",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    # Data that executors write to disk, between two stages of a job, are encrypted.
    "spark.io.encryption.enabled": "true",
}
# Output of a Java process that pqd starts.
_OUTPUT: int | IO[bytes] = subprocess.DEVNULL
_LOCK = threading.RLock()


def session() -> SparkSession:
    """Session of the process; if there is none, a new session by Spark's configuration.

    Raises
    ------
    ParameterError
        If pyspark is not installed.
    TableError
        If Spark does not start, or its session was lost.
    """
    with needed("spark", "a table of Spark"), no_warnings():
        from pyspark import SparkContext  # noqa: PLC0415 - an extra, and a heavy import
        from pyspark.sql import SparkSession  # noqa: PLC0415
    with no_warnings(), Quiet():
        if SparkContext._active_spark_context is None:  # noqa: SLF001 - nothing else tells
            return _started()
        with suppress(Exception):
            return SparkSession.builder.getOrCreate()
    raise TableError(LOST)


def _started() -> SparkSession:
    """New session; the handler of Ctrl-C stays as it is."""
    from pyspark import (  # noqa: PLC0415 - an extra, and a heavy import
        SparkConf,
        SparkContext,
        java_gateway,
    )
    from pyspark.sql import SparkSession  # noqa: PLC0415

    # Workers run this Python unless the user states another.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    handler = signal.getsignal(signal.SIGINT)
    started = None
    with suppress(Exception):
        settings = SparkConf().setAll(list(_SETTINGS.items()))
        quiet = {"stdout": _OUTPUT, "stderr": _OUTPUT}
        launch: Any = java_gateway.launch_gateway
        gateway = launch(settings, popen_kwargs=quiet)
        started = SparkSession(SparkContext(gateway=gateway, conf=settings))
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, handler)
    if started is None:
        raise TableError(
            "Spark does not start: it needs Java 17 or later (JAVA_HOME, or java on the PATH) and "
            "a configuration in order; see whether spark-submit --version and pyspark run"
        )
    return started


def is_lost(spark: SparkSession) -> bool:
    """Whether a session was stopped, or its Java is gone."""
    with suppress(Exception), Quiet():
        java: Any = spark.sparkContext._jsc  # noqa: SLF001 - there is no other way to ask
        return bool(java.sc().isStopped())
    return True


def mapped(frame: DataFrame, function: Mapped, schema: StructType | str) -> DataFrame:
    """Frame whose partitions ``function`` maps, from Arrow batches to batches of ``schema``."""
    with no_warnings():
        return frame.mapInArrow(function, schema)


@contextmanager
def no_warnings() -> Iterator[None]:
    """Context without Python's warnings, some of which Spark gives to every user.

    Keep it short: all threads share the filters of warnings, so one thread at a time changes them.
    """
    with _LOCK, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


class Quiet:
    """Context in which Spark logs nothing, in Java or in Python; several contexts may overlap.

    Without a session, only Python's loggers are silent.
    """

    _users: ClassVar[dict[int, tuple[int, str]]] = {}

    def __init__(self, spark: SparkSession | None = None) -> None:
        """Nothing is changed yet; all sessions of one SparkContext share one log."""
        self._spark = spark
        self._log = id(spark.sparkContext) if spark else 0

    def __enter__(self) -> None:
        """Turn logging off."""
        with _LOCK:
            users, level = self._users.get(self._log, (0, ""))
            self._users[self._log] = users + 1, level
            if users:
                return
            # Python's loggers are turned off first, since they also log that Java is gone.
            _disable(disabled=True)
            self._users[self._log] = 1, self._level()
            self._set("OFF")
            self._hush()

    def __exit__(self, *_: object) -> None:
        """Turn logging on again, at its level before."""
        with _LOCK:
            users, level = self._users[self._log]
            if users > 1:
                self._users[self._log] = users - 1, level
                return
            self._set(level)
            del self._users[self._log]
            _disable(disabled=bool(self._users))

    def _hush(self) -> None:
        """Let Spark's server of accumulators (a thread) print nothing when Java is gone."""
        context = self._spark and self._spark.sparkContext
        if server := getattr(context, "_accumulatorServer", None):
            server.handle_error = partial(_told_elsewhere, type(server).handle_error, server)

    def _level(self) -> str:
        level = ""
        # A session that is lost has no log.
        with suppress(Exception):
            level = str(self._java.LogManager.getRootLogger().getLevel().toString())
        return level

    def _set(self, level: str) -> None:
        # Spark's own setLogLevel would also remove the filter of a Spark shell, for good.
        with suppress(Exception):
            if level:
                java = self._java
                java.core.config.Configurator.setRootLevel(java.Level.toLevel(level))

    @property
    def _java(self) -> Any:  # noqa: ANN401 - a package of Java
        spark: Any = self._spark
        java: Any = spark._jvm  # noqa: SLF001 - there is no other way to the log
        return java.org.apache.logging.log4j


def _disable(*, disabled: bool) -> None:
    """Turn loggers of Python off, or on."""
    from pyspark.logger import PySparkLogger  # noqa: PLC0415 - an extra

    # Spark's own loggers are made by Spark's class: Spark cannot use a plain logger of that name.
    for each in (*map(logging.getLogger, _PLAIN), *map(PySparkLogger.getLogger, _OWN)):
        each.disabled = disabled
    root = logging.getLogger()
    (root.addFilter if disabled else root.removeFilter)(_not_of_py4j)


def _not_of_py4j(record: logging.LogRecord) -> bool:
    return record.module not in _OF_PY4J


def _told_elsewhere(told: Callable[..., None], *of: object) -> None:
    """Report an error of the server, unless Java is gone: the next call of Spark reports that."""
    if not isinstance(sys.exception(), (EOFError, OSError, struct.error)):
        told(*of)
