"""A referee and an importing module that say anything: the worker neither crashes, blocks nor believes them.

The sandbox is a double whose peers are threads."""

from __future__ import annotations

import contextlib
import dataclasses
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.domain.errors import InfrastructureError
from services.domain.tunables import Setting
from services.ports.devices import BuildResult
from services.ports.sandboxes import ExitStatus, Mount, SandboxLimits
from tests.integration.test_refereed import DONE, TERMS, Process, talk
from tests.integration.test_wire import patient
from workers.backends.cpp import CppBackend
from workers.evaluation.work import MAX_BUILDS, Work
from workers.ipc.messages import MessageError
from workers.ipc.wire import Channel, WireError
from workers.referee.boundary.requests import REPLIES, BaselinesMeasured, RefereeReply, RequestFailed

pytestmark = pytest.mark.integration

ASKS = (
    "begin_build",
    "build",
    "spawn",
    "kill",
    "exit",
    "cpu",
    "activity",
    "profile",
    "counters",
    "samples",
    "verdict",
    "",
    None,
)
SOUND = BuildResult(ok=True, messages="", artefacts=(), seconds=0.0)
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20)
    | st.sampled_from(["candidate", "baseline", "counted", "done", "\x00", "../../etc/passwd"])
)
values = st.recursive(
    scalars, lambda kids: st.lists(kids, max_size=3) | st.dictionaries(st.text(max_size=5), kids, max_size=3)
)
requests = st.fixed_dictionaries(
    {"ask": st.sampled_from(ASKS)},
    optional={
        "handle": values,
        "role": values,
        "seconds": values,
        "setting": values,
        "windows": values,
        "extra": values,
    },
)


def talked(peer: Callable[[Channel], object], limit_s: float = 60.0) -> RefereeReply:
    return talk(peer, Work(build=lambda _setting: SOUND), limit_s=limit_s)


@given(st.lists(requests, min_size=1, max_size=6))
@patient(60)
def test_whatever_a_referee_asks_is_answered_or_ends_it(wanted: list[dict[str, Any]]) -> None:
    def peer(channel: Channel) -> None:
        channel.receive(timeout_s=60.0)
        for body in wanted:
            channel.send(body)
            channel.receive(timeout_s=60.0).close()
        channel.send(DONE)

    assert isinstance(talked(peer), RequestFailed)


@given(st.binary(min_size=1, max_size=200))
@patient(40)
def test_bytes_that_are_no_message_end_the_referee(content: bytes) -> None:
    def peer(channel: Channel) -> None:
        channel.receive(timeout_s=60.0)
        channel.connection.sendall(b"\xff" + content)

    with pytest.raises(InfrastructureError, match="the referee is gone"):
        talked(peer)


def test_a_referee_that_floods_with_progress_is_stopped_at_its_time() -> None:
    def peer(channel: Channel) -> None:
        while True:
            channel.send({"ask": "progress", "what": "still here", "line": 1})

    with pytest.raises(InfrastructureError, match="did not answer in time"):
        talked(peer, limit_s=0.5)


def test_a_referee_that_floods_with_requests_is_stopped_at_its_time() -> None:
    def peer(channel: Channel) -> None:
        while True:
            channel.send({"ask": "begin_build"})
            channel.receive(timeout_s=60.0).close()

    with pytest.raises(InfrastructureError, match="did not answer in time"):
        talked(peer, limit_s=0.5)


def test_a_referee_that_does_not_read_is_stopped() -> None:
    def peer(channel: Channel) -> None:
        for _ in range(100_000):
            channel.send({"ask": "build"})

    impatient = dataclasses.replace(TERMS, answer_s=0.3)
    with pytest.raises(InfrastructureError):
        talk(peer, Work(build=lambda _setting: SOUND), 60.0, impatient)


def test_a_referee_cannot_have_a_candidate_built_without_end() -> None:
    built: list[Setting] = []
    answers: list[dict[str, Any]] = []

    def build(setting: Setting) -> BuildResult:
        built.append(setting)
        return SOUND

    def peer(channel: Channel) -> None:
        channel.receive(timeout_s=60.0)
        for number in range(MAX_BUILDS + 5):
            channel.send({"ask": "build", "setting": {"A": number}})
            answers.append(dict(channel.receive(timeout_s=60.0).body))
        channel.send(DONE)

    talk(peer, Work(build=build))
    assert len(built) == MAX_BUILDS
    assert [answer["answer"] for answer in answers[-5:]] == ["declined"] * 5


@given(values)
@patient(100)
def test_a_reply_that_does_not_fit_is_refused(sent: Any) -> None:
    with contextlib.suppress(MessageError):
        assert isinstance(REPLIES.decode({"reply": "baselines", "baselines": sent}), BaselinesMeasured)


class Importer:
    """A sandbox whose importing process is a thread."""

    isolation = "limits"

    def __init__(self, peer: Callable[[Channel], object]) -> None:
        self._peer = peer

    def fork(
        self, entry: str, limits: SandboxLimits, *, mounts: Sequence[Mount] = (), environment: Mapping[str, str] = {}
    ) -> Process:
        ours, theirs = socket.socketpair()
        threading.Thread(target=self._run, args=(theirs,), daemon=True).start()
        return Process(ours)

    def _run(self, connection: socket.socket) -> None:
        with connection:
            try:
                self._peer(Channel(connection))
            except WireError:
                return

    def run(
        self,
        command: Sequence[str],
        limits: SandboxLimits,
        *,
        directory: Path,
        mounts: Sequence[Mount] = (),
        environment: Mapping[str, str] = {},
    ) -> ExitStatus:
        (directory / "kernel.so").write_bytes(b"\x7fELF")
        return ExitStatus(code=0, signal=None, timed_out=False, out_of_memory=False, output="", output_cut=False)

    def dedicate(self, owner: str) -> None:
        return

    def close(self) -> None:
        return


compile_requests = st.fixed_dictionaries(
    {},
    optional={
        "compile": values,
        "flags": st.lists(values, max_size=3) | values,
        "language": st.sampled_from(["cpp", "cuda", "torch", "rust", None]),
        "done": st.just(True),
        "raised": values,
    },
)


@given(sent=st.lists(compile_requests, max_size=4))
@patient(40)
def test_whatever_an_imported_module_asks_for_gives_a_build_result(
    sent: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    def peer(channel: Channel) -> None:
        channel.receive(timeout_s=60.0)
        for body in sent:
            channel.send(body)
        channel.send({"done": True})

    backend = CppBackend(Importer(peer), tmp_path_factory.mktemp("cache"), import_s=60.0)
    result = backend.build("import kernelwright_rt")
    assert isinstance(result.ok, bool)


def test_a_module_that_asks_for_more_than_is_compiled_is_refused(tmp_path: Path) -> None:
    def peer(channel: Channel) -> None:
        channel.receive(timeout_s=60.0)
        channel.send({"reached": []})
        while True:
            channel.send({"compile": "x" * (3 << 20), "flags": [], "language": "cpp"})
            channel.receive(timeout_s=60.0).close()

    result = CppBackend(Importer(peer), tmp_path, import_s=60.0).build("import kernelwright_rt")
    assert not result.ok
    assert "MiB of sources" in result.messages
