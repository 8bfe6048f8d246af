"""Extras: libraries that are installed separately, because most runs do not need them."""

from collections.abc import Iterator
from contextlib import contextmanager

from pqd.deciders.errors import ParameterError

LIBRARIES = {
    "composition": "dp-accounting",
    "learn": "scikit-learn",
    "plots": "matplotlib",
    "postgres": "adbc-driver-postgresql",
    "spark": "pyspark",
}
"""Library that each extra installs, by the name of the extra."""


def missing_library(extra: str, purpose: str) -> str:
    """Sentence that names the missing library and the command that installs the library."""
    return (
        f"{purpose} needs {LIBRARIES[extra]}, which is not installed; "
        f'run python -m pip install "pqd[{extra}]"'
    )


@contextmanager
def needed(extra: str, purpose: str) -> Iterator[None]:
    """Context in which the library of an extra is imported; ``purpose`` is a noun for the error.

    Raises
    ------
    ParameterError
        If the library cannot be imported.
    """
    missing = False
    try:
        yield
    except ImportError:
        missing = True
    if missing:
        raise ParameterError(missing_library(extra, purpose))
