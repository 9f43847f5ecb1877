"""The referee's side of the process that holds a problem: what crosses, and what a hostile one can say."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from services.domain.errors import InfrastructureError
from services.domain.problems import TensorForm
from services.ports.sandboxes import ExitStatus
from tests.doubles import a_device
from tests.integration.test_wire import patient
from tests.isolated import Peer, Threads, honest, isolated
from workers.ipc.packed import Packed
from workers.ipc.tensors import DataError, TensorMeta, check_structure, decode, structure
from workers.ipc.wire import Channel, WireError
from workers.referee.boundary.problem_messages import ANSWERS
from workers.referee.errors import Refused

SOURCE = """
import torch

class Model(torch.nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.rand(8) * scale)

    def forward(self, x, pair):
        return {"scaled": x * self.scale, "sum": (pair[0] + pair[1].sum(), 3.5)}

def get_inputs():
    whole = torch.randn(6, 8)
    return [torch.randn(1, 8).expand(4, 8), whole.chunk(2)]

def get_init_inputs():
    return [0.5]
"""
CRASHED = ExitStatus(code=None, signal=11, timed_out=False, out_of_memory=False, output="", output_cut=False)


def test_tensors_cross_as_they_lie_in_memory_and_are_copies() -> None:
    whole = torch.arange(24.0).reshape(4, 6)
    given_ = [
        whole.t(),
        whole[:, 2:4],
        torch.tensor(3).expand(2, 5),
        torch.empty(0, 3),
        torch.ones(2, dtype=torch.bool),
    ]
    packed = Packed.of(given_)
    raw = torch.zeros(packed.size, dtype=torch.uint8)
    packed.write(raw, given_)
    found = packed.read(raw)
    raw.zero_()
    for one, other in zip(found, given_, strict=True):
        assert torch.equal(one, other)
        assert one.stride() == other.stride()
    found[0].fill_(1.0)
    assert found[1].eq(1.0).all(), "both lie in one storage, as they did"
    assert found[3].shape == (0, 3)


@pytest.mark.parametrize(
    "meta",
    [
        TensorMeta(dtype="float32", shape=(1 << 40,)),
        TensorMeta(dtype="float32", shape=(-1,)),
        TensorMeta(dtype="float32", shape=(4,), strides=(1 << 50,), at=0),
        TensorMeta(dtype="float32", shape=(4,), strides=(1,), at=60),
        TensorMeta(dtype="float32", shape=(4,), strides=(-1,), at=16),
        TensorMeta(dtype="float32", shape=(4,), strides=(), at=0),
        TensorMeta(dtype="float32", shape=(4,), strides=(1,), at=3),
        TensorMeta(dtype="object", shape=(1,)),
        TensorMeta(dtype="float32", shape=(1,) * 65),
    ],
)
def test_what_does_not_lie_in_the_block_is_not_read(meta: TensorMeta) -> None:
    with pytest.raises(DataError):
        Packed(metas=(meta,), storages=(0,)).read(torch.zeros(64, dtype=torch.uint8))


def test_the_reference_computes_what_it_computes_elsewhere() -> None:
    with isolated(SOURCE) as problem:
        x, pair = problem.make_inputs(0, 7)
        assert x.stride() == (0, 1)
        assert pair[0].untyped_storage().data_ptr() == pair[1].untyped_storage().data_ptr()
        answer = problem.run([x, pair])
        scale = dict(problem.state())["scale"]
    assert torch.equal(answer.tensors[0], x * scale)
    assert answer.shape == {"dict": [["scaled", {"tensor": 0}], ["sum", {"tuple": [{"tensor": 1}, {"float": "3.5"}]}]]}
    assert problem.init_inputs == [0.5]


def ends_when(asked: str) -> Peer:
    """A process that is honest, and ends when it is asked for something."""

    def peer(channel: Channel) -> None:
        receive = channel.receive

        def received(*, timeout_s: float) -> Any:
            message = receive(timeout_s=timeout_s)
            if message.body.get("request") == asked:
                raise WireError("the process ends")
            return message

        vars(channel)["receive"] = received
        with contextlib.suppress(WireError):
            honest(channel)

    return peer


def test_a_call_that_ends_the_process_costs_that_call() -> None:
    processes = Threads(ends_when("run"), CRASHED)
    with isolated(SOURCE, processes) as problem:
        before = problem.state()
        with pytest.raises(Refused, match="signal 11, SIGSEGV"):
            problem.run(problem.make_inputs(0, 1))
        assert processes.started == 1
        for (name, one), (other_name, other) in zip(before, problem.state(), strict=True):
            assert name == other_name
            assert torch.equal(one, other), "the new process has the same weights"
        assert processes.started == 2


def test_a_process_whose_trace_was_broken_off_is_asked_nothing_more() -> None:
    analysed: list[str] = []

    def broken_off(channel: Channel) -> None:
        send = channel.send

        def sent(body: Any, *given: Any, **named: Any) -> None:
            if body.get("said") == "analysed":
                body = {**body, "broken_off": True}
            analysed.extend(filter(None, [body.get("said")]))
            send(body, *given, **named)

        vars(channel)["send"] = sent
        honest(channel)

    processes = Threads(broken_off)
    with isolated(SOURCE, processes) as problem:
        before = dict(problem.state())["scale"]
        problem.analysed(a_device())
        assert analysed[-1] == "analysed"
        assert torch.equal(dict(problem.state())["scale"], before)
        assert processes.started == 2


def test_a_process_that_ends_while_another_model_stands_in_is_missed_until_that_is_over() -> None:
    with isolated(SOURCE, Threads(ends_when("run"), CRASHED)) as problem:
        before = dict(problem.state())["scale"]
        with problem.other_parameters():
            with pytest.raises(Refused):
                problem.run(problem.make_inputs(0, 1))
            with pytest.raises(Refused, match="ended while another model stood in"):
                problem.state()
        assert torch.equal(dict(problem.state())["scale"], before)


def test_who_was_killed_by_the_machine_is_no_refusal() -> None:
    killed = ExitStatus(code=None, signal=9, timed_out=False, out_of_memory=False, output="", output_cut=False)
    with isolated(SOURCE, Threads(ends_when("run"), killed)) as problem, pytest.raises(InfrastructureError):
        problem.run(problem.make_inputs(0, 1))


def test_more_than_a_process_may_use_is_not_taken() -> None:
    large = SOURCE.replace("torch.randn(1, 8).expand(4, 8)", "torch.zeros(1 << 17, 8)")
    with isolated(large, Threads(most_bytes=1 << 20)) as problem, pytest.raises(Refused, match="4 MiB at once"):
        problem.make_inputs(0, 1)


plain = (
    st.none()
    | st.booleans()
    | st.integers(-3, 1 << 60)
    | st.text(max_size=8)
    | st.sampled_from(["tensor", "list", "float32", "float", "sparse"])
)
parts = st.recursive(
    plain,
    lambda kids: (
        st.lists(kids, max_size=3)
        | st.dictionaries(
            st.sampled_from(["tensor", "list", "dict", "named", "sparse", "float", "x"]), kids, max_size=2
        )
    ),
    max_leaves=8,
)
metas = st.fixed_dictionaries({"dtype": st.sampled_from(["float32", "int64", "x"]), "shape": parts}) | parts
beside = st.fixed_dictionaries(
    {"data": parts, "packed": st.fixed_dictionaries({"metas": st.lists(metas, max_size=2), "storages": parts}) | parts}
)
said = st.fixed_dictionaries(
    {"said": st.sampled_from([*ANSWERS._kinds, "no answer"])},
    optional={
        "values": beside,
        "outputs": parts,
        "peak_bytes": parts,
        "size": st.integers(-1, 1 << 21) | parts,
        "what": parts,
        "line": parts,
        "reason": st.text(max_size=5),
        "remedy": st.text(max_size=5),
        "seconds": parts,
        "applies": parts,
        "names": parts,
    },
)
CALLS: tuple[Callable[[Any], object], ...] = (
    lambda problem: problem.run([torch.ones(2)]),
    lambda problem: problem.run_double([torch.ones(2)]),
    lambda problem: problem.make_inputs(0, 1),
    lambda problem: problem.state(),
    lambda problem: problem.manners([]),
)


@given(st.lists(said, min_size=1, max_size=4), st.sampled_from(CALLS))
@patient(60)
def test_whatever_the_process_says_the_referee_goes_on(answers: list[Any], call: Callable[[Any], object]) -> None:
    def peer(channel: Channel) -> None:
        send = channel.send
        loaded: list[bool] = []

        def hostile(body: Any, *rest: Any, **named: Any) -> None:
            if not loaded or body.get("said") == "step":
                loaded.extend([True] if body.get("said") == "loaded" else [])
                send(body, *rest, **named)
                return
            for answer in answers:
                send(answer)
            raise WireError("the process ends")

        vars(channel)["send"] = hostile
        with contextlib.suppress(WireError):
            honest(channel)

    processes = Threads(peer, CRASHED, most_bytes=1 << 22)
    with isolated(SOURCE, processes) as problem, contextlib.suppress(Refused, InfrastructureError):
        call(problem)


@given(parts)
@patient(60)
def test_what_passes_as_a_description_can_be_decoded(data: Any) -> None:
    tensors = [torch.ones(1)]
    try:
        check_structure(data, 1)
    except ValueError:
        return
    with contextlib.suppress(ValueError, TypeError):
        again: list[torch.Tensor] = []
        structure(decode(data, tensors), again)


def test_the_forms_of_all_arguments_cross_nested_ones_too() -> None:
    source = """
