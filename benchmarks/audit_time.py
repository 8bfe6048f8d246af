"""Time of `pqd` and of other programs on the census pair: `python benchmarks/audit_time.py`.

Every run is a whole process: it starts, imports, reads both tables and writes the report.  The
programs take turns, and the fastest repeat of each counts.  Unix only.
"""

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

from benchmarks.mixed_queries import prefixes, ranges
from benchmarks.processes import Program, imports, in_turn, measured, table_text

HERE = Path(__file__).resolve().parent
SAMPLES = HERE.parent / "samples"
ROWS = 1_340_703
FORMATS = ("csv", "parquet")
PQD = (sys.executable, "-m", "pqd")
CENSUS = ("--queries", str(SAMPLES / "census.sql"), "--tau", "3.2%", "--epsilon", "0.25")
MIXED = ("--tau", "5%", "--epsilon", "0.25")
SHARED = ("--tau", "5%", "--total-epsilon", "1", "--sharing", "auto")
PLANNED = 3000
BOUND = "polars reads both files"
FIRST, AGAIN = "pqd audit, first run", "pqd audit, repeated"
PLAIN, CATEGORIES = "pandas script", "pandas script, categories"
QUALITY = "SDMetrics quality report"
READ = "import sys, polars; [polars.read_{0}(name) for name in sys.argv[1:]]"
# Program that writes the rows of a table several times into a file of the same format.
REPEATED = """
import sys, duckdb
source, times, target = sys.argv[1:]
kind = "FORMAT parquet, COMPRESSION zstd" if target.endswith("parquet") else "HEADER"
duckdb.sql(f"COPY (SELECT t.* FROM '{source}' t, range({times})) TO '{target}' ({kind})")
"""
# Program that runs `pqd`.  Its first argument names a file: when both tables are read, the program
# writes the time to it.  The other arguments are those of `pqd`.
STAMPED = """
import sys, time
from pqd.commands import audit
separate, stamp = audit.separate_tables, sys.argv.pop(1)
def stamped(*given, **stated):
    tables = separate(*given, **stated)
    with open(stamp, "w") as file:
        file.write(str(time.monotonic()))
    return tables
audit.separate_tables = stamped
from pqd.__main__ import main
main()
"""


@dataclass(frozen=True)
class Setting:
    """Folder of the tables and reports, and the interpreter of the other programs."""

    folder: Path
    others: str

    def tables(self, extension: str, times: int = 1) -> tuple[str, str]:
        """Private and synthetic file, in which the rows are repeated ``times`` times."""
        stem = "census" if times == 1 else f"{times}x"
        private, synthetic = (
            self.folder / f"{stem}_{kind}.{extension}" for kind in ("private", "synthetic")
        )
        return str(private), str(synthetic)

    def answers(self, name: str, extension: str) -> Path:
        """File to which a program writes its answers on the synthetic table."""
        return self.folder / f"{name}.{extension}.json"

    def ledger(self, name: str) -> Path:
        """Folder of the ledger of one program."""
        return self.folder / f"ledger of {name}"

    def mixed(self, number: int) -> str:
        """File of ``number`` mixed queries; it is written if it does not exist."""
        path = self.folder / f"mixed-{number}.sql"
        if not path.exists():
            copy = self.tables("parquet")[1]
            script = str(HERE / "mixed_queries.py")
            measured((sys.executable, script, copy, str(number), str(path)))
        return str(path)

    def shared(self, name: str, workload: str) -> str:
        """File of a workload whose queries share a budget."""
        path = self.folder / f"{name}.sql"
        path.write_text(workload, encoding="utf-8")
        return str(path)

    def enlarge(self, extension: str, times: int) -> None:
        """Write both tables with their rows repeated ``times`` times."""
        targets = self.tables(extension, times)
        for source, target in zip(self.tables(extension), targets, strict=True):
            measured((sys.executable, "-c", REPEATED, source, str(times), target))


