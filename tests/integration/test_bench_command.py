"""`kernelwright bench` where a sandbox is made ready before anything is refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kernelwright import cli
from tests.doubles.builders import PROBLEM_SOURCE

pytestmark = pytest.mark.integration


@pytest.fixture
def problem(tmp_path: Path) -> Path:
    path = tmp_path / "relu.py"
    path.write_text(PROBLEM_SOURCE)
    return path


@pytest.fixture(autouse=True)
def _no_other_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith("KERNELWRIGHT_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("KERNELWRIGHT_HOME", str(tmp_path / "home"))


def test_a_wrong_name_can_be_corrected_in_the_same_folder(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, problem: Path
) -> None:
    for backend in ("ada", "fortran"):
        assert cli.execute(["bench", str(problem), "--backend", backend, "--out", str(tmp_path / "out")]) == 2
        assert f"unknown backend '{backend}'; known: cpp" in capsys.readouterr().err
