"""The four stories run in their order, on tables of one's own, and print what the pages show."""

import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from tests.support.shown import missing_rows

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(
    r'```(console|python|toml)(?: title="(\S+)")?\n(.*?)```'
    r"(?:\n+(?:[^`\n]+\n+)?```text\n(.*?)```)?",
    re.DOTALL,
)
PAGES = {"custodian": 2, "pipeline": 3, "researcher": 2, "analyst": 1}
TABLES = {"private": "private", "copy": "synthetic", "tree": "synthetic"} | {
    name: name for name in ("flat", "coarse")
}


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with the samples as the CSV files of a reader."""
    folder = tmp_path_factory.mktemp("tables")
    for name, sample in TABLES.items():
        frame = pd.read_parquet(ROOT / "samples" / f"census_{sample}.parquet")
        frame.to_csv(folder / f"{name}.csv", index=False)
    make = [sys.executable, str(ROOT / "samples" / "make.py"), "census", "--seed", "8"]
    make += ["--out", str(folder), "--format", "csv"]
    subprocess.run(make, check=True)  # noqa: S603 - ours
    (folder / "census_private.csv").rename(folder / "others.csv")
    (folder / "q.sql").write_bytes((ROOT / "samples" / "office.sql").read_bytes())
    return folder


@pytest.mark.parametrize("page", PAGES)
def test_a_story_is_told_as_it_happens(
    page: str,
    tables: Path,
    tmp_path: Path,
    command: Callable[..., tuple[int, str, str]],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for path in tables.iterdir():
        (tmp_path / path.name).symlink_to(path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PQD_LEDGER", str(tmp_path / "pqd-ledger.sqlite"))
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    blocks = BLOCK.findall(text)
    assert sum(bool(shown) for *_, shown in blocks) == PAGES[page]
    for language, title, code, shown in blocks:
        if language == "toml":
            with Path(title or "audit.toml").open("a", encoding="utf-8") as spec:
                spec.write(code)
            continue
        if language == "python":
            exec(compile(code, page, "exec"), {})  # noqa: S102 - the point of the test
            printed = capsys.readouterr().out
            assert printed.strip()
        else:
            printed = ""
            for line in re.findall(r"^\$ pqd (.*)$", code, re.MULTILINE):
                ended, out, err = command(*shlex.split(line))
                assert ended == int("FAILED" in shown), f"{line}\n{out}{err}"
                printed += out + err
        assert missing_rows(shown, printed) == [], printed
    for name in re.findall(r"(?:--html |junit=|open\(\")([\w.-]+)", text):
        assert (tmp_path / name).stat().st_size, name
