"""`kernelwright bench`: what has no template, what is gone on with, and what folders come to together."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from tests.e2e.programs import SMALL, WELL, run, running
from tests.ports import a_free_port

pytestmark = pytest.mark.e2e

CONVOLUTION = """import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution = torch.nn.Conv2d(3, 8, 3)

    def forward(self, x):
        return self.convolution(x)


def get_inputs():
    return [torch.randn(4, 3, 64, 64)]


def get_init_inputs():
    return []
"""


@pytest.mark.full
def test_what_has_no_template_is_unsolved_and_no_error_and_the_rest_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "problems"
    folder.mkdir()
    (folder / "a_convolution.py").write_text(CONVOLUTION)
    (folder / "scaled_silu.py").write_text(SMALL)

    done = run("bench", folder, "--rounds", "2", "--json", home=tmp_path / "home")

    assert done.returncode == 1, "not every problem has a kernel"
    document = json.loads(done.stdout)
    convolution, silu = document["problems"]
    assert (convolution["status"], convolution["accepted"], convolution["kernel_path"]) == ("unsolved", False, None)
    assert convolution["message"].startswith("no template for aten.conv")
    assert convolution["message"].endswith(": configure a chat model")
    assert silu["status"] in WELL
    assert (silu["accepted"], silu["rounds"]) == (True, 2)
    assert Path(silu["kernel_path"]).is_file()
    assert document["accepted"] == 1
    assert document["totals"]["against"]["eager"]["geometric_mean"] == pytest.approx(silu["speedup"]["eager"])
    assert (convolution["category"], convolution["author"], silu["author"]) == ("convolution", None, "playbook")
    assert silu["device_s"]["validation"] > 0
    assert "[1/2] a_convolution" in done.stderr
    assert "[2/2] scaled_silu" in done.stderr


def a_checkout(folder: Path) -> Path:
    """Three tiny problems in KernelBench's form, and where it keeps them."""
    level = folder / "KernelBench" / "level1"
    level.mkdir(parents=True)
    (level / "1_Scaled_SiLU.py").write_text(SMALL)
    (level / "2_ReLU.py").write_text(SMALL.replace("functional.silu", "functional.relu"))
    (level / "10_Tanh.py").write_text(SMALL.replace("nn.functional.silu", "tanh"))
    return folder


def test_a_bench_that_was_killed_after_its_first_problem_goes_on_with_the_others(tmp_path: Path) -> None:
    checkout, out, home = a_checkout(tmp_path / "checkout"), tmp_path / "out", tmp_path / "home"
    command = (
        "bench",
        "--suite",
        "kernelbench",
        "--level",
        "1",
        "--path",
        checkout,
        "--rounds",
        "1",
        "--baselines",
        "eager",
        "--out",
        out,
    )

    with running(*command, home=home) as first:
        second_job = first.wait_for(r"\[2/3\] 2_ReLU  (job-\w+)", 150)[1]
        first.stop(signal.SIGKILL)
    kept = (out / "rows" / "1_Scaled_SiLU.json").read_bytes()
    assert [path.name for path in (out / "rows").iterdir()] == ["1_Scaled_SiLU.json"]

    done = run(*command, "--json", home=home)
    document = json.loads(done.stdout)
    assert "1_Scaled_SiLU" not in done.stderr, "it has its row"
    assert f"[2/3] 2_ReLU  {second_job}" in done.stderr, "its job goes on"
    assert (out / "rows" / "1_Scaled_SiLU.json").read_bytes() == kept
    assert [row["number"] for row in document["problems"]] == [1, 2, 10]
    assert [row["accepted"] for row in document["problems"]] == [True, True, True]
    assert done.returncode == 0
    assert document["categories"]["activation"]["accepted"] == 3
    assert {"results.json", "results.md", "results.csv"} <= {path.name for path in out.iterdir()}

    other = run(*command, "--strategy", "tree", home=home)
    assert other.returncode == 2
    assert "was made with --strategy greedy, not tree" in other.stderr


@pytest.mark.full
def test_a_bench_stops_when_its_device_time_is_spent_and_its_parts_are_merged(tmp_path: Path) -> None:
    checkout, home = a_checkout(tmp_path / "checkout"), tmp_path / "home"
    command = ("bench", "--suite", "kernelbench", "--level", "1", "--path", checkout, "--rounds", "1")

    one = run(*command, "--problems", "1-2", "--device-seconds", "1", "--out", tmp_path / "one", home=home)
    assert one.returncode == 1
    assert "1 of 2 problems remain: " in one.stderr
    assert f"the same command with --out {tmp_path / 'one'} goes on" in one.stderr
    run(*command, "--problems", "10", "--out", tmp_path / "other", home=home)

    merged = run(
        "bench", "--merge", tmp_path / "one", tmp_path / "other", "--out", tmp_path / "both", "--markdown", home=home
    )
    assert merged.returncode == 0, merged.stderr
    assert "accepted 2 of 2" in merged.stdout
    assert (tmp_path / "both" / "kernels" / "10_Tanh" / "kernel.py").is_file()


@pytest.mark.full
def test_a_server_runs_a_benchs_jobs_and_they_go_on_without_the_client(tmp_path: Path) -> None:
    problem, out, home, port = tmp_path / "scaled_silu.py", tmp_path / "out", tmp_path / "home", a_free_port()
    problem.write_text(SMALL)
    address = f"http://127.0.0.1:{port}"
    command = ("bench", problem, "--rounds", "1", "--server", address, "--out", out)

    with running("serve", "--port", str(port), home=home) as server:
        server.wait_for(rf"http://127\.0\.0\.1:{port} ")
        with running(*command, home=tmp_path / "client") as first:
            job = first.wait_for(r"\[1/1\] scaled_silu  (job-\w+)")[1]
            first.stop(signal.SIGKILL)
        done = run(*command, "--json", home=tmp_path / "client", KERNELWRIGHT_DEBUG="1")
    assert done.stdout, done.stderr

    (row,) = json.loads(done.stdout)["problems"]
    assert (row["job_id"], row["accepted"], row["category"]) == (job, True, "activation")
    assert row["status"] in WELL
    assert row["bounds"]["strongest"][0] < row["speedup"]["best_baseline"] < row["bounds"]["strongest"][1]
    assert row["device_s"]["validation"] > 0
    assert row["hardware"]
    assert "class ModelNew" in Path(row["kernel_path"]).read_text()
    assert (out / "kernels" / "scaled_silu" / "bundle.zip").is_file()
