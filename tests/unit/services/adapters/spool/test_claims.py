"""A node's side: claims, leases, answers, and what is refused."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import pytest

from services.adapters.spool import claims
from services.adapters.spool.claims import LEASE_S, SpoolClaim, SpoolClaims
from services.adapters.spool.files import overwrite, write_whole
from services.adapters.spool.messages import MOST_SKEW_S
from services.adapters.spool.orders import SpoolPlace
from services.adapters.spool.reader import SETTLE_S
from services.domain.nodes import Offer
from services.domain.validations import ValidationRequest
from services.domain.work import ATTEMPTS
from tests.doubles import a_problem, a_report
from tests.unit.services.adapters.spool.setup import Spool, a_request, name_of


def taken(node: SpoolClaims) -> SpoolClaim:
    claim = node.take()
    assert claim is not None
    return claim


def test_an_order_is_taken_once_and_its_report_comes_back(spool: Spool) -> None:
    request = spool.place()
    one, two = spool.node("one"), spool.node("two")
    claim = taken(one)
    assert claim.request == request
    assert two.take() is None
    spool.clock.advance(7)
    assert one.answer(claim, a_report())
    answer = spool.orders.answer(name_of(request), request)
    assert answer is not None
    assert (answer.report, answer.message.seconds, answer.message.sender) == (a_report(), 7.0, "one")
    assert spool.files() == [f"reports/{name_of(request)}"]


def test_a_fault_comes_back_with_its_reason(spool: Spool) -> None:
    request = spool.place()
    node = spool.node()
    assert node.fail(taken(node), "no g++")
    answer = spool.orders.answer(name_of(request), request)
    assert answer is not None
    assert (answer.report, answer.fault) == (None, "no g++")


def test_validations_come_first_then_the_oldest(spool: Spool) -> None:
    for age, step in enumerate((3, 1, 2)):
        os.utime(spool.layout.orders / name_of(spool.place(step)), (100 + age, 100 + age))
    validation = ValidationRequest(job_id="job-9", team_id="local", problem=a_problem(), device="cpu", backend="cpp")
    spool.orders.place(validation, "val-job-9")
    node = spool.node()
    taken_now = [taken(node).order.about for _ in range(4)]
    assert taken_now == ["val-job-9", *(a_request(step).evaluation_id for step in (3, 1, 2))]


def test_a_silent_nodes_order_is_taken_by_another_and_its_late_answer_counts_for_nothing(spool: Spool) -> None:
    request = spool.place()
    dead, other = spool.node("dead"), spool.node("other")
    old = taken(dead)
    assert other.take() is None
    assert other.undecided == 1
    spool.clock.advance(LEASE_S)
    new = taken(other)
    assert (new.named.attempt, new.request) == (2, request)
    assert not dead.beat(old)
    assert not dead.answer(old, a_report(median_us=1.0))
    assert other.answer(new, a_report(median_us=2.0))
    answer = spool.orders.answer(name_of(request), request)
    assert answer is not None
    assert answer.report == a_report(median_us=2.0)


def test_a_beating_node_keeps_its_order_however_long_it_takes(spool: Spool) -> None:
    spool.place()
    busy, other = spool.node("busy"), spool.node("other")
    claim = taken(busy)
    for _ in range(20):
        assert busy.beat(claim)
        assert other.take() is None
        spool.clock.advance(LEASE_S / 2)
    assert other.undecided == 0  # it was seen to live: `--once` does not wait for it


def test_a_heartbeat_leaves_nothing_behind_when_the_answer_comes_meanwhile(
    spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool.place()
    node = spool.node("busy")
    claim = taken(node)

    def answered_meanwhile(path: Path, content: bytes) -> None:
        node.answer(claim, a_report())
        overwrite(path, content)

    monkeypatch.setattr(claims, "overwrite", answered_meanwhile)
    assert not node.beat(claim)
    assert spool.files() == [f"reports/{claim.named.name}"]


def test_a_node_whose_process_is_known_to_have_ended_is_not_waited_for(spool: Spool) -> None:
    spool.place()
    taken(spool.node("dead"))
    again = taken(spool.node("other", is_gone=lambda owner: owner == "dead"))
    assert again.named.attempt == 2


def test_a_wall_clock_that_jumps_takes_no_order_away(spool: Spool) -> None:
    """Leases are seconds of the watcher's monotonic clock; the time in files and their dates is never looked at."""
    spool.place()
    claim = taken(spool.node("busy"))
    os.utime(spool.layout.beats / claim.named.file, (1, 1))
    assert spool.node("other").take() is None


