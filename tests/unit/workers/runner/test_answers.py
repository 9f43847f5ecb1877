"""A runner's answers: what is sent arrives, and whatever else a candidate's code may send in their place is refused."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

from workers.ipc.messages import MessageError
from workers.ipc.tensors import MAX_DIMENSIONS, TensorMeta
from workers.runner.answers import (
    ANSWERS,
    MAX_BATCH_CALL_S,
    MAX_CLAIM_S,
    MAX_ELEMENTS,
    MAX_KERNELS,
    MAX_NAME,
    MAX_OPERATORS,
    MAX_OUTPUTS,
    MAX_PROFILE_TEXT,
    MAX_TEXT,
    Acknowledged,
    BatchCalled,
    BatchTimed,
    CodeDrafted,
    GraphCaptured,
    HandedOver,
    KernelsTraced,
    ModelCalled,
    ModelLoaded,
    OutputClaim,
    OutputsKept,
    ProfilerOutput,
    RunnerAnswer,
    RunnerError,
    StateRead,
)

META = TensorMeta(dtype="float32", shape=(2, 3))
TENSOR = OutputClaim(kind="tensor", meta=META, alias=1, strides=(3, 1), shared="output 0")
HANDED = HandedOver(outputs=(TENSOR, OutputClaim(kind="str")), structure={"tuple": [{"tensor": 0}, "x"]}, written=True)
HONEST: list[RunnerAnswer] = [
    Acknowledged(),
    ModelLoaded(matched=True),
    StateRead(names=("weight",)),
    OutputsKept(kept=False),
    HANDED,
    ModelCalled(seconds=0.5, operators={"exp": 4}, handed=HANDED),
    ModelCalled(seconds=0.25),
    BatchTimed(each=(1e-6, 0.0)),
    BatchCalled(calls=(HANDED, HANDED)),
    GraphCaptured(said=""),
    KernelsTraced(kernels=(("gemm", 3.5), ("slow", 2e6))),
    CodeDrafted(source="import torch"),
    CodeDrafted(reason="no graph"),
    RunnerError(text="no", line=3, memory=False, broken=True),
    ProfilerOutput(counters="a,b", lines="[]", record="", record_bytes=9 << 20),
]
FORGED_VALUES: list[Any] = [
    None, True, 1, -1, 1 << 62, 10**400, -10**400, 1.5, 1e308, {"float": "nan"}, {"float": "inf"}, {"float": 1}, "",
    "x", [], [[]], [None], {}, {"": 1 << 80},
]  # fmt: skip


def sent(answer: RunnerAnswer) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(json.dumps(ANSWERS.encode(answer)))
    return body


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where something stands in a message."""
    if path:
        yield path
    if path and path[-1] == "structure":  # in the runner's words: checked by whoever reads it
        return
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


