"""Where an audit's time goes: one run in this process, seconds per phase as JSON.

`python benchmarks/audit_phases.py PRIVATE SYNTHETIC --queries FILE --tau 3.2% --epsilon 0.25`
"""

import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

STAGES = {
    "Reading the synthetic table": "synthetic table, thresholds and choice of deciders",
    "Recognising the private table": "fingerprint of the private table, once per file",
    "Reading the private table": "private table",
    "Deciding": "decisions",
}


class Stopwatch:
    """Adds up the seconds between marks; usable as the progress callback of an audit."""

    def __init__(self) -> None:
        """Start with the first phase."""
        self.seconds: dict[str, float] = {}
        self._phase, self._since = "import", time.perf_counter()

    def __call__(self, stage: str, done: int = 0, total: int = 0) -> None:
        """End the running phase and start ``stage``; repeated stages add up."""
        del done, total
        now = time.perf_counter()
        self.seconds[self._phase] = self.seconds.get(self._phase, 0.0) + now - self._since
        self._phase, self._since = STAGES.get(stage, stage), now


def main(argv: Sequence[str]) -> None:
    """Run one audit and print its phases."""
    private, synthetic, _, queries, _, tau, _, epsilon = argv
    watch = Stopwatch()
    # Imports are measured here, in the order in which the command line makes them.
    from deciders import SecureNoise  # noqa: PLC0415

    noise = SecureNoise()
    from pqd.accounting.accountant import Accountant  # noqa: PLC0415
    from pqd.commands.audit import run_audit  # noqa: PLC0415
    from pqd.parameters import Parameters  # noqa: PLC0415
    from pqd.sql.workload_files import read_queries  # noqa: PLC0415

    watch("parse the queries")
    parsed = read_queries(queries)
    terms = Parameters.parse(tau=tau, epsilon=epsilon, alpha="0.05")
    watch("open the tables")
    with tempfile.TemporaryDirectory() as folder:
        accountant = Accountant(Path(folder) / "ledger.sqlite")
        report = run_audit(private, synthetic, parsed, terms, noise, watch, accountant=accountant)
    watch("render JSON")
    report.to_json()
    watch("end")
    print(json.dumps(watch.seconds))


if __name__ == "__main__":
    main(sys.argv[1:])
