"""Tables in PostgreSQL that several tests read."""

from pqd.engine.tables import Table, open_table
from tests.support.postgres_server import PostgresServer

ANALYST = {"user": "analyst", "password": "swordfish"}
SETUP = (
    "CREATE FUNCTION numbers(n int) RETURNS SETOF int LANGUAGE SQL RETURN generate_series(1, n)",
    "CREATE TYPE mood AS ENUM ('sad', 'glad')",
    "CREATE DOMAIN age AS integer CHECK (value >= 0)",
    "CREATE DOMAIN years AS age",
    "CREATE TABLE people (id bigint, gain numeric(12, 2), born date, name varchar(9))",
    "INSERT INTO people SELECT i, i * 1.25, date '1970-01-01' + i, 'n' || i % 7 FROM numbers(20) i",
    "CREATE TABLE nobody (id int, born date, seen timestamptz, name text)",
    'CREATE SCHEMA "Odd.Schema"',
    'CREATE TABLE "Odd.Schema"."Odd ""Table" AS SELECT 1 AS "Ä b", 2 AS "%s {0}"',
    "CREATE TABLE parent (part int, value int) PARTITION BY LIST (part)",
    "CREATE TABLE child PARTITION OF parent FOR VALUES IN (1)",
    "INSERT INTO parent SELECT 1, i FROM numbers(9) i",
    "CREATE VIEW some_people AS SELECT id, name FROM people WHERE id < 9",
    "CREATE TABLE copy AS SELECT id + 1 AS id, gain, born, name FROM people",
    "CREATE TABLE same_people AS SELECT * FROM people ORDER BY id DESC",
    "CREATE TABLE crowd AS SELECT i AS id, 'n' || i % 7 AS name FROM numbers(100000) i",
    "CREATE TABLE crowd_copy AS SELECT id + 1 AS id, name FROM crowd LIMIT 2000",
    "CREATE VIEW breaking AS SELECT ('secret-cell' || id)::int AS odd FROM people",
    "CREATE TABLE hidden (id int)",
    "CREATE SCHEMA hr",
    "CREATE TABLE hr.staff AS SELECT * FROM numbers(4) id",
    "SET check_function_bodies = off",
    "CREATE FUNCTION hr.ids() RETURNS SETOF int LANGUAGE SQL AS 'SELECT id FROM staff'",
    "CREATE VIEW hr.of_staff AS SELECT id FROM hr.ids() AS id",
    "ALTER TABLE hidden ENABLE ROW LEVEL SECURITY",
    "CREATE USER analyst PASSWORD 'swordfish'",
    "GRANT SELECT ON hidden TO analyst",
)


def opened(server: PostgresServer, name: str, **who: str) -> Table:
    """Private table of a server."""
    return open_table(server.url(name, **who), "private")
