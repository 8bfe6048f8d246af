"""Extras: libraries that are installed apart, since most runs do without them."""

from collections.abc import Iterator
from contextlib import contextmanager

from pqd.deciders.errors import ParameterError

LIBRARIES = {
    "composition": "dp-accounting",
    "frames": "pandas",
    "learn": "scikit-learn",
    "plots": "matplotlib",
    "postgres": "adbc-driver-postgresql",
    "spark": "pyspark",
}
"""The library of each extra, by the extra's name."""


def missing_library(extra: str, purpose: str) -> str:
    """Sentence that names the library of an extra and the command that installs it."""
    return (
        f"{purpose} needs {LIBRARIES[extra]}, which is not installed; "
        f'run python -m pip install "pqd[{extra}]"'
    )


@contextmanager
def needed(extra: str, purpose: str) -> Iterator[None]:
    """Context in which the library of an extra is imported, for a ``purpose`` that is a noun.

    Raises
    ------
    ParameterError
        If it cannot be imported.
    """
    missing = False
    try:
        yield
    except ImportError:
        missing = True
    if missing:
        raise ParameterError(missing_library(extra, purpose))
