"""Messages between worker, referee and runner: what is sent arrives, and nothing else does."""

from __future__ import annotations

import json
from typing import Any

import pytest

from services.domain.measurements import Baselines
from services.ports.sandboxes import ExitStatus
from tests.doubles.builders import a_latency
from workers.ipc.messages import MessageError, Messages
from workers.ipc.tensors import TensorMeta
from workers.referee.boundary.requests import REPLIES, BaselinesMeasured, MeasureBaselines
from workers.referee.boundary.requests import REQUESTS as REFEREE_REQUESTS
from workers.referee.boundary.worker_messages import ANSWERS, QUESTIONS, AwaitBuild, ReadSamples, RunnerEnd, TimeShares
from workers.runner.protocol import REQUESTS, AttachSlot, CallModel, LoadModel
from workers.runner.step import StepPlan

META = TensorMeta(dtype="float32", shape=(2, 3))
ENDED = ExitStatus(code=None, signal=9, timed_out=False, out_of_memory=True, output="x", output_cut=False)


@pytest.mark.parametrize(
    ("messages", "message"),
    [
        (REFEREE_REQUESTS, MeasureBaselines(names=("eager", "compile"))),
        (REPLIES, BaselinesMeasured(baselines=Baselines(eager=a_latency(1000.0)))),
        (QUESTIONS, AwaitBuild(setting={"TILE": 8, "NAME": "a", "FAST": True, "SHARE": 0.5})),
        (QUESTIONS, AwaitBuild()),
        (QUESTIONS, ReadSamples(handle=1, windows=((0.5, 1.5), (2.0, 3.0)), calls=2)),
        (ANSWERS, RunnerEnd(status=ENDED)),
        (ANSWERS, RunnerEnd(status=None)),
        (ANSWERS, TimeShares(by_owner={"own": 3}, functions={}, threads=(2, 1))),
        (REQUESTS, CallModel(slot=3, model="idle", hold=True)),
        (REQUESTS, AttachSlot(slot=0, arguments={"tensor": 0}, metas=(META,), handles=({},), output_bytes=64)),
        (
            REQUESTS,
            LoadModel(
                source="x = 1",
                init={"list": [{"float": "inf"}]},
                init_metas=(),
                state_metas=(META,),
                handles=({}, {"sizes": [1]}),
                state_names=("weight",),
                seed=1,
                copy_state=True,
                threads=2,
                step=StepPlan(inputs=(0,), parameters=("weight",), outputs=(0,)),
            ),
        ),
    ],
)
def test_what_is_sent_arrives(messages: Messages[Any], message: object) -> None:
    assert messages.decode(json.loads(json.dumps(messages.encode(message)))) == message


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ({}, "unknown message 'None'; `op` is one of noop, load, slot, call"),
        ({"op": "exec"}, "unknown message 'exec'"),
        ({"op": 3}, "unknown message '3'"),
        ({"op": ["call"]}, "unknown message"),
        ({"op": "call"}, "malformed message `call`: CallModel: .*slot"),
        ({"op": "call", "slot": "0"}, "malformed message `call`: CallModel.slot: expected int, got str"),
        ({"op": "call", "slot": True}, "expected int, got bool"),
        ({"op": "time", "slots": [0, None], "model": "plain"}, r"slots\[1\]: expected int"),
    ],
)
def test_what_is_no_message_is_refused_with_what_is_wrong(body: dict[str, Any], why: str) -> None:
    with pytest.raises(MessageError, match=why):
        REQUESTS.decode(body)
