"""The referee's side of a connection against runners that are honest, broken and hostile."""

import contextlib
import gc
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from services.domain.codec import to_data
from workers.ipc.tensors import TensorMeta
from workers.ipc.wire import Channel, WireError
from workers.referee.boundary.exchange import TimeLimit
from workers.referee.boundary.runner_client import RunnerSession
from workers.referee.boundary.slots import Slot
from workers.referee.comparison.call_outputs import Fetched
from workers.referee.errors import FaultKind, RunnerFault
from workers.runner.answers import OutputClaim
from workers.runner.protocol import CallForm
from workers.runner.session import RunnerServer
from workers.runner.step import DENSE, TURNED, StepPlan

DOUBLE = """
import torch

class ModelNew(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(n))

    def forward(self, x):
        return x * self.weight
"""

KEPT = """if not hasattr(self, 'kept'):
            self.kept = x * self.weight
        return self.kept"""
COUNTED = """self.sizes = [*getattr(self, 'sizes', []), x.shape[0]]
        y = torch.zeros_like(x)
        y[:len(self.sizes), 0] = torch.tensor(self.sizes, dtype=torch.float32)
        return y"""
SEEN: dict[str, Any] = {"written_outside": None, "changed": []}


def gone() -> RunnerFault:
    return RunnerFault(FaultKind.CRASHED, "it ended")


@contextlib.contextmanager
def against(peer: Callable[[Channel], object]) -> Iterator[RunnerSession]:
    """A session whose runner is `peer`, in a thread."""
    ours, theirs = socket.socketpair()

    def run() -> None:
        with contextlib.suppress(WireError, OSError), theirs:
            peer(Channel(theirs))

    thread = threading.Thread(target=run)
    thread.start()
    session = RunnerSession(Channel(ours), gone, time_limit=TimeLimit(left_s=20.0))
    session.call_limit_s = 1.0
    try:
        yield session
    finally:
        session.close()
        thread.join()


def honest(channel: Channel) -> None:
    RunnerServer(channel).run()


def loaded(session: RunnerSession, state: list[tuple[str, torch.Tensor]]) -> bool:
    return session.load(DOUBLE, [4], state, seed=1, copy_state=True, threads=1, limit_s=10.0)


def test_an_honest_runner_gets_parameters_and_inputs_and_gives_outputs() -> None:
    with against(honest) as session:
        assert loaded(session, [("weight", torch.arange(4.0))])
        x = torch.ones(3, 4)
        slot = session.open_slot(0, [x], [TensorMeta.of(x)])
        slot.write([2 * x])
        call = session.call(slot)
        fetched = session.fetch(slot)
        assert call.wall_s > 0
        assert fetched.outputs[0].value is not None
        assert torch.equal(fetched.outputs[0].value, 2 * torch.arange(4.0).expand(3, 4))
        assert fetched.outputs[0].alias is None


def test_parameters_of_other_names_are_copied_in_order_and_of_other_shapes_are_not() -> None:
    with against(honest) as session:
        assert loaded(session, [("gain", torch.arange(4.0))])
        assert not loaded(session, [("gain", torch.arange(5.0))])


def test_an_exception_of_the_candidate_comes_with_its_line() -> None:
    with against(honest) as session:
        assert loaded(session, [("weight", torch.ones(4))])
        slot = session.open_slot(0, [torch.ones(3, 5)], [TensorMeta(dtype="float32", shape=(3, 5))])
        with pytest.raises(RunnerFault, match="line 10") as caught:
            session.call(slot)
        assert caught.value.kind is FaultKind.RAISED


def test_an_answer_without_the_requests_token_is_a_forgery() -> None:
    def peer(channel: Channel) -> None:
        channel.send({"token": "guess", "answer": "done"})
        channel.receive(timeout_s=5.0)

    with against(peer) as session, pytest.raises(RunnerFault) as caught:
        session.noop()
    assert caught.value.kind is FaultKind.FORGED


