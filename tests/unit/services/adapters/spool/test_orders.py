"""The service's side: which answers are believed, where orders are, what is carried, who is there."""

from __future__ import annotations

import dataclasses
import os
import shutil
import tarfile
from datetime import timedelta
from pathlib import Path

import pytest

from services.adapters.spool.archive import pack, unpack
from services.adapters.spool.files import MOST_BYTES
from services.adapters.spool.layout import SpoolLayout
from services.adapters.spool.messages import SpoolKey
from services.adapters.spool.nodes import SpoolNodeRegistry, SpoolNodes, SpoolPresence
from services.adapters.spool.orders import ENDED_KEPT_S, SpoolPlace
from services.adapters.spool.probe import check_service, check_skew, examine, filesystem_of
from services.adapters.spool.reader import SETTLE_S
from services.domain.errors import ConfigurationError, StorageError, UserError
from services.domain.nodes import FAULT_TTL_S, NODE_TTL_S, NodeRole, NodeState, ServiceNode
from tests.doubles import FrozenClock, InMemoryDatabase, a_report
from tests.doubles.work import InMemoryNodeRegistry
from tests.unit.services.adapters.spool.setup import SECRET, VERSION, Spool, a_request, a_spool, name_of

KEY = SpoolKey(SECRET)


def answered(spool: Spool, step: int = 0, median_us: float = 100.0) -> str:
    """The name of an order that a node has answered."""
    request = spool.place(step)
    node = spool.node()
    claim = node.take()
    assert claim is not None
    assert node.answer(claim, a_report(median_us=median_us))
    return name_of(request)


def test_a_second_report_changes_nothing(spool: Spool) -> None:
    name = answered(spool, median_us=1.0)
    first = (spool.layout.reports / name).read_bytes()
    other = a_spool(spool.layout.root.parent / "other")
    answered(other, median_us=2.0)
    assert spool.orders.take_in(name, (other.layout.reports / name).read_bytes()) is False
    assert (spool.layout.reports / name).read_bytes() == first


def test_forged_foreign_and_expired_reports_are_put_aside_with_the_reason(spool: Spool) -> None:
    names = [answered(spool, step) for step in range(5)]
    forged = spool.layout.reports / names[0]
    forged.write_bytes(forged.read_bytes().replace(b"accepted", b"rejected", 1))
    (spool.layout.reports / names[1]).rename(spool.layout.reports / "eval-x@job-1")
    newer = spool.service(version="1.2.4")
    assert spool.orders.answer(names[0]) is None
    assert spool.orders.answer("eval-x@job-1") is None
    assert newer.answer(names[2]) is None
    assert spool.orders.answer(names[3], a_request(99)) is None
    spool.clock.advance(15 * 86400)
    assert spool.orders.answer(names[4]) is None
    refused = spool.refused()
    assert "signature is wrong" in refused[f"reports,{names[0]}"]
    assert "its name is another order's" in refused["reports,eval-x@job-1"]
    assert "version 1.2.3, and this is 1.2.4" in refused[f"reports,{names[2]}"]
    assert "another request of the same id" in refused[f"reports,{names[3]}"]
    assert "it expired at" in refused[f"reports,{names[4]}"]
    assert spool.orders.where(names[4]) == (SpoolPlace.REFUSED, refused[f"reports,{names[4]}"].strip())


def test_an_order_is_no_report(spool: Spool) -> None:
    name = name_of(spool.place())
    (spool.layout.orders / name).rename(spool.layout.reports / name)
    assert spool.orders.answer(name) is None
    assert "it is of the kind 'order', and no answer" in spool.refused()[f"reports,{name}"]


