"""The Dockerfiles pass their linter."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.integration


ROOT = Path(__file__).parents[2]


DOCKER = ROOT / "docker"


FILES = sorted(DOCKER.glob("*.Dockerfile"))


def lint(*files: Path) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("hadolint")
    return subprocess.run([program, "--no-color", *files], cwd=ROOT, capture_output=True, text=True, check=False)


def test_hadolint_finds_nothing() -> None:
    assert len(FILES) == 3
    done = lint(*FILES)
    assert done.returncode == 0, done.stdout + done.stderr


def test_hadolint_would_find_something(tmp_path: Path) -> None:
    bad = tmp_path / "bad.Dockerfile"
    bad.write_text("FROM debian:latest\nRUN cd /tmp && sudo pip install torch\n")
    done = lint(bad)
    assert done.returncode != 0
    assert "DL3007" in done.stdout