def test_an_answer_sent_before_the_request_is_a_forgery() -> None:
    def peer(channel: Channel) -> None:
        for _ in range(3):
            channel.send({"verdict": "accepted", "done": True})
        channel.receive(timeout_s=5.0)

    with against(peer) as session, pytest.raises(RunnerFault) as caught:
        session.noop()
    assert caught.value.kind is FaultKind.FORGED


@pytest.mark.parametrize(
    "noise",
    [b"\xff\xff\xff\xff", struct.pack("!I", 5) + b"[1,2]", struct.pack("!I", 3) + b"no!", b"\x00\x00\x00\x02{}"],
)
def test_bytes_that_are_no_message_are_a_forgery(noise: bytes) -> None:
    def peer(channel: Channel) -> None:
        channel.connection.sendall(noise)
        channel.receive(timeout_s=5.0)

    with against(peer) as session, pytest.raises(RunnerFault) as caught:
        session.noop()
    assert caught.value.kind is FaultKind.FORGED


def test_a_descriptor_beside_an_answer_is_a_forgery_and_is_closed() -> None:
    def peer(channel: Channel) -> None:
        token = channel.receive(timeout_s=5.0).body["token"]
        channel.send({"token": token, "answer": "done"}, [0])

    before = len(list(Path("/proc/self/fd").iterdir()))
    with against(peer) as session, pytest.raises(RunnerFault) as caught:
        session.noop()
    assert caught.value.kind is FaultKind.FORGED
    assert len(list(Path("/proc/self/fd").iterdir())) <= before


def test_silence_is_a_hang_and_hanging_up_is_what_the_worker_says() -> None:
    def silent(channel: Channel) -> None:
        channel.receive(timeout_s=60.0)
        channel.receive(timeout_s=60.0)

    with against(silent) as session:
        session.call_limit_s = 0.05
        with pytest.raises(RunnerFault) as caught:
            session.noop()
        assert caught.value.kind is FaultKind.HUNG
    with against(lambda channel: channel.receive(timeout_s=5.0)) as session, pytest.raises(RunnerFault) as caught:
        session.noop()
    assert caught.value.kind is FaultKind.CRASHED


def test_only_the_time_in_which_it_is_asked_counts_against_a_process() -> None:
    def answering(channel: Channel) -> None:
        for _ in range(2):
            channel.send({"token": channel.receive(timeout_s=60.0).body["token"], "answer": "done"})
        channel.receive(timeout_s=60.0)
        channel.receive(timeout_s=60.0)

    with against(answering) as session:
        session.time_limit.left_s = 30.0
        asked_s = session.noop() + session.noop()
        assert 30.0 - session.time_limit.left_s == pytest.approx(asked_s, abs=0.05)
        session.time_limit.left_s = 0.05
        with pytest.raises(RunnerFault, match="all that was left of the evaluation's time") as caught:
            session.noop()
        assert caught.value.kind is FaultKind.HUNG
        with pytest.raises(RunnerFault, match="the evaluation's time limit was reached"):
            session.noop()


def described(dtype: str, *shape: Any) -> dict[str, Any]:
    """An output as a runner describes it."""
    data: dict[str, Any] = to_data(OutputClaim(kind="tensor", meta=TensorMeta(dtype=dtype, shape=shape)))
    return data


def fetched(session: RunnerSession, slot: Slot) -> Fetched:
    """What one call returns."""
    session.call(slot)
    return session.fetch(slot)


def handed_over(outputs: Any) -> dict[str, Any]:
    """What a runner says of outputs, true or not."""
    return {"answer": "outputs", "outputs": outputs, "structure": None, "written": True}


def called(outputs: Any) -> dict[str, Any]:
    """The same of a call."""
    handed = handed_over(outputs)
    del handed["answer"]
    return {
        "answer": "called",
        "seconds": 0.0,
        "operators": None,
        "handed": handed,
        "written_outside": None,
        "changed": [],
    }


