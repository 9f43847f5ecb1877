"""Real workers at a spool: on a bare node, killed half-way, two at once, with a full disk."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kernelwright import cli
from kernelwright.distribution import version
from kernelwright.settings import Settings
from kernelwright.wiring.spool import open_spool_worker, spooled_orders
from services.adapters.spool.layout import SpoolLayout, claim_named
from services.adapters.spool.messages import SpoolKey
from services.adapters.spool.nodes import SpoolNodes
from services.adapters.spool.orders import SpoolPlace
from services.adapters.spool.worker import SpoolPace, SpoolWorker
from services.domain.errors import ConfigurationError, DeviceLostError
from services.domain.nodes import NodeState
from services.runtime.clock import SystemClock
from tests.contracts.workbench import LOST, RecordingWorkbench
from tests.doubles import a_report
from tests.e2e.programs import give_a_sheet
from tests.unit.services.adapters.spool.setup import a_spool, name_of
from tests.waiting import until

pytestmark = pytest.mark.integration
ROOT = Path(__file__).parents[2]
INTEGRITY = ROOT / "tests" / "integrity"
PROBLEM = INTEGRITY / "problems" / "silu_scale.txt"
HONEST = [INTEGRITY / "honest" / f"silu_{name}.txt" for name in ("openmp", "simd", "serial")]
CHEAT = INTEGRITY / "cheats" / "first_half_only.txt"

BARE = """
import sys

MISSING = {"celery", "kombu", "redis", "sqlalchemy", "alembic", "psycopg", "langgraph", "langchain_core", "fastapi",
           "uvicorn", "starlette", "docker", "openai", "anthropic", "authlib", "cryptography", "httpx", "httpx2",
           "prometheus_client", "opentelemetry", "pgvector"}

class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in MISSING:
            raise ModuleNotFoundError(f"{name} is not installed on a bare node", name=name)

sys.meta_path.insert(0, Nothing())
from kernelwright.cli import execute
from tests.waiting import until

sys.exit(execute(sys.argv[1:]))
"""
"""The command line where nothing is installed but what judging needs."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all tests: the device is measured once."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(autouse=True)
def _at_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELWRIGHT_HOME", str(home))
    monkeypatch.setenv("KERNELWRIGHT_SPOOL_KEY", "5" * 64)


def add(spool: Path, *candidates: Path) -> None:
    named = [part for path in candidates for part in ("--candidate", str(path))]
    assert cli.execute(["spool", "add", str(spool), "--problem", str(PROBLEM), *named, "--baselines", "eager"]) == 0


def collect(spool: Path, capsys: pytest.CaptureFixture[str], *codes: int) -> list[dict[str, Any]]:
    """The rows; the command ends with one of some codes, by default as where every candidate is accepted."""
    capsys.readouterr()
    assert cli.execute(["spool", "collect", str(spool), "--json"]) in (codes or (0,))
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return found


def worker(spool: Path, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", BARE, "worker", "--spool", str(spool), *options]
    return subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )


def ended(process: subprocess.Popen[str]) -> str:
    output = process.communicate(timeout=400)[0]
    assert process.returncode == 0, output
    return output


def test_a_bare_node_judges_what_lies_there_and_exits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spool = tmp_path / "spool"
    add(spool, HONEST[0], CHEAT)
    output = ended(worker(spool, "--once"))
    assert "answered 3 orders" in output
    rows = {row["label"]: row for row in collect(spool, capsys)}
    problem, honest, cheat = (rows[f"silu_scale{rest}"] for rest in ("", f"/{HONEST[0].name}", f"/{CHEAT.name}"))
    assert (problem["verdict"], honest["verdict"], cheat["verdict"]) == ("usable", "accepted", "rejected")
    low, high = honest["report"]["latency"]["ci95_us"]
    assert 0 < low <= honest["report"]["latency"]["median_us"] <= high
    assert cheat["detail"]
    before = SpoolLayout(spool).reports.stat().st_mtime_ns
    add(spool, HONEST[0], CHEAT)  # known: nothing is done again
    assert SpoolLayout(spool).reports.stat().st_mtime_ns == before
    assert [*SpoolLayout(spool).orders.iterdir()] == []