def test_an_order_that_kills_its_nodes_is_recognised_as_poison(spool: Spool) -> None:
    spool.place()
    claims = [taken(spool.node(f"node-{n}", is_gone=lambda _owner: True)) for n in range(ATTEMPTS + 1)]
    assert [claim.poisonous for claim in claims] == [False] * ATTEMPTS + [True]


def test_a_released_order_waits_again(spool: Spool) -> None:
    request = spool.place()
    node = spool.node()
    node.release(taken(node))
    assert spool.files() == [f"orders/{name_of(request)}"]
    assert taken(node).named.attempt == 1


def test_the_same_order_delivered_twice_is_done_once(spool: Spool) -> None:
    request = spool.place()
    one, two = spool.node("one"), spool.node("two")
    claim = taken(one)
    spool.place()
    assert two.take() is None
    one.answer(claim, a_report())
    assert two.take() is None
    spool.place()
    assert one.take() is None
    assert spool.files() == [f"reports/{name_of(request)}"]


def test_a_node_that_died_after_its_report_leaves_nothing_to_do(spool: Spool) -> None:
    request = spool.place()
    one = spool.node("one")
    claim = taken(one)
    write_whole(spool.layout.reports / name_of(request), b"whatever: the service judges it")
    assert spool.node("two").take() is None
    assert not (spool.layout.claims / claim.named.file).exists()


def test_orders_for_other_devices_and_backends_stay(spool: Spool) -> None:
    spool.place(0, device="h200")
    spool.place(1, backend="triton")
    spool.orders.place(a_request(2), a_request(2).evaluation_id, evaluator="another referee")
    node = spool.node()
    assert node.take() is None
    assert sorted(node.left) == sorted(name_of(a_request(step)) for step in (1, 2))
    assert "which this node lacks" in node.left[name_of(a_request(1))]
    assert "begun under the evaluator 'another referee'" in node.left[name_of(a_request(2))]
    other = Offer(device="h200", backends=("triton",), evaluator="x")
    assert spool.node(offer=other).take() is None  # the order wants cpp
    assert spool.refused() == {}


def test_a_forged_a_foreign_and_an_expired_order_are_put_aside_and_the_rest_goes_on(spool: Spool) -> None:
    good = spool.place(0)
    spool.place(1, orders=spool.service(secret="9" * 64))
    spool.place(2, orders=spool.service(version="9.9"))
    spool.place(3, orders=spool.service(valid_days=0.001))
    (spool.layout.orders / "garbage@job").write_text("nothing of ours")
    (spool.layout.orders / name_of(a_request(4))).symlink_to("/etc/passwd")
    os.mkfifo(spool.layout.orders / "pipe@job")
    spool.clock.advance(100)
    node = spool.node()
    assert taken(node).request == good
    assert spool.node("two").take() is None
    refused = spool.refused()
    assert "signature is wrong" in refused[f"orders,{name_of(a_request(1))}"]
    assert "version 9.9, and this is 1.2.3" in refused[f"orders,{name_of(a_request(2))}"]
    assert "it expired at" in refused[f"orders,{name_of(a_request(3))}"]
    assert "no file of a spool" in refused["orders,garbage@job"]
    assert "symbolic link" in refused[f"orders,{name_of(a_request(4))}"]
    assert "no plain file" in refused["orders,pipe@job"]
    assert len(refused) == 6


def test_a_report_is_no_order_and_an_order_has_one_name(spool: Spool) -> None:
    request = spool.place(0)
    node = spool.node()
    node.answer(taken(node), a_report())
    (spool.layout.reports / name_of(request)).rename(spool.layout.orders / name_of(request))
    other = spool.place(1)
    (spool.layout.orders / name_of(other)).rename(spool.layout.orders / "eval-x@job-1")
    assert node.take() is None
    refused = spool.refused()
    assert "it is of the kind 'report', and no order" in refused[f"orders,{name_of(request)}"]
    assert "its name is another order's" in refused["orders,eval-x@job-1"]


