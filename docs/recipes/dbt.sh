#!/bin/sh
# Builds the tables with dbt, then checks the synthetic one: a step of make, cron or CI.
# audit.toml names the tables that dbt built, in a DuckDB file or in PostgreSQL:
#
#   [private]
#   path = "warehouse.duckdb::patients"
#   [synthetic.copy]
#   path = "warehouse.duckdb::patients_synthetic"
#
# pqd reads the tables after dbt has closed them; a failed check ends the step with exit code 1.
set -eu
dbt build --select patients patients_synthetic
pqd check audit.toml --output junit=pqd.xml --output html=pqd.html