@pytest.mark.parametrize(
    "outputs",
    [
        None,
        [3],
        [{**described("float32"), "meta": {"dtype": "float32", "shape": [-1], "strides": None, "at": None}}],
        [described("object", 1)],
        [{**described("float32"), "meta": {"dtype": "float32", "shape": "all", "strides": None, "at": None}}],
        [{"kind": "tensor"}] * 1000,
    ],
)
def test_outputs_described_by_nonsense_are_a_forgery(outputs: object) -> None:
    def peer(channel: Channel) -> None:
        for answer in ({"answer": "done"}, called(outputs)):  # to `slot`, then to `call`
            message = channel.receive(timeout_s=5.0)
            message.close()
            channel.send({"token": message.body["token"], **answer})

    with against(peer) as session:
        slot = session.open_slot(0, [torch.ones(2)], [TensorMeta(dtype="float32", shape=(2,))])
        with pytest.raises(RunnerFault) as caught:
            fetched(session, slot)
        assert caught.value.kind is FaultKind.FORGED


def test_a_described_output_larger_than_the_buffer_has_no_value() -> None:
    def peer(channel: Channel) -> None:
        for answer in ({"answer": "done"}, called([described("float32", 1 << 40)])):
            message = channel.receive(timeout_s=5.0)
            message.close()
            channel.send({"token": message.body["token"], **answer})

    with against(peer) as session:
        slot = session.open_slot(0, [torch.ones(2)], [TensorMeta(dtype="float32", shape=(2,))])
        session.call(slot)
        assert session.fetch(slot).outputs[0].value is None


def test_an_output_that_was_not_written_is_poison_not_what_was_there() -> None:
    def peer(channel: Channel) -> None:
        for answer in ({"answer": "done"}, called([described("float32", 2)])):
            message = channel.receive(timeout_s=5.0)
            message.close()
            channel.send({"token": message.body["token"], **answer})

    with against(peer) as session:
        slot = session.open_slot(0, [torch.ones(2)], [TensorMeta(dtype="float32", shape=(2,))])
        session.call(slot)
        value = session.fetch(slot).outputs[0].value
        assert value is not None
        assert value.view(torch.uint8).tolist() == [0xA5] * 8


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"answer": "loaded", "matched": True},
        {"answer": "called", "seconds": 0.0, "operators": None, "handed": None, **SEEN},
        {"answer": "done", "verdict": "accepted"},
        {"answer": "accepted"},
        {"answer": "profile", "counters": 3, "lines": "", "record": None, "record_bytes": 0},
    ],
)
def test_an_answer_to_another_request_is_a_forgery(answer: dict[str, Any]) -> None:
    def peer(channel: Channel) -> None:
        channel.send({"token": channel.receive(timeout_s=5.0).body["token"], **answer})
        channel.receive(timeout_s=5.0)

    with against(peer) as session, pytest.raises(RunnerFault) as caught:
        session.noop()
    assert caught.value.kind is FaultKind.FORGED


def test_parameters_are_changed_in_place_where_they_match() -> None:
    with against(honest) as session:
        assert loaded(session, [("weight", torch.ones(4))])
        x = torch.ones(3, 4)
        slot = session.open_slot(0, [x], [TensorMeta.of(x)])
        slot.write([x])
        assert session.change_state([("weight", torch.arange(4.0))])
        assert not session.change_state([("weight", torch.arange(5.0))])
        session.call(slot, at_once=True)
        value = session.fetch(slot).outputs[0].value
        assert value is not None
        assert torch.equal(value, torch.arange(4.0).expand(3, 4))
        assert not session.keeps_outputs(slot)


STRIDES = """
import torch

class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.tensor(x.stride()), x + 0
"""


def test_arguments_lie_as_they_are_asked_for_with_the_same_values() -> None:
    with against(honest) as session:
        session.load(STRIDES, [], [], seed=1, copy_state=True, threads=1, limit_s=20.0)
        x = torch.arange(12.0).reshape(3, 4)
        slot = session.open_slot(0, [x], [TensorMeta(dtype="int64", shape=(2,)), TensorMeta.of(x)])
        for layout, strides in ((DENSE, [4, 1]), (TURNED, [1, 3]), (DENSE, [4, 1])):
            slot.write([x])
            session.call(slot, form=CallForm(layout=layout))
            found, values = (output.value for output in session.fetch(slot).outputs)
            assert found is not None
            assert values is not None
            assert found.tolist() == strides
            assert torch.equal(values, x)


