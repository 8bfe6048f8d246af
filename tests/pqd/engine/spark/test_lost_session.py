"""A session of Spark that is lost: one message, and nothing that its libraries print beside it.

Java is a socket here that ends the connection, which is all that Python sees of one that is killed.
"""

import logging
import socket
from collections.abc import Iterator
from importlib import import_module
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark import SparkContext, accumulators
from pyspark.sql import SparkSession

from pqd.engine.spark.sessions import Quiet, is_lost, session
from pqd.errors import TableError

# Without types of its own.
py4j: Any = import_module("py4j.java_gateway")
HELLO = b"it is me"


@pytest.fixture
def java() -> Iterator[int]:
    """Port of a Java that ends each connection once it was asked for something."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            while True:
                connection, _ = listening.accept()
                with connection:
                    if not connection.recv(1 << 16):
                        return

        thread = Thread(target=serve, daemon=True)
        thread.start()
        yield listening.getsockname()[1]
        socket.create_connection(listening.getsockname()).close()
        thread.join()


@pytest.fixture
def root() -> Iterator[logging.Logger]:
    """Root of the loggers; py4j gives it a handler where it has none."""
    logger = logging.getLogger()
    handlers = list(logger.handlers)
    yield logger
    logger.handlers = handlers


def lost(port: int) -> Any:
    """Session whose Java is gone."""
    jvm = py4j.JavaGateway(gateway_parameters=py4j.GatewayParameters(port=port)).jvm
    context = SimpleNamespace(_jsc=SimpleNamespace(sc=lambda: jvm.java))
    return SimpleNamespace(sparkContext=context, _jvm=jvm)


def test_nothing_is_logged_of_a_java_that_is_gone(
    java: int, root: logging.Logger, caplog: pytest.LogCaptureFixture
) -> None:
    spark = lost(java)
    with Quiet(spark), pytest.raises(py4j.Py4JError):
        spark.sparkContext._jsc.sc()
    assert is_lost(spark)
    assert caplog.records == []
    # Afterwards a caller's own work with Spark is told of as ever, and so is all else meanwhile.
    with pytest.raises(py4j.Py4JError):
        spark.sparkContext._jsc.sc()
    with Quiet():
        root.warning("of another library")
    assert [record.module for record in caplog.records] == ["java_gateway", "test_lost_session"]


def test_a_server_of_accumulators_prints_nothing_when_java_is_gone(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert spoken(HELLO + b"\0\0", capsys) == ""
    assert spoken(HELLO, capsys) == ""
    assert "is not correct" in spoken(HELLO[::-1], capsys)


def spoken(sent: bytes, capsys: pytest.CaptureFixture[str]) -> str:
    """What the server prints of a connection that sends so much and ends."""
    server: Any = accumulators._start_update_server(HELLO.decode(), is_unix_domain_sock=False)
    spark: Any = SimpleNamespace(sparkContext=SimpleNamespace(_accumulatorServer=server))
    with Quiet(spark):
        pass
    with socket.create_connection(server.server_address) as connection:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        # Ends when the server has done with it.
        connection.recv(1)
    server.shutdown()
    return capsys.readouterr().err


def test_a_session_that_was_lost_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: object) -> None:
        raise ConnectionRefusedError

    monkeypatch.setattr(SparkContext, "_active_spark_context", object())
    monkeypatch.setattr(SparkSession.Builder, "getOrCreate", refused)
    with pytest.raises(TableError, match="the session of Spark was lost; begin another") as told:
        session()
    assert told.value.__context__ is None
