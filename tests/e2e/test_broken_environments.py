"""What is wrong with the machine is one clear line, and `doctor` explains it."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.programs import CANDIDATES, SMALL, run

pytestmark = pytest.mark.e2e


@pytest.fixture
def problem(tmp_path: Path) -> Path:
    path = tmp_path / "scaled_silu.py"
    path.write_text(SMALL)
    return path


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    if os.geteuid() != 0 or not mount(folder, "size=50m"):
        pytest.skip("mounting a file system needs root and the right to mount")
    yield folder
    subprocess.run(["umount", folder], check=True)


def leave_free(disk: Path, kib: int) -> None:
    """Make a database there, then shrink the disk to little more than it takes."""
    assert run("db", "upgrade", home=disk).returncode == 0
    size = shutil.disk_usage(disk).used // 1024 + kib
    subprocess.run(["mount", "-o", f"remount,size={size}k", disk], check=True)


def mount(folder: Path, options: str) -> bool:
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def the_line(done: subprocess.CompletedProcess[str]) -> str:
    """The one line about what is wrong."""
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    lines = [line for line in done.stderr.splitlines() if line.startswith("kernelwright: ")]
    assert len(lines) == 1, done.stderr
    assert lines[0] == done.stderr.splitlines()[-1]
    return lines[0]


def finding(name: str, home: Path, **more: str) -> dict[str, str]:
    found = json.loads(run("doctor", "--json", home=home, **more).stdout)
    return next(entry for entry in found if entry["name"] == name)


def test_a_missing_compiler_is_named(tmp_path: Path, problem: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("env", "sh", "bwrap"):
        if found := shutil.which(name):
            (tools / name).symlink_to(found)
    candidate = CANDIDATES / "honest" / "silu_openmp.txt"
    for command in (("run", problem), ("evaluate", problem, candidate)):
        line = the_line(run(*command, home=tmp_path / "home", PATH=str(tools)))
        assert "g++ is not installed" in line
        assert "apt install g++" in line
        assert "kernelwright doctor" in line
    assert finding("g++", tmp_path / "home", PATH=str(tools))["state"] == "missing"


@pytest.mark.full
def test_a_disk_that_fills_up_in_the_middle_is_named_and_the_job_can_be_continued(
    small_disk: Path, problem: Path, tmp_path: Path
) -> None:
    leave_free(small_disk, 200)
    done = run("run", problem, "--rounds", "2", "--baselines", "eager", home=small_disk)
    line = the_line(done)
    assert str(small_disk) in line
    assert "full" in line
    assert "free some space" in line
    assert finding("home", small_disk)["state"] == "warning"
    job_id = done.stderr.split()[1]
    subprocess.run(["mount", "-o", "remount,size=50m", small_disk], check=True)
    resumed = run("run", "--resume", job_id, "--json", home=small_disk)
    assert resumed.returncode in (0, 1), resumed.stderr
    assert json.loads(resumed.stdout)["rounds"] == 2


def test_a_home_that_cannot_be_written_is_named(small_disk: Path, problem: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    line = the_line(run("run", problem, home=small_disk))
    assert str(small_disk) in line
    assert "write" in line
    found = finding("home", small_disk)
    assert found["state"] == "missing"
    assert "KERNELWRIGHT_HOME" in found["remedy"]


def test_a_database_from_the_future_is_left_alone(tmp_path: Path, problem: Path) -> None:
    home = tmp_path / "home"
    assert run("db", "upgrade", home=home).returncode == 0
    with sqlite3.connect(home / "kernelwright.db") as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    line = the_line(run("run", problem, home=home))
    assert "newer than this program" in line
    assert "install the version that wrote it" in line
    found = finding("database", home)
    assert (found["state"], "upgrade" in found["remedy"]) == ("missing", False)
