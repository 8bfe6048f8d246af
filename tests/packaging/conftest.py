"""The wheel that users get, built once, and the folder in which it is installed alone."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
Python = Callable[..., None]


@pytest.fixture(scope="session")
def python() -> Python:
    """Run a module of Python with arguments; it must succeed."""

    def run(*arguments: str, cwd: Path) -> None:
        done = subprocess.run(  # noqa: S603 - the arguments are the tests' own
            [sys.executable, "-m", *arguments],
            cwd=cwd,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr

    return run


@pytest.fixture(scope="session")
def wheel(python: Python, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    python("hatchling", "build", "-t", "wheel", "-d", str(folder), cwd=ROOT)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def site(python: Python, wheel: Path) -> Path:
    folder = wheel.parent / "site"
    options = ["--no-deps", "--no-index", "--quiet", "--disable-pip-version-check"]
    python("pip", "install", *options, "--target", str(folder), str(wheel), cwd=wheel.parent)
    return folder