def thirty_queries(setting: Setting, extension: str) -> list[Program]:
    """Programs on files of one format: pqd, the bare read, and other programs that people run."""
    files = setting.tables(extension)

    def answering(name: str, *command: str, fresh: Path | None = None) -> Program:
        answers = str(setting.answers(name, extension))
        return Program(name, (*command, *files, *CENSUS, "--json", answers), fresh)

    ledger = setting.ledger(extension)
    audit = (*PQD, "audit", "--ledger", str(ledger / "ledger.sqlite"))
    script = (sys.executable, str(HERE / "pandas_pqd.py"))
    found = [
        answering(FIRST, *audit, fresh=ledger),
        answering(AGAIN, *audit),
        answering(PLAIN, *script),
        answering(CATEGORIES, *script, "--categories"),
    ]
    if imports(setting.others, "polars"):
        found.insert(0, Program(BOUND, (setting.others, "-c", READ.format(extension), *files)))
    if imports(setting.others, "sdmetrics", "pyarrow"):
        report = (setting.others, str(HERE / "sdmetrics_report.py"), *files)
        found.append(Program(QUALITY, report, once=True))
    return found


def audits_of(setting: Setting, name: str, files: Sequence[str], queries: str) -> Program:
    """First audit of some files, with a new ledger."""
    ledger = setting.ledger(name)
    where = ("--ledger", str(ledger / "ledger.sqlite"))
    return Program(name, (*PQD, "audit", *files, "--queries", queries, *MIXED, *where), ledger)


def by_number(setting: Setting, extension: str, numbers: Sequence[int]) -> list[Program]:
    """Audits with increasing numbers of queries."""
    files = setting.tables(extension)
    return [
        audits_of(setting, f"{number:,} queries", files, setting.mixed(number))
        for number in numbers
    ]


def after_reading(setting: Setting, extension: str, number: int, repeat: int) -> float:
    """Seconds from the end of reading to the end of the process, in the fastest of the runs."""
    name, stamp = f"{number:,} queries, after reading", setting.folder / "read"
    audit = audits_of(setting, name, setting.tables(extension), setting.mixed(number))
    options = audit.command[len(PQD) :]
    program = replace(audit, command=(sys.executable, "-c", STAMPED, str(stamp), *options))
    found = []
    for _ in range(repeat):
        in_turn([program], 1)
        found.append(time.monotonic() - float(stamp.read_text("utf-8")))
    return min(found)


def by_rows(setting: Setting, extension: str, scales: Sequence[int]) -> list[Program]:
    """Audits of 30 queries on increasing numbers of rows."""
    queries = setting.mixed(30)
    return [
        audits_of(setting, f"rows x {times}", setting.tables(extension, times), queries)
        for times in scales
    ]


def without_a_secret(setting: Setting, extension: str) -> list[Program]:
    """Other commands that people wait for at a terminal: a plan, the demonstration, the help."""
    ledger = setting.ledger("demo")
    samples = [str(SAMPLES / f"census_{kind}.parquet") for kind in ("private", "synthetic")]
    where = ("--ledger", str(ledger / "ledger.sqlite"))
    plan = ("plan", setting.tables(extension)[1], "--queries", setting.mixed(PLANNED), *MIXED)
    return [
        Program(f"pqd plan, {PLANNED:,} queries", (*PQD, *plan)),
        Program("make demo", (*PQD, "profile", *samples, *where), ledger),
        Program("pqd --help", (*PQD, "--help")),
    ]


def with_one_budget(setting: Setting, extension: str) -> list[Program]:
    """Audits whose queries share one budget; the mechanism that is most often right answers."""
    files = setting.tables(extension)
    found = []
    for name, workload in (
        ("300 counts on two columns, one budget", ranges(300)),
        ("1,000 prefix sums, one budget", prefixes(1000)),
    ):
        ledger = setting.ledger(name)
        where = ("--queries", setting.shared(name, workload), "--ledger", str(ledger / "l.sqlite"))
        found.append(Program(name, (*PQD, "audit", *files, *SHARED, *where), ledger))
    return found