def test_a_half_written_order_is_ignored_until_it_is_whole(spool: Spool) -> None:
    request = spool.place()
    path = spool.layout.orders / name_of(request)
    whole = path.read_bytes()
    path.write_bytes(whole[:100])
    node = spool.node()
    for size in (200, 300, 400):
        assert node.take() is None
        assert node.undecided == 1
        spool.clock.advance(SETTLE_S - 1)
        path.write_bytes(whole[:size])
    path.write_bytes(whole)
    assert taken(node).request == request


def test_a_half_written_order_that_stays_so_is_refused(spool: Spool) -> None:
    request = spool.place()
    path = spool.layout.orders / name_of(request)
    os.truncate(path, 300)
    (spool.layout.orders / ".rsync-is-at-work.Xy12").write_text("half")
    node = spool.node()
    assert node.take() is None
    spool.clock.advance(SETTLE_S)
    assert node.take() is None
    assert node.undecided == 0
    assert "truncated" in spool.refused()[f"orders,{name_of(request)}"]
    assert spool.orders.where(name_of(request))[0] is SpoolPlace.REFUSED


def test_a_clock_that_is_behind_leaves_orders_to_others_and_says_so(spool: Spool) -> None:
    request = spool.place()
    ahead = spool.node()
    behind = spool.node()
    behind._clock = type(spool.clock)(spool.clock.now() - timedelta(seconds=MOST_SKEW_S + 60))
    assert behind.take() is None
    assert "in the future of this node's clock: set the clock" in behind.left[name_of(request)]
    assert taken(ahead).request == request


def test_a_claim_whose_content_was_swapped_is_refused(spool: Spool) -> None:
    request = spool.place()
    claim = taken(spool.node("dead"))
    (spool.layout.claims / claim.named.file).write_bytes(b"kernelwright-spool 1 1 " + b"0" * 64 + b"\n!")
    assert spool.node("two", is_gone=lambda _owner: True).take() is None
    assert list(spool.refused()) == [f"claims,{claim.named.file}"]
    assert spool.orders.where(name_of(request))[0] is SpoolPlace.REFUSED


def test_a_withdrawn_order_stops_its_node(spool: Spool) -> None:
    request = spool.place()
    node = spool.node()
    claim = taken(node)
    spool.orders.end(request.job_id)
    assert not node.beat(claim)
    assert node.has_ended(request.job_id)
    assert not node.answer(claim, a_report())
    assert spool.files() == [f"ended/{request.job_id}"]
    spool.place()
    assert not node.has_ended(request.job_id)


def test_names_of_any_length_and_kind_find_their_order(spool: Spool) -> None:
    for job_id in ("job/../../x", "a,b@c", "ü" * 200, "j" * 400):
        request = a_request(0, job_id=job_id)
        spool.orders.place(request, request.evaluation_id)
        claim = taken(spool.node("host-" + "h" * 64 + "-1234-5678-9abc"))
        assert claim.request.job_id == job_id
        assert max(len(path.name) for path in spool.layout.claims.iterdir()) < 255
        spool.orders.end(job_id)
    assert {path.parent for path in spool.layout.root.rglob("*") if path.is_file()} <= {
        spool.layout.root, spool.layout.ended
    }  # fmt: skip


def test_an_answer_under_another_key_is_not_believed(spool: Spool) -> None:
    request = spool.place()
    thief = spool.node(secret="9" * 64)
    assert thief.take() is None  # the service's orders are forged to it, and put aside
    assert spool.orders.where(name_of(request))[0] is SpoolPlace.REFUSED


@pytest.mark.parametrize("name", ["no-claim", "a@b,x,c", "a@b,99999999999,c"])
def test_a_claim_with_a_name_that_is_none_is_put_aside(spool: Spool, name: str) -> None:
    (spool.layout.claims / name).write_text("?")
    assert spool.node().take() is None
    assert list(spool.refused()) == [f"claims,{name}"]