def test_the_state_is_read_under_the_reference_s_names() -> None:
    state = [("slope", torch.arange(4.0)), ("other", torch.ones(2))]  # the model calls the first one `weight`
    with against(honest) as session:
        assert loaded(session, state)
        found = session.read_state([name for name, _ in state], [TensorMeta.of(tensor) for _, tensor in state])
        assert list(found) == ["slope"]
        assert torch.equal(found["slope"], torch.arange(4.0))
        assert session.read_state(["slope"], [TensorMeta(dtype="float64", shape=(4,))]) == {}


@pytest.mark.parametrize("names", [["weight", "more"], "weight", None])
def test_a_state_that_nobody_asked_for_is_a_forgery(names: object) -> None:
    def peer(channel: Channel) -> None:
        message = channel.receive(timeout_s=5.0)
        message.close()
        channel.send({"token": message.body["token"], "names": names})  # type: ignore[dict-item]

    with against(peer) as session, pytest.raises(RunnerFault) as caught:
        session.read_state(["weight"], [TensorMeta(dtype="float32", shape=(4,))])
    assert caught.value.kind is FaultKind.FORGED


def test_a_batch_gives_parameters_the_values_that_its_slots_say() -> None:
    with against(honest) as session:
        assert loaded(session, [("weight", torch.ones(4))])
        x = torch.ones(3, 4)
        slot = session.open_slot(0, [x], [TensorMeta.of(x)])
        slots = [slot, session.open_sibling(slot, 1, own_outputs=True)]
        for number, one in enumerate(slots):
            session.hold_state(number, [("weight", torch.full((4,), 2.0 + number))])
            one.write([x])
            one.state = 1 - number
        session.call_batch(slots, "plain")
        values = [session.fetch(one, index).outputs[0].value for index, one in enumerate(slots)]
        assert [None if one is None else float(one[0, 0]) for one in values] == [3.0, 2.0]
        session.drop_states()
        with pytest.raises(RunnerFault):
            session.put_state(0)


def test_a_second_model_has_parameters_of_its_own() -> None:
    with against(honest) as session:
        assert loaded(session, [("weight", torch.ones(4))])
        x = torch.ones(3, 4)
        slot = session.open_slot(0, [x], [TensorMeta.of(x)])
        slot.write([x])
        assert session.add_instance([("weight", torch.full((4,), 5.0))], seed=2, limit_s=10.0)
        for model, expected in (("other", 5.0), ("plain", 1.0)):
            session.call(slot, model)
            value = session.fetch(slot).outputs[0].value
            assert value is not None
            assert float(value[0, 0]) == expected
        session.drop_instance()
        with pytest.raises(RunnerFault):
            session.call(slot, "other")


def test_two_steps_are_interleaved_and_the_first_has_a_second_backward() -> None:
    plan = StepPlan(inputs=(0,), parameters=("weight",), outputs=(0,))
    with against(honest) as session:
        session.call_limit_s = 20.0
        state = [("weight", torch.arange(4.0))]
        assert session.load(DOUBLE, [4], state, seed=1, copy_state=True, threads=1, limit_s=10.0, step=plan)
        first, second, ones = torch.randn(3, 4), torch.randn(3, 4), torch.ones(3, 4)
        metas = [TensorMeta.of(one) for one in (first, first, torch.ones(4))]
        slot = session.open_slot(0, [first, ones, 0], metas)
        slots = [slot, *(session.open_sibling(slot, number, own_outputs=True) for number in (1, 2))]
        given = [first, second, first]
        factors = [1.0, 1.0, 3.0]
        for one, x, factor in zip(slots, given, factors, strict=True):
            one.write([x, factor * ones])
        for x, factor, fetched in zip(given, factors, session.interleave_steps(slots), strict=True):
            value, of_input, of_weight = (one.value for one in fetched.outputs)
            assert value is not None
            assert of_input is not None
            assert of_weight is not None
            assert torch.equal(value, x * torch.arange(4.0))
            assert torch.equal(of_input, factor * torch.arange(4.0).expand(3, 4))
            assert torch.allclose(of_weight, factor * x.sum(dim=0))