def at(body: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        body = body[key]
    return body


@pytest.mark.parametrize("answer", HONEST, ids=lambda answer: type(answer).__name__)
def test_what_a_runner_answers_arrives(answer: RunnerAnswer) -> None:
    assert ANSWERS.decode_exactly(sent(answer)) == answer


@pytest.mark.parametrize("answer", HONEST, ids=lambda answer: type(answer).__name__)
def test_a_field_that_is_missing_or_added_anywhere_is_refused(answer: RunnerAnswer) -> None:
    for path in places(sent(answer)):
        body = sent(answer)
        holder = at(body, path[:-1])
        if isinstance(holder, dict) and path[-2:-1] != ("operators",):
            del holder[path[-1]]
            with pytest.raises(MessageError):
                ANSWERS.decode_exactly(body)
    for path in [(), *places(sent(answer))]:
        body = sent(answer)
        holder = at(body, path)
        if isinstance(holder, dict) and path[-1:] not in (("operators",), ("structure",)):
            holder["verdict"] = "accepted"
            with pytest.raises(MessageError):
                ANSWERS.decode_exactly(body)


@pytest.mark.parametrize("answer", HONEST, ids=lambda answer: type(answer).__name__)
def test_a_forged_value_anywhere_is_refused_or_is_what_it_says(answer: RunnerAnswer) -> None:
    """Whatever is believed has the type of its field, and is what was received."""
    for path in places(sent(answer)):
        for value in FORGED_VALUES:
            body = sent(answer)
            at(body, path[:-1])[path[-1]] = copy.deepcopy(value)
            try:
                believed = ANSWERS.decode_exactly(body)
            except MessageError as error:
                assert len(str(error)) < 1000  # noqa: PT017 - most are refused
            else:
                assert path[-1] == "structure" or sent(believed) == body
                honest = at(sent(answer), path)
                alike = type(value) is type(honest) or {type(value), type(honest)} <= {int, float}
                assert alike or value is None or honest is None or path[-1] == "structure"


@pytest.mark.parametrize(
    ("answer", "path", "value"),
    [
        (HANDED, ("outputs",), [sent(HANDED)["outputs"][1]] * (MAX_OUTPUTS + 1)),
        (HANDED, ("outputs", 0, "kind"), "str"),
        (HANDED, ("outputs", 0, "meta"), None),
        (HANDED, ("outputs", 1, "kind"), "tensor"),
        (HANDED, ("outputs", 1, "kind"), "x" * (MAX_NAME + 1)),
        (HANDED, ("outputs", 1, "strides"), []),
        (HANDED, ("outputs", 0, "alias"), -1),
        (HANDED, ("outputs", 0, "shared"), "x" * (MAX_NAME + 1)),
        (HANDED, ("outputs", 0, "strides"), [1]),
        (HANDED, ("outputs", 0, "strides"), [1, -1]),
        (HANDED, ("outputs", 0, "strides"), [1, MAX_ELEMENTS]),
        (HANDED, ("outputs", 0, "meta", "shape"), [2, -3]),
        (HANDED, ("outputs", 0, "meta", "shape"), [2, MAX_ELEMENTS]),
        (HANDED, ("outputs", 0, "meta", "shape"), [2, True]),
        (HANDED, ("outputs", 0, "meta", "shape"), [1] * (MAX_DIMENSIONS + 1)),
        (HANDED, ("outputs", 0, "meta", "dtype"), "x" * (MAX_NAME + 1)),
        (HANDED, ("outputs", 0, "meta", "at"), 0),
        (HANDED, ("outputs", 0, "meta", "strides"), [3, 1]),
        (ModelCalled(), ("seconds",), -1e-9),
        (ModelCalled(), ("seconds",), 2 * MAX_CLAIM_S),
        (ModelCalled(), ("seconds",), float("inf")),
        (ModelCalled(), ("seconds",), float("nan")),
        (ModelCalled(), ("operators",), {"exp": -1}),
        (ModelCalled(), ("operators",), {"exp": 4.0}),
        (ModelCalled(), ("operators",), {"exp": MAX_ELEMENTS}),
        (ModelCalled(), ("operators",), {"x" * (MAX_NAME + 1): 1}),
        (ModelCalled(), ("operators",), {str(index): 1 for index in range(MAX_OPERATORS + 1)}),
        (BatchTimed(each=()), ("each",), [1e-6, MAX_BATCH_CALL_S]),
        (BatchTimed(each=()), ("each",), [float("nan")]),
        (BatchTimed(each=()), ("each",), [{"float": "nan"}]),
        (BatchTimed(each=()), ("each",), ["1e-6"]),
        (GraphCaptured(said=""), ("said",), "x" * (MAX_TEXT + 1)),
        (KernelsTraced(kernels=()), ("kernels",), [["gemm", 1.0, 2.0]]),
        (KernelsTraced(kernels=()), ("kernels",), [["gemm", -1.0]]),
        (KernelsTraced(kernels=()), ("kernels",), [["gemm", 1.0]] * (MAX_KERNELS + 1)),
        (KernelsTraced(kernels=()), ("kernels",), [["x" * (MAX_NAME + 1), 1.0]]),
        (CodeDrafted(source="x"), ("reason",), "y"),
        (CodeDrafted(source="x"), ("source",), None),
        (RunnerError(text="", line=None, memory=False, broken=False), ("text",), "x" * (MAX_TEXT + 1)),
        (RunnerError(text="", line=None, memory=False, broken=False), ("line",), 0),
        (RunnerError(text="", line=None, memory=False, broken=False), ("line",), 1 << 31),
        (RunnerError(text="", line=None, memory=False, broken=False), ("memory",), 1),
        (ProfilerOutput(counters=""), ("counters",), "x" * (MAX_PROFILE_TEXT + 1)),
        (ProfilerOutput(counters=""), ("record_bytes",), -1),
        (Acknowledged(), ("answer",), "verdict"),
        (Acknowledged(), ("answer",), ["done"]),
    ],
)
def test_what_an_honest_runner_never_says_is_refused(answer: RunnerAnswer, path: tuple[Any, ...], value: Any) -> None:
    body = sent(answer)
    at(body, path[:-1])[path[-1]] = value
    with pytest.raises(MessageError):
        ANSWERS.decode_exactly(body)


def test_a_structure_that_is_nested_too_deeply_to_be_read_is_refused() -> None:
    nested: Any = None
    for _ in range(2000):
        nested = [nested]
    with pytest.raises(MessageError):
        ANSWERS.decode_exactly({**sent(HANDED), "structure": nested})
