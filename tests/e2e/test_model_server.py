"""A compatible server that answers with kernels written by hand: accepted by the real referee, end to end."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.programs import EXAMPLES, ROOT, check_export, run
from tests.selection import with_full

pytestmark = pytest.mark.e2e
SERVER = ROOT / "examples" / "model_server"
PROBLEMS = ("rmsnorm", "layernorm_silu", "pointwise_chain")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    command = [sys.executable, str(SERVER / "server.py"), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
        server.terminate()


def with_fewer_rows(problem: str, folder: Path) -> Path:
    """An example whose main input has 256 rows: the kernels are the same, and judging them takes less."""
    text, found = re.subn(r"(randn|_inputs)\(\d{4}, ", r"\1(256, ", (EXAMPLES / f"{problem}.py").read_text())
    assert found >= 1
    path = folder / f"{problem}.py"
    path.write_text(text)
    return path


@pytest.mark.parametrize("problem", with_full(PROBLEMS, PROBLEMS[:1]))
def test_kernels_from_a_compatible_server_are_accepted(
    address: str, problem: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    options = ("--model", "compatible:by-hand", "--rounds", "2", "--baselines", "eager", "--json")
    home = tmp_path / "home"
    example = with_fewer_rows(problem, tmp_path_factory.mktemp("p"))  # prompts cut long paths short
    done = run("run", example, *options, home=home, KERNELWRIGHT_COMPATIBLE_BASE_URL=address)
    assert done.returncode in (0, 1), done.stderr
    document = json.loads(done.stdout)
    assert document["status"] in ("solved", "no_gain")
    assert document["best"]["verdict"] == "accepted"
    assert document["candidates"] == 2
    exported = Path(document["best"]["source_path"]).read_text()
    by_hand = {(SERVER / "kernels" / f"{problem}_{stage}.py").read_text() for stage in ("draft", "refine")}
    check_export(exported, next((source for source in by_hand if exported.startswith(source.rstrip())), ""))


@pytest.mark.full
def test_a_problem_that_the_server_knows_no_kernel_for_fails_with_what_to_do(address: str, tmp_path: Path) -> None:
    options = ("--model", "compatible:by-hand", "--rounds", "5", "--baselines", "eager", "--json")
    home = tmp_path / "home"
    done = run("run", EXAMPLES / "swiglu.py", *options, home=home, KERNELWRIGHT_COMPATIBLE_BASE_URL=address)
    assert json.loads(done.stdout)["status"] == "failed"
    assert "gave no usable answer in 3 rounds in a row" in done.stderr
    assert "--resume" in done.stderr
