"""The commands of the cheat sheet run one after the other, on tables as a reader may have them."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]
SHEET = (ROOT / "docs" / "cheat-sheet.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| .* \| `pqd (.*)` \|$", re.MULTILINE)
OPTION = re.compile(r"`(--[a-z-]+)")
README = (ROOT / "README.md").read_text(encoding="utf-8")


def table(seed: int) -> pd.DataFrame:
    """Rows of one law."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, 3000)
    city = rng.choice(["Bonn", "Trier", "Neuss"], 3000)
    return pd.DataFrame({"age": age, "income": 20 * age + rng.integers(0, 900, 3000), "city": city})


def test_the_commands_run_in_this_order(
    command: Callable[..., tuple[int, str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PQD_LEDGER", str(tmp_path / "pqd-ledger.sqlite"))
    for seed, name in enumerate(("private", "copy", "one", "two", "others")):
        table(seed).to_csv(f"{name}.csv", index=False)
    Path("q.sql").write_text("SELECT city, COUNT(*) FROM D GROUP BY city;", encoding="utf-8")
    lines = ROW.findall(SHEET)
    assert len(lines) == 13
    for line in lines:
        code, out, err = command(*shlex.split(line))
        assert code == 0, f"{line}\n{out}{err}"
    assert {"page.html", "statement.html", "pqd.xml"} <= {path.name for path in tmp_path.iterdir()}


def test_its_options_exist(command: Callable[..., tuple[int, str, str]]) -> None:
    helps = [command(name, "--help-all")[1] for name in ("audit", "profile")]
    options = set(OPTION.findall(SHEET))
    assert len(options) > 12
    for option in options:
        assert any(option in shown for shown in helps), option


def test_the_readme_names_the_same_commands() -> None:
    names = {line.split()[0] for line in ROW.findall(SHEET)}
    assert names == set(re.findall(r"`pqd (\w+)[^`]*`\]\(", README))