def test_a_node_that_is_killed_half_way_loses_and_doubles_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spool = tmp_path / "spool"
    layout = SpoolLayout(spool)
    add(spool, *HONEST)
    first = worker(spool, "--once")
    until(lambda: [path for path in layout.claims.iterdir() if path.name.startswith("eval-")])
    first.send_signal(signal.SIGKILL)
    first.communicate()
    assert [*layout.claims.iterdir()]
    rows = collect(spool, capsys, 1)
    assert {row["state"] for row in rows} == {"judged", "claimed", "waiting"}
    output = ended(worker(spool, "--once"))
    assert "answered 3 orders" in output  # the validation was answered before
    rows = collect(spool, capsys, 0, 1)  # the machine may be too busy for figures
    assert sorted(row["label"] for row in rows) == sorted(
        ["silu_scale", *(f"silu_scale/{path.name}" for path in HONEST)]
    )
    assert [*layout.claims.iterdir()] == [*layout.beats.iterdir()] == [*layout.orders.iterdir()] == []


def test_a_second_sigterm_puts_the_order_back(tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    layout = SpoolLayout(spool)
    add(spool, HONEST[0])
    process = worker(spool)
    until(lambda: [*layout.claims.iterdir()])
    process.send_signal(signal.SIGTERM)
    time.sleep(0.2)
    process.send_signal(signal.SIGTERM)
    output = ended(process)
    assert "answered 0 orders" in output
    assert len([*layout.orders.iterdir()]) == 2
    assert [*layout.claims.iterdir()] == []


def test_a_node_that_is_refused_says_why_and_takes_nothing(tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    layout = SpoolLayout(spool)
    add(spool, HONEST[0])
    key = tmp_path / "other.key"
    key.write_text("9" * 64)
    process = worker(spool, "--once", "--key", str(key))
    output = process.communicate(timeout=100)[0]
    assert process.returncode == 2
    assert "give this node the service's key (--key)" in output
    assert len([*layout.orders.iterdir()]) == 2
    assert len([*layout.nodes.iterdir()]) == 1  # what the service would see of it, if it had the key


def test_two_nodes_share_the_work_and_none_is_done_twice(tmp_path: Path) -> None:
    spool = a_spool(tmp_path / "spool")
    requests = [spool.place(step) for step in range(60)]
    benches = [RecordingWorkbench(0.002) for _ in range(4)]
    workers = [
        SpoolWorker(spool.node(f"node-{n}"), bench, spool.clock, SpoolPace(once=True, poll_s=0.01, beat_s=0.001), None)
        for n, bench in enumerate(benches)
    ]
    threads = [threading.Thread(target=one.run) for one in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(call for bench in benches for call in bench.calls) == sorted(one.evaluation_id for one in requests)
    assert sum(one.done for one in workers) == len(requests)
    assert spool.files() == sorted(f"reports/{name_of(request)}" for request in requests)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(disk)], capture_output=True, text=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip(f"no small file system could be mounted ({mounted.stderr.strip()}): run as root")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def filled(disk: Path) -> Path:
    """A file that leaves no room beside it."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"x" * 4096)
    assert shutil.disk_usage(disk).free == 0
    return filler


def test_an_answer_waits_for_room_on_a_full_disk(small_disk: Path) -> None:
    spool = a_spool(small_disk / "spool")
    hanging = spool.place(0, source="hang")
    bench = RecordingWorkbench()
    pace = SpoolPace(once=True, poll_s=0.01, beat_s=0.01)
    worker_ = SpoolWorker(spool.node(), bench, spool.clock, pace, None)
    thread = threading.Thread(target=worker_.run)
    thread.start()
    until(lambda: bench.calls)
    filler = filled(small_disk)
    claim = next(spool.layout.claims.iterdir())
    beat = spool.layout.beats / claim.name
    before = beat.read_bytes()
    until(lambda: beat.read_bytes() != before)  # a full disk takes no lease away
    bench.closed = True  # the evaluation ends
    time.sleep(0.5)
    assert claim.exists()
    assert spool.orders.where(name_of(hanging))[0] is SpoolPlace.CLAIMED
    filler.unlink()
    thread.join(30)
    answer = spool.orders.answer(name_of(hanging), hanging)
    assert answer is not None
    assert spool.files() == [f"reports/{name_of(hanging)}"]


def test_an_answer_that_finds_no_room_for_long_is_not_lost_but_its_order_is_put_back(small_disk: Path) -> None:
    spool = a_spool(small_disk / "spool")
    request = spool.place(0)
    bench = RecordingWorkbench(0.3)
    pace = SpoolPace(once=True, poll_s=0.01, beat_s=0.01, answer_retry_s=0.1)
    worker_ = SpoolWorker(spool.node(), bench, spool.clock, pace, None)
    thread = threading.Thread(target=worker_.run)
    thread.start()
    until(lambda: bench.calls)
    filler = filled(small_disk)
    until(lambda: len(bench.calls) >= 2)  # it was put back and, as the only one, taken again
    filler.unlink()
    thread.join(30)
    answer = spool.orders.answer(name_of(request), request)
    assert answer is not None
    assert answer.report == a_report()


def test_a_node_whose_device_is_gone_puts_its_order_back_and_takes_no_other(tmp_path: Path) -> None:
    spool = a_spool(tmp_path / "spool")
    requests = [spool.place(step, source=LOST) for step in range(2)]
    bench = RecordingWorkbench()
    worker_ = SpoolWorker(spool.node(), bench, spool.clock, SpoolPace(poll_s=0.01, beat_s=0.01), None)
    with pytest.raises(DeviceLostError, match="GPU 0 is gone"):
        worker_.run()
    assert len(bench.calls) == 1
    assert spool.files() == sorted(f"orders/{name_of(request)}" for request in requests)


def test_a_node_whose_device_went_is_listed_with_the_reason(tmp_path: Path) -> None:
    home, root = tmp_path / "home", tmp_path / "spool"
    home.mkdir()
    give_a_sheet(home)
    key, settings = SpoolKey(SpoolKey.new()), Settings(home=home)
    SpoolLayout(root).make()
    spooled_orders(settings, root, key).open()
    reason = "GPU 0 is gone: reset the card or restart the machine"
    with pytest.raises(DeviceLostError), open_spool_worker(settings, root, "cpu", key, SpoolPace()):
        raise DeviceLostError(reason)
    (listed,) = SpoolNodes(SpoolLayout(root), key, SystemClock(), version()).living()
    assert (listed.state, listed.fault) == (NodeState.REFUSED, reason)


def test_a_node_without_a_compiler_is_refused_and_listed_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, key, settings = tmp_path / "spool", SpoolKey(SpoolKey.new()), Settings(home=tmp_path / "home")
    spooled_orders(settings, root, key).open()
    monkeypatch.setenv("PATH", str(tmp_path))
    with (
        pytest.raises(ConfigurationError, match="no C\\+\\+ compiler"),
        open_spool_worker(settings, root, "cpu", key, SpoolPace()),
    ):
        raise AssertionError("it began")
    (listed,) = SpoolNodes(SpoolLayout(root), key, SystemClock(), version()).living()
    assert listed.state is NodeState.REFUSED
    assert listed.fault is not None
    assert "g++ is not installed" in listed.fault


def test_the_name_of_a_claim_tells_whose_it_is(tmp_path: Path) -> None:
    spool = a_spool(tmp_path / "spool")
    spool.place()
    assert spool.node(f"host-{os.getpid()}").take() is not None
    named = claim_named(next(spool.layout.claims.iterdir()).name)
    assert named is not None
    assert (named.attempt, named.owner) == (1, f"host-{os.getpid()}")
