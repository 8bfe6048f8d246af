"""A table gives the same profile from every format: kinds, cells, distances and verdicts."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from pqd.commands.profile import run_profile
from pqd.marginals.profile_parameters import ProfileParameters
from pqd.reports.models.profile import ProfileReport
from tests.support.noises import Absent

ROWS = 600


def people(seed: int) -> pd.DataFrame:
    """People with days, moments, money, truths, missing values, and codes with a leading zero."""
    rng = np.random.default_rng(seed)
    day = pd.Timestamp("2021-03-01") + pd.to_timedelta(rng.integers(0, 700, ROWS), unit="D")
    moment = day + pd.to_timedelta(rng.integers(0, 86_400, ROWS), unit="s")
    return pd.DataFrame(
        {
            "opened": day.strftime("%Y-%m-%d"),
            "login": pd.Series(moment.strftime("%Y-%m-%d %H:%M:%S")).mask(rng.random(ROWS) < 0.2),
            "pay": (rng.gamma(2, 900, ROWS)).round(2),
            "bonus": pd.Series(rng.integers(1, 40, ROWS) * 50.0).mask(rng.random(ROWS) < 0.5),
            "age": rng.integers(18, 90, ROWS),
            "active": rng.random(ROWS) < 0.7,
            "agreed": pd.Series(np.where(rng.random(ROWS) < 0.5, "true", "false")).mask(
                rng.random(ROWS) < 0.3
            ),
            "zip": pd.Series(rng.integers(1, 40, ROWS)).map("06{:03}".format),
            "segment": rng.choice(["basic", "plus", "Gr\u00f6\u00dfe"], ROWS),
        }
    )


def as_csv(frame: pd.DataFrame, path: Path) -> Path:
    file = path.with_suffix(".csv")
    frame.assign(active=frame["active"].map({True: "true", False: "false"})).to_csv(
        file, index=False
    )
    return file


def as_pandas(frame: pd.DataFrame, path: Path) -> pd.DataFrame:
    # Pandas itself reads 06680 as 6680, unless it is told that codes are texts.
    return pd.read_csv(as_csv(frame, path), dtype={"zip": str})


def as_objects(frame: pd.DataFrame, path: Path) -> pd.DataFrame:
    return as_pandas(frame, path).astype({"opened": object, "login": object, "zip": str})


def as_parquet(frame: pd.DataFrame, path: Path) -> Path:
    file = path.with_suffix(".parquet")
    as_pandas(frame, path).to_parquet(file)
    return file


def as_times(frame: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Days and moments of a type of their own."""
    known = as_pandas(frame, path)
    return known.assign(
        opened=pd.to_datetime(known["opened"]), login=pd.to_datetime(known["login"])
    )


def as_polars(frame: pd.DataFrame, path: Path) -> pl.DataFrame:
    return pl.read_csv(as_csv(frame, path), schema_overrides={"zip": pl.String})


def as_arrow(frame: pd.DataFrame, path: Path) -> pa.Table:
    return as_polars(frame, path).to_arrow()


FORMS: dict[str, Callable[[pd.DataFrame, Path], Any]] = {
    "pandas": as_pandas,
    "objects": as_objects,
    "times": as_times,
    "parquet": as_parquet,
    "polars": as_polars,
    "arrow": as_arrow,
}


def profiled(private: object, copy: object) -> ProfileReport:
    """Profile without noise, without the names of the tables."""
    parameters = ProfileParameters.parse(total_epsilon=20)
    report = run_profile(private, copy, parameters, Absent())
    return replace(report, private="", synthetic="", notes=())


@pytest.fixture(scope="module")
def of_files(tmp_path_factory: pytest.TempPathFactory) -> ProfileReport:
    folder = tmp_path_factory.mktemp("csv")
    return profiled(as_csv(people(1), folder / "private"), as_csv(people(2), folder / "copy"))


def test_a_csv_has_days_moments_numbers_truths_and_codes(of_files: ProfileReport) -> None:
    assert {each.name: each.kind for each in of_files.columns} == {
        **dict.fromkeys(("opened", "login"), "time"),
        **dict.fromkeys(("pay", "bonus", "age"), "number"),
        **dict.fromkeys(("active", "agreed"), "boolean"),
        **dict.fromkeys(("zip", "segment"), "text"),
    }


@pytest.mark.parametrize("form", list(FORMS))
def test_a_file_and_its_frame_have_the_same_profile(
    of_files: ProfileReport, tmp_path: Path, form: str
) -> None:
    tables = [FORMS[form](people(seed), tmp_path / f"t{seed}") for seed in (1, 2)]
    report = profiled(*tables)
    assert report.columns == of_files.columns
    assert report.marginals == of_files.marginals
    assert replace(report, cost=of_files.cost) == of_files


@pytest.mark.parametrize("form", list(FORMS))
def test_a_private_table_of_another_form_has_the_same_profile(
    of_files: ProfileReport, tmp_path: Path, form: str
) -> None:
    """Kinds come from the copy: types of the private table change nothing."""
    private = FORMS[form](people(1), tmp_path / "private")
    report = profiled(private, as_csv(people(2), tmp_path / "copy"))
    assert replace(report, cost=of_files.cost) == of_files