class EarlyRunner(RunnerServer):
    """Says that a forward has ended without handing over what it returned."""

    def _wait_for_cotangents(self, result: object) -> None:
        super()._wait_for_cotangents(())


def hasty(channel: Channel) -> None:
    EarlyRunner(channel).run()


@pytest.mark.parametrize("peer", [honest, hasty])
def test_a_forward_that_is_said_to_have_ended_has_handed_over_its_outputs(peer: Callable[[Channel], object]) -> None:
    plan = StepPlan(inputs=(0,), parameters=("weight",), outputs=(0,))
    with against(peer) as session:
        session.call_limit_s = 20.0
        state = [("weight", torch.arange(4.0))]
        assert session.load(DOUBLE, [4], state, seed=1, copy_state=True, threads=1, limit_s=10.0, step=plan)
        x = torch.randn(3, 4)
        arguments = [x, torch.ones(3, 4), 0]
        slot = session.open_slot(0, arguments, [TensorMeta.of(one) for one in (x, x, torch.ones(4))])
        slot.write([x, torch.ones(3, 4)])
        session.call(slot)
        if peer is hasty:
            with pytest.raises(RunnerFault, match="its outputs were not there yet"):
                session.call(slot, at_once=True)
            return
        session.call(slot, at_once=True)
        value, _, gradient = (one.value for one in session.fetch(slot).outputs)
        assert value is not None
        assert gradient is not None
        assert torch.equal(value, x * torch.arange(4.0))
        assert torch.allclose(gradient, x.sum(dim=0))


@pytest.fixture
def frozen() -> None:
    """Collections look at nothing that was there before: in a process that has imported much they take long."""
    gc.collect()
    gc.freeze()


def open_blocks() -> set[tuple[str, int]]:
    """Blocks of shared memory that this process has open, as descriptor and inode: those of both sides, since the
    runner is a thread here. Earlier tests' may go at any time, so only what has come since is counted."""
    gc.collect()
    found = set()
    for descriptor in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            if "memfd:kernelwright" in str(descriptor.readlink()):
                found.add((descriptor.name, descriptor.stat().st_ino))
    return found


@pytest.mark.usefixtures("frozen")
def test_a_runner_keeps_no_memory_of_what_it_was_loaded_from_nor_of_a_slot_that_another_takes_the_place_of() -> None:
    with against(honest) as session:
        before = open_blocks()
        assert loaded(session, [("weight", torch.arange(4.0))])
        assert session.change_state([("weight", torch.ones(4))])
        assert not open_blocks() - before
        first = session.open_slot(0, [torch.ones(2, 4)], ())
        one_slot = len(open_blocks() - before)
        second = session.open_slot(0, [torch.ones(3, 4)], ())
        assert len(open_blocks() - before) == one_slot + one_slot // 2  # on this side both are open
        session.forget([second])
        del first, second
        assert len(open_blocks() - before) < one_slot


@pytest.mark.usefixtures("frozen")
def test_memory_of_a_slot_that_the_runner_does_not_take_is_given_back() -> None:
    with against(lambda channel: channel.receive(timeout_s=5.0).close()) as session:
        before = open_blocks()
        with pytest.raises(RunnerFault):
            session.open_slot(0, [torch.ones(4)], ())
        assert not open_blocks() - before


