"""What a report says is held in the words of who typed a command; notebooks in those of Python."""

from collections.abc import Iterator

import pytest

from pqd.deciders.options import for_shell


@pytest.fixture(autouse=True)
def read_beside_a_shell(request: pytest.FixtureRequest) -> Iterator[None]:
    with for_shell(stated=request.path.stem != "test_notebook"):
        yield
