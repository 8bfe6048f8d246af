"""A session of Spark in this process, with little memory, that starts no sooner than it is used."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pqd.engine.spark import sessions, table
from pqd.engine.synthetic_table import SyntheticTable
from pqd.engine.tables import open_table
from pqd.errors import RunError, TableError

# One core, and a compiler that does not look twice: all that is run is short.
ARGUMENTS = (
    "--master local[1] --driver-memory 512m "
    '--driver-java-options "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xss4m" '
    "--conf spark.sql.shuffle.partitions=2 --conf spark.sql.codegen.wholeStage=false "
    "--conf spark.local.dir={folder} --conf spark.sql.warehouse.dir={folder}/warehouse "
    "pyspark-shell"
)
ADVICE = "needs Java, for Spark (Debian: apt-get install default-jre-headless)"
# Asked for now, since tests do without the variable.
IN_CI = bool(os.environ.get("CI"))


def has_java() -> bool:
    """Whether there is a Java on this machine."""
    home = os.environ.get("JAVA_HOME")
    return bool(home and (Path(home) / "bin" / "java").exists()) or shutil.which("java") is not None


@contextmanager
def running(folder: Path) -> Iterator[Any]:
    """Session as ``pqd`` starts it, until the end of the context."""
    if not has_java():
        (pytest.fail if IN_CI else pytest.skip)(ADVICE)
    with pytest.MonkeyPatch.context() as patch, (folder / "log").open("wb") as log:
        # What Java would print, but for the level that pqd gives its log.
        patch.setattr(sessions, "_OUTPUT", log)
        patch.setenv("PYSPARK_SUBMIT_ARGS", ARGUMENTS.format(folder=folder))
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        spark = sessions.session()
        gateway: Any = spark.sparkContext._gateway
        yield spark
        # The last that is asked of it, since there is none afterwards.
        frame = open_table(spark.range(9), "private")
        spark.stop()
        with pytest.raises(RunError, match="the session of Spark was lost"):
            SyntheticTable().content(frame, b"key")
        patch.setattr(table, "session", lambda: spark)
        with pytest.raises(TableError, match="cannot be opened; the session of Spark was lost"):
            open_table("spark://anything", "private")
        gateway.shutdown()
        # Java ends once nothing more can be written to it.
        gateway.proc.stdin.close()
        gateway.proc.wait(60)
