"""`python -m tests.rerun` on small suites, in processes as `make test` has them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[2]
PLAIN = {"PYTHONPATH": str(ROOT), "PYTEST_ADDOPTS": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
"""No plugins, which take a second each, and no options of whoever runs these tests."""
PASSES = "def test_passes(): pass\n"
FLAKY = """
from pathlib import Path

def test_flaky():
    mark = Path(__file__).with_suffix(".ran")
    again = mark.exists()
    mark.touch()
    assert again, "the first time"
"""
FAILS = "def test_fails(): assert False, 'always'\n"
FLAKY_THEN_SKIPPED = FLAKY.replace('assert again, "the first time"', "assert again; import pytest; pytest.skip('gone')")
SKIPPED = "import pytest\n\n@pytest.mark.skip(reason='no such machine')\ndef test_skipped(): pass\n"


def rerun(folder: Path, *arguments: str, **files: str) -> subprocess.CompletedProcess[str]:
    (folder / "pytest.ini").write_text("[pytest]\n")
    for name, text in files.items():
        (folder / f"test_{name}.py").write_text(text)
    return subprocess.run(
        [sys.executable, "-m", "tests.rerun", "-p", "xdist", *arguments],
        cwd=folder,
        env={**os.environ, **PLAIN},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("processes", ["0", "2"])
def test_a_test_that_fails_once_is_listed_and_fails_nothing(tmp_path: Path, processes: str) -> None:
    ran = rerun(tmp_path, "-n", processes, first=PASSES, second=FLAKY, third=SKIPPED)
    assert ran.returncode == 0, ran.stdout
    assert "==== once more, alone: test_second.py::test_flaky" in ran.stdout
    assert "the first time" in ran.stdout.rpartition("==== flaky")[2]
    assert ran.stdout.splitlines()[-2:] == [
        "skipped:    1  no such machine",
        "passed: 0 failed, 1 flaky, 0 by chance (at most 5 of both), 1 skipped",
    ]


@pytest.mark.parametrize(("source", "name"), [(FAILS, "test_fails"), (FLAKY_THEN_SKIPPED, "test_flaky")])
def test_a_test_that_does_not_pass_alone_fails_the_run(tmp_path: Path, source: str, name: str) -> None:
    ran = rerun(tmp_path, first=PASSES, second=source)
    assert ran.returncode == 1
    assert ran.stdout.splitlines()[-2:] == [
        f"failed, and did not pass alone: test_second.py::{name}",
        "FAILED: 1 failed, 0 flaky, 0 by chance (at most 5 of both), 0 skipped",
    ]


@pytest.mark.parametrize("arguments", [("--no-such-option",), ("no_such_file.py",)])
def test_what_is_no_failure_of_a_test_keeps_pytests_exit_code(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    ran = rerun(tmp_path, *arguments, first=PASSES)
    assert ran.returncode == pytest.ExitCode.USAGE_ERROR
    assert "once more" not in ran.stdout


def test_a_file_that_cannot_be_imported_fails_the_run(tmp_path: Path) -> None:
    ran = rerun(tmp_path, first=PASSES, second="import no_such_module\n")
    assert ran.returncode == pytest.ExitCode.INTERRUPTED