def agreed(setting: Setting) -> int:
    """Number of queries, after a check that pqd and pandas gave the same synthetic answers.

    Raises
    ------
    SystemExit
        The answers differ between the programs or the formats, so the times are not comparable.
    """
    first: dict[str, float] | None = None
    for extension in FORMATS:
        for name in (FIRST, AGAIN, PLAIN, CATEGORIES):
            report = json.loads(setting.answers(name, extension).read_text(encoding="utf-8"))
            found = {each["id"]: float(each["q_synthetic"]) for each in report["verdicts"]}
            first = found if first is None else first
            if found != first:
                ids = sorted(k for k in first | found if first.get(k) != found.get(k))
                raise SystemExit(f"{name} ({extension}) differs on {', '.join(ids)}")
    return len(first or {})


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description="Time pqd beside other programs.")
    parser.add_argument("--rows", type=int, default=ROWS, help="rows per table (%(default)s)")
    parser.add_argument("--repeat", type=int, default=3, help="runs per program (%(default)s)")
    parser.add_argument(
        "--queries", type=int, nargs="*", default=[30, 300, 3000, 30_000], help="%(default)s"
    )
    parser.add_argument("--scales", type=int, nargs="*", default=[1, 10], help="%(default)s")
    parser.add_argument(
        "--format", choices=FORMATS, default="csv", help="of all but the first table (%(default)s)"
    )
    parser.add_argument(
        "--others", default=sys.executable, help="interpreter with polars and SDMetrics"
    )
    options = parser.parse_args(argv)
    if min(options.rows, options.repeat, *options.queries, *options.scales) < 1:
        parser.error("numbers must be positive")
    return options


def head(options: argparse.Namespace) -> str:
    """Sentence on the settings, the machine and the versions."""
    versions = (f"{name} {version(name)}" for name in ("pqd", "duckdb", "opendp", "pandas"))
    return (
        f"{options.rows:,} rows per table, best of {options.repeat}; {os.cpu_count()} cores, "
        f"{platform.system()}, Python {platform.python_version()}, {', '.join(versions)}; "
        f"load before the start {os.getloadavg()[0]:.2f}"
    )


def run(setting: Setting, options: argparse.Namespace) -> None:
    """Run all programs on existing tables; print each table as soon as it is known."""
    for module, what in (("polars", BOUND), ("sdmetrics", QUALITY)):
        if not imports(setting.others, module):
            print(f"Left out: {what} ({module} is not installed; see --others)")
    slower, larger = (BOUND, CATEGORIES), (PLAIN, CATEGORIES)
    for extension in FORMATS:
        best = in_turn(thirty_queries(setting, extension), options.repeat)
        title = f"30 queries, {extension}"
        print(f"\n{table_text(title, best, slower, larger)}", flush=True)
    if options.queries:
        best = in_turn(by_number(setting, options.format, options.queries), options.repeat)
        base = [next(iter(best))]
        print(f"\n{table_text(options.format, best, base, base)}", flush=True)
        most = max((n for n in options.queries if n <= PLANNED), default=min(options.queries))
        seconds = after_reading(setting, options.format, most, options.repeat)
        print(f"\n{most:,} queries: {seconds:.2f} s once both tables are read", flush=True)
    commands = [
        *with_one_budget(setting, options.format),
        *without_a_secret(setting, options.format),
    ]
    best = in_turn(commands, options.repeat)
    print(f"\n{table_text('command', best, (), ())}", flush=True)
    if options.scales:
        for times in options.scales:
            if times > 1:
                setting.enlarge(options.format, times)
        best = in_turn(by_rows(setting, options.format, options.scales), options.repeat)
        base = [next(iter(best))]
        print(f"\n{table_text(options.format, best, base, base)}", flush=True)
    print(f"\npqd and pandas agree on the {agreed(setting)} synthetic answers.")


def main(argv: Sequence[str] | None = None) -> None:
    """Make the tables, run all programs, and print the times."""
    options = arguments(argv)
    print(head(options), flush=True)
    with tempfile.TemporaryDirectory() as name:
        sizes = ("census", "--rows", str(options.rows), "--format", "both", "--out", name)
        measured((sys.executable, str(SAMPLES / "make.py"), *sizes))
        run(Setting(Path(name), options.others), options)


if __name__ == "__main__":
    main()
