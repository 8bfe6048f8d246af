"""A DAG that checks the synthetic copy; copy it into the folder of DAGs of Airflow 3.

A failed check fails its task: pqd ends with exit code 1, and with 4 if the budget does not reach.
A retry costs nothing, since the ledger replays what was paid for.
"""

import os
from datetime import UTC, datetime

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG

# The folder of audit.toml, on the worker of the custodian, and the ledger beside the private table,
# which every other run on the table uses, too.
FOLDER = os.environ.get("TRUST_FOLDER", "/srv/trust")
LEDGER = os.environ.get("PQD_LEDGER", "/var/lib/pqd/pqd-ledger.sqlite")

with DAG(
    dag_id="trust_in_the_synthetic_copy",
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    schedule="@weekly",
    catchup=False,
    max_active_runs=1,
):
    # Each task has the environment of the worker, and the ledger's place.
    terms = {"cwd": FOLDER, "env": {"PQD_LEDGER": LEDGER}, "append_env": True}
    price = BashOperator(task_id="price", bash_command="pqd check audit.toml --dry-run", **terms)
    check = BashOperator(
        task_id="check",
        bash_command="pqd check audit.toml --output junit=pqd.xml --output html=pqd.html",
        **terms,
    )
    price >> check
