"""How any `Sandbox` must run programs."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from services.domain.errors import ToolchainError
from services.ports.sandboxes import Sandbox, SandboxLimits
from tests.contracts.sandboxes import LIMITS, PROGRAM_SANDBOXES, TESTS

pytestmark = pytest.mark.contracts


@pytest.fixture(scope="module", params=sorted(PROGRAM_SANDBOXES))
def programs(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    made = PROGRAM_SANDBOXES[request.param]()
    yield made
    made.close()


@pytest.fixture
def directory() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="kernelwright-contract-") as name:
        yield Path(name)


def test_a_program_runs_in_its_directory(programs: Sandbox, directory: Path) -> None:
    (directory / "given").write_text("shown")
    status = programs.run(["sh", "-c", "cat given; pwd; echo made > new; exit 3"], LIMITS, directory=directory)
    assert status.output == f"shown{directory}\n"
    assert status.code == 3
    assert (directory / "new").read_text() == "made\n"


def test_a_program_sees_and_writes_nothing_else(programs: Sandbox, directory: Path) -> None:
    if programs.isolation == "limits":
        pytest.skip("this level shows the machine's files as they are")
    beside = directory / "beside"
    inner = directory / "inner"
    inner.mkdir()
    beside.write_text("hidden")
    script = f"cat {beside} {TESTS.path}/__init__.py; ls -A {Path.home()}; touch /usr/x /x; id -u; cat /proc/net/route"
    status = programs.run(["sh", "-c", script], LIMITS, directory=inner)
    assert "hidden" not in status.output
    assert status.output.count("No such file or directory") == 3
    assert status.output.count("Read-only file system") == 2
    assert f"\n{os.getuid()}\n" not in status.output


def test_a_program_that_does_not_end_is_killed(programs: Sandbox, directory: Path) -> None:
    status = programs.run(["sh", "-c", "sleep 600 & sleep 600"], SandboxLimits(wall_s=1.0), directory=directory)
    assert status.timed_out


def test_a_program_that_prints_without_end_is_cut(programs: Sandbox, directory: Path) -> None:
    limits = SandboxLimits(wall_s=1.0, output_bytes=5000)
    status = programs.run(["yes"], limits, directory=directory)
    assert status.output == "y\n" * 2500
    assert status.output_cut


def test_a_missing_program_is_named_in_one_line(programs: Sandbox, directory: Path) -> None:
    with pytest.raises(ToolchainError, match="no-such-compiler") as raised:
        programs.run(["no-such-compiler"], LIMITS, directory=directory)
    assert "\n" not in str(raised.value)


def test_a_program_that_forks_without_end_is_contained(programs: Sandbox, directory: Path) -> None:
    limits = SandboxLimits(wall_s=20.0, processes=30)
    script = (
        "import os, time\nn = 0\nfor _ in range(200):\n  try:\n    n += os.fork() == 0 or 1\n  except OSError: pass\n"
    )
    (directory / "bomb.py").write_text(
        script.replace("os.fork() == 0 or 1", "(os.fork() or time.sleep(600)) and 1") + "print(n)"
    )
    status = programs.run(["/usr/bin/python3", "bomb.py"], limits, directory=directory)
    assert 0 < int(status.output.split()[-1]) < 31
