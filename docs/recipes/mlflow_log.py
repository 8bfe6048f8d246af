"""A script that checks a copy and logs the report to MLflow: python mlflow_log.py audit.toml.

A report holds of the private table only what was drawn with noise and paid for, so it may be logged
where the copy may be read.  The ledger and its key stay with the custodian: never log them.
"""

import re
import sys

import mlflow

import pqd


def named(text: str) -> str:
    """Name of a metric: MLflow takes few signs."""
    return re.sub(r"[^\w./-]+", "_", text)


report = pqd.check(sys.argv[1])
with mlflow.start_run(run_name="trust in the synthetic copy"):
    mlflow.set_tag("pqd.exit_code", report.exit_code)
    mlflow.log_metric("pqd.epsilon", float(report.cost.epsilon))
    for check in report.checks:
        mlflow.log_metric(f"{named(check.id)}.passed", float(check.gate == "pass"))
        for verdict in check.verdicts:
            # What was released of the private table; None where a verdict releases no number.
            released = {"private_answer": verdict.estimate, "p_value": verdict.p_value}
            for what, value in released.items():
                if value is not None:
                    mlflow.log_metric(f"{named(verdict.id)}.{what}", float(value))
    mlflow.log_text(report.to_json(), "pqd.json")
    mlflow.log_text(report.to_html(), "pqd.html")
sys.exit(report.exit_code)
