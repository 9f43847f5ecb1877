"""What `kernelwright doctor` finds on this machine and on one without a compiler."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from kernelwright import cli

pytestmark = pytest.mark.integration


@pytest.fixture(autouse=True)
def _no_other_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith("KERNELWRIGHT_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("KERNELWRIGHT_HOME", str(tmp_path / "home"))


def test_doctor_reports_every_check_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    code = cli.execute(["doctor", "--json"])
    findings = {found["name"]: found for found in json.loads(capsys.readouterr().out)}
    assert set(findings) >= {"python", "torch", "g++", "openmp", "bubblewrap", "isolation", "home", "database", "redis"}
    assert findings["python"]["state"] == "ok"
    assert findings["docker"]["used"] is False
    assert code == (2 if any(found["state"] == "missing" for found in findings.values()) else 0)


def test_doctor_says_what_to_do_about_a_missing_compiler(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert cli.execute(["doctor", "--json"]) == 2
    findings = {found["name"]: found for found in json.loads(capsys.readouterr().out)}
    assert findings["g++"]["state"] == "missing"
    assert "apt-get install g++" in findings["g++"]["remedy"]
