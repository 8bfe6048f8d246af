"""A server with tables, for all tests of this folder."""

import pytest

from tests.support.postgres_server import PostgresServer
from tests.support.postgres_tables import SETUP


@pytest.fixture(scope="session")
def server(postgres_server: PostgresServer) -> PostgresServer:
    """Server with the tables of these tests."""
    postgres_server.run(*SETUP)
    return postgres_server