import torch

class Model(torch.nn.Module):
    def forward(self, x, parts, n):
        return x * parts["a"] + parts["b"][0][0] * n

def get_inputs():
    return [torch.randn(4, 8), {"a": torch.randn(8), "b": [(torch.ones(4, 8, dtype=torch.int32), 2)]}, 3]

HELD_OUT = [lambda: [torch.randn(8).double(), {"a": torch.randn(8), "b": [(torch.randn(0), 2)]}, 3]]
"""
    with isolated(source) as problem:
        found = problem.analysed(a_device()).calls
    a = TensorForm(dtype="float32", rank=1)
    assert found == (
        (TensorForm(dtype="float32", rank=2), (a, TensorForm(dtype="int32", rank=2)), None),
        (TensorForm(dtype="float64", rank=1), (a, replace(a, is_empty=True)), None),
    )


def test_a_parameter_may_be_zero_for_a_while() -> None:
    with isolated(SOURCE, Threads()) as problem:
        arguments = problem.make_inputs(0, 1)
        before, usual = dict(problem.state())["scale"], problem.run(arguments).tensors[0]
        with problem.without("scale"):
            assert problem.is_varied
            assert not dict(problem.state())["scale"].any()
            assert not torch.equal(problem.run(arguments).tensors[0], usual)
        assert torch.equal(dict(problem.state())["scale"], before)
        assert torch.equal(problem.run(arguments).tensors[0], usual)
        with pytest.raises(Refused, match="no parameter"), problem.without("other"):
            pass


def test_a_model_of_other_settings_has_other_parameters_for_a_while() -> None:
    source = SOURCE.replace("torch.rand(8) * scale", "torch.ones(8) * scale") + "\nINIT_SETS = [lambda: [2.0]]\n"
    with isolated(source, Threads()) as problem:

        def scale() -> torch.Tensor:
            return dict(problem.state())["scale"]

        with problem.other_settings(0):
            with problem.other_parameters() as has_any:
                assert has_any
                assert problem.init_inputs == [2.0]
                assert not scale().eq(scale()[0]).all()
                assert bool((scale() >= 1.2).all())
            assert scale().eq(2.0).all()
            with problem.another_model(1) as is_another:
                assert is_another
                assert bool((scale() > 1.0).all())
        assert not problem.is_varied
        assert scale().eq(0.5).all()