def test_a_half_written_report_is_waited_for_and_then_refused(spool: Spool) -> None:
    name = answered(spool)
    path = spool.layout.reports / name
    whole = path.read_bytes()
    os.truncate(path, len(whole) // 2)
    assert spool.orders.answer(name) is None
    assert path.exists()
    path.write_bytes(whole)
    assert spool.orders.answer(name) is not None
    os.truncate(path, len(whole) // 2)
    for _ in range(2):
        assert spool.orders.answer(name) is None
        spool.clock.advance(SETTLE_S)
    assert "truncated" in spool.refused()[f"reports,{name}"]


def test_a_file_too_large_to_be_a_report_is_not_read(spool: Spool) -> None:
    with (spool.layout.reports / "huge@job").open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    assert spool.orders.answer("huge@job") is None
    assert "are read at most" in spool.refused()["reports,huge@job"]


def test_where_an_order_is(spool: Spool) -> None:
    request = a_request()
    name, node = name_of(request), spool.node()
    seen = [spool.orders.where(name)[0]]
    spool.place()
    seen.append(spool.orders.where(name)[0])
    claim = node.take()
    assert claim is not None
    seen.append(spool.orders.where(name)[0])
    node.answer(claim, a_report())
    seen.append(spool.orders.where(name)[0])
    assert seen == [SpoolPlace.ABSENT, SpoolPlace.WAITING, SpoolPlace.CLAIMED, SpoolPlace.ANSWERED]


def test_ending_a_job_touches_no_other(spool: Spool) -> None:
    spool.place(0)
    spool.place(0, job_id="job-10")
    spool.orders.end("job-1")
    spool.orders.end("never-heard-of")
    assert spool.files() == ["ended/job-1", f"orders/{name_of(a_request(0, job_id='job-10'))}"]


def test_remains_of_killed_writers_and_old_words_are_tidied_up(spool: Spool) -> None:
    old, young = spool.layout.orders / ".eval-1.part-0a", spool.layout.orders / ".eval-1.part-0b"
    word = spool.layout.ended / "job-1"
    for path in (old, young, word):
        path.write_text("half")
    for path in (old, word):
        os.utime(path, (path.stat().st_mtime - ENDED_KEPT_S - 60,) * 2)
    spool.orders.open()
    assert [path.exists() for path in (old, young, word)] == [False, True, False]


def test_a_disk_that_is_full_says_so_and_changes_nothing(spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match="the spool's disk is full"):
        spool.place()
    assert spool.files() == []


def test_orders_travel_in_an_archive_and_their_reports_come_back(spool: Spool, tmp_path: Path) -> None:
    placed = []
    for step in (2, 0, 1):
        placed.append(spool.place(step))
        spool.clock.advance(1)
    names = sorted(name_of(request) for request in placed)
    out, back = tmp_path / "out.tar.gz", tmp_path / "back.tar"
    assert pack(spool.layout, out).orders == 3
    there = a_spool(tmp_path / "there")
    assert unpack(out, there.layout, there.orders).orders == 3
    assert unpack(out, there.layout, there.orders).known == 3
    node, done = there.node(), []
    there.clock.advance(3)
    while (claim := node.take()) is not None:
        done.append(claim.request)
        node.answer(claim, a_report())
    assert done == placed  # in the order in which they were placed
    assert pack(there.layout, back).reports == 3
    carried = unpack(back, spool.layout, spool.orders)
    assert (carried.reports, carried.known, carried.refused) == (3, 0, {})
    assert unpack(there.layout.root, spool.layout, spool.orders).known == 3  # a directory does as well
    assert spool.files() == [f"reports/{name}" for name in names]


def test_an_archive_is_believed_by_its_signatures_and_writes_nowhere_else(spool: Spool, tmp_path: Path) -> None:
    name = name_of(spool.place())
    (tmp_path / "orders").mkdir()
    (tmp_path / "orders" / name).write_bytes((spool.layout.orders / name).read_bytes().replace(b"relu", b"evil"))
    (tmp_path / "plain").write_text("x")
    archive = tmp_path / "bad.tar"
    with tarfile.open(archive, "w") as tar:
        tar.add(tmp_path / "orders" / name, f"orders/{name}")
        tar.add(tmp_path / "plain", "../outside")
        tar.add(tmp_path / "plain", "orders/../../outside")
        tar.add(tmp_path / "plain", "nodes/n")
        link = tarfile.TarInfo("orders/link@job")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    there = a_spool(tmp_path / "there")
    carried = unpack(archive, there.layout, there.orders)
    assert list(carried.refused) == [f"orders/{name}"]
    assert list(there.refused()) == [f"orders,{name}"]
    assert [path for path in there.files() if not path.startswith("refused/")] == []
    assert not (tmp_path / "outside").exists()


def test_an_archive_that_was_cut_off_says_so_and_keeps_what_came_before(spool: Spool, tmp_path: Path) -> None:
    for step in range(20):
        spool.place(step)
    archive = tmp_path / "cut.tar"
    pack(spool.layout, archive)
    os.truncate(archive, archive.stat().st_size // 2)
    there = a_spool(tmp_path / "there")
    with pytest.raises(UserError, match="cannot be read to its end"):
        unpack(archive, there.layout, there.orders)
    assert 0 < len(there.files()) < 20


def a_node(name: str = "node-1", **changes: object) -> ServiceNode:
    now = FrozenClock().now()
    node = ServiceNode(
        name=name,
        role=NodeRole.WORKER,
        version=VERSION,
        state=NodeState.READY,
        device="h200",
        backends=("triton",),
        started_at=now,
        seen_at=now,
    )
    return dataclasses.replace(node, **changes)  # type: ignore[arg-type]


async def test_nodes_of_a_spool_are_listed_until_they_are_silent(spool: Spool) -> None:
    clock = spool.clock
    nodes = SpoolNodes(spool.layout, KEY, clock, VERSION)
    registry = SpoolNodeRegistry(InMemoryNodeRegistry(InMemoryDatabase()), nodes)
    await registry.register(a_node("row", role=NodeRole.ORCHESTRATOR))
    wrong_clock = FrozenClock(clock.now() + timedelta(hours=3))  # whatever its clock says
    SpoolPresence(spool.layout, KEY, wrong_clock, a_node("node-1")).refuse("it leaves some orders")
    presence = SpoolPresence(spool.layout, KEY, wrong_clock, a_node("node-2"))
    presence.start()
    for _ in range(500):
        if len(found := await registry.living()) == 3:
            break
        os.sched_yield()
    assert [(node.name, node.fault) for node in found] == [
        ("node-1", "it leaves some orders"),
        ("node-2", None),
        ("row", None),
    ]
    assert found[1].seen_at == clock.now()
    assert [node.name for node in await registry.living(NodeRole.ORCHESTRATOR)] == ["row"]
    clock.advance(NODE_TTL_S + 1)
    assert [node.name for node in nodes.living()] == ["node-1"]
    clock.advance(FAULT_TTL_S)
    assert nodes.living() == ()
    presence.stop()
    assert [path.name for path in spool.layout.nodes.iterdir()] == ["node-1"]


def test_a_node_of_another_version_is_listed_with_the_reason_and_a_forged_one_is_not(spool: Spool) -> None:
    SpoolPresence(spool.layout, KEY, spool.clock, a_node("old", version="0.9")).refuse("?")
    SpoolPresence(spool.layout, SpoolKey("9" * 64), spool.clock, a_node("forged")).refuse("?")
    nodes = SpoolNodes(spool.layout, KEY, spool.clock, VERSION).living()
    assert [node.name for node in nodes] == ["old"]
    assert "its orders and reports are refused: it was made by version 0.9, and this is 1.2.3" in (nodes[0].fault or "")
    assert "signature is wrong" in spool.refused()["nodes,forged"]


async def test_what_is_wrong_with_a_spool_is_listed_beside_its_nodes(spool: Spool) -> None:
    def registry(**limits: int) -> SpoolNodeRegistry:
        nodes = SpoolNodes(spool.layout, KEY, spool.clock, VERSION, **limits)
        return SpoolNodeRegistry(InMemoryNodeRegistry(InMemoryDatabase()), nodes)

    assert await registry().living() == ()
    (full,) = await registry(least_free_bytes=1 << 62).living()
    assert full.name == f"spool {spool.layout.root}"
    assert "MiB free on its disk: orders and answers wait when it is full, and none is lost" in (full.fault or "")
    assert full.device is None, "it is no worker that jobs could go to"
    SpoolPresence(spool.layout, SpoolKey("9" * 64), spool.clock, a_node("forged")).refuse("?")
    (listed,) = await registry().living()
    assert "1 refused, such as nodes,forged: its signature is wrong" in (listed.fault or "")
    shutil.rmtree(spool.layout.root)
    (away,) = await registry().living()
    assert "the spool" in (away.fault or "")


def test_a_spool_is_tried_out_and_left_as_it_was(spool: Spool) -> None:
    condition = examine(spool.layout)
    assert condition.links
    assert abs(condition.skew_s) < 60
    assert condition.free_bytes > 0
    assert spool.files() == []
    assert filesystem_of(Path("/proc/self")) == "proc"
    check_skew(condition)
    with pytest.raises(ConfigurationError, match="4000 s behind the spool's file system"):
        check_skew(dataclasses.replace(condition, skew_s=-4000.0))
    with pytest.raises(StorageError, match="cannot be written"):
        examine(SpoolLayout(spool.layout.root / "nowhere"))


def test_a_node_is_told_before_it_begins_that_key_or_version_are_others(spool: Spool) -> None:
    check_service(spool.layout, KEY, VERSION)
    with pytest.raises(ConfigurationError, match="give this node the service's key"):
        check_service(spool.layout, SpoolKey("9" * 64), VERSION)
    with pytest.raises(ConfigurationError, match=r"this node is version 2\.0, and the service of the spool"):
        check_service(spool.layout, KEY, "2.0")
    spool.layout.service.unlink()
    check_service(spool.layout, KEY, "2.0")