@pytest.mark.parametrize("place", ["import torch\n", "        super().__init__()\n"])
def test_a_mode_that_importing_or_building_leaves_changed_is_named(place: str) -> None:
    assert place in DOUBLE
    indent = " " * (len(place) - len(place.lstrip()))
    source = DOUBLE.replace(place, f"{place}{indent}torch.set_grad_enabled(False)\n", 1)
    with against(honest) as session, pytest.raises(RunnerFault, match="whether gradients are recorded") as caught:
        session.load(source, [4], [("weight", torch.ones(4))], seed=1, copy_state=True, threads=1, limit_s=10.0)
    assert caught.value.kind is FaultKind.FORGED


@pytest.mark.parametrize("is_put_back", [False, True])
def test_a_mode_that_a_call_leaves_when_it_raises_is_evidence(is_put_back: bool) -> None:
    end = "finally:\n            torch.set_flush_denormal(not IS_PUT_BACK)".replace("IS_PUT_BACK", str(is_put_back))
    source = DOUBLE.replace(
        "return x * self.weight",
        f"""try:
            torch.set_flush_denormal(True)
            return x * self.weight
        {end}""",
    )
    with against(honest) as session:
        assert session.load(source, [4], [("weight", torch.ones(4))], seed=1, copy_state=True, threads=1, limit_s=10.0)
        slot = session.open_slot(0, [torch.ones(3, 5)], [TensorMeta(dtype="float32", shape=(3, 5))])
        with pytest.raises(RunnerFault) as caught:
            session.call(slot)
    assert caught.value.kind is (FaultKind.RAISED if is_put_back else FaultKind.FORGED)
    assert ("the treatment of denormal numbers was not as before" in str(caught.value)) is not is_put_back


def test_seeding_the_random_numbers_of_others_is_named_and_drawing_some_is_not() -> None:
    drawing = DOUBLE.replace("import torch", "import random\nimport torch\nrandom.random()").replace(
        "super().__init__()\n", "super().__init__()\n        random.gauss(0, 1)\n"
    )
    given: dict[str, Any] = {"seed": 1, "copy_state": True, "threads": 1, "limit_s": 10.0}
    with against(honest) as session:
        assert session.load(drawing, [4], [("weight", torch.ones(4))], **given)
    for place in ("random.random()", "random.gauss(0, 1)"):
        with against(honest) as session, pytest.raises(RunnerFault, match="the seed of Python's random numbers"):
            session.load(drawing.replace(place, "random.seed(3)"), [4], [("weight", torch.ones(4))], **given)


def test_what_a_call_returned_is_held_whatever_becomes_of_its_tensor_and_written_over_where_it_is_not_held() -> None:
    keeping = DOUBLE.replace("return x * self.weight", KEPT)
    with against(honest) as session:
        assert session.load(keeping, [4], [("weight", torch.ones(4))], seed=1, copy_state=True, threads=1, limit_s=10.0)
        x = torch.ones(3, 4)
        slot = session.open_slot(0, [x], [TensorMeta.of(x)])
        slot.write([x])
        session.call(slot, form=CallForm(overwrite=True, read_only=True))
        assert torch.equal(_value(session.fetch(slot)), x)
        session.call(slot, hold=True)
        assert _value(session.fetch(slot)).isnan().all()
        assert _value(session.held(slot)).isnan().all()


def test_a_model_is_called_repeatedly_on_sizes_that_grow() -> None:
    counting = DOUBLE.replace("return x * self.weight", COUNTED)
    with against(honest) as session:
        state = [("weight", torch.ones(4))]
        assert session.load(counting, [4], state, seed=1, copy_state=True, threads=1, limit_s=10.0)
        slot = session.open_slot(0, [torch.ones(9, 4)], [TensorMeta(dtype="float32", shape=(9, 4))])
        slot.write([torch.ones(9, 4)])
        assert session.repeat(slot, 6, [(0, 0)], 4) > 0
        session.call(slot)
        assert _value(session.fetch(slot))[:, 0].tolist() == [4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 9.0, 0.0, 0.0]


def _value(fetched: Fetched) -> torch.Tensor:
    value = fetched.outputs[0].value
    assert value is not None
    return value
