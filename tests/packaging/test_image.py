"""The container image: what its Dockerfile says, and its linter where one is there."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINES = (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()


def arguments(instruction: str) -> list[str]:
    """Arguments of each line with an instruction, in their order."""
    found = (re.fullmatch(rf"{instruction} (.*)", line) for line in LINES)
    return [match[1] for match in found if match]


def test_the_image_holds_what_is_pinned_and_runs_as_nobody_in_particular() -> None:
    (base,) = {each.partition(" ")[0] for each in arguments("FROM")}
    # A tag can be moved to another image, a digest cannot.
    assert re.fullmatch(r"python:3\.12-slim@sha256:[0-9a-f]{64}", base)
    installs = [each for each in arguments("RUN") if "pip install" in each]
    assert "--require-hashes -r requirements-run.lock" in installs[0]
    assert "--no-deps --no-build-isolation ." in installs[1]
    assert arguments("USER") == ["1000:1000"]
    assert arguments("ENTRYPOINT") == ['["pqd"]']


def test_the_image_is_built_of_files_that_are_sent_to_its_builder() -> None:
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    sent = {line.removeprefix("!") for line in ignored if line.startswith("!")}
    copied = {
        name
        for each in arguments("COPY")
        if not each.startswith("--from")
        for name in each.split()[:-1]
    }
    assert copied == sent
    assert all((ROOT / name).exists() for name in copied)


def test_the_linter_is_content() -> None:
    linter = shutil.which("hadolint")
    if linter is None:
        pytest.skip("needs hadolint on the PATH")
    done = subprocess.run(  # noqa: S603 - the linter that was found
        [linter, str(ROOT / "Dockerfile")], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")
