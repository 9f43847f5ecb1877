"""The worker's end of a referee that is honest, gone or hostile; the sandbox is a double whose peer is a thread."""

import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from services.domain.errors import InfrastructureError
from services.domain.events import JsonValue
from services.domain.tunables import Setting
from services.ports.devices import BuildResult
from services.ports.sandboxes import ExitStatus, Mount, SandboxLimits
from workers.devices.gpu_lock import DeviceLock
from workers.evaluation.referee_process import RefereeLostError, RefereeProcess
from workers.evaluation.runners import MAX_RUNNERS
from workers.evaluation.terms import Terms
from workers.evaluation.work import CancelledError, Work
from workers.ipc.wire import Channel, WireError
from workers.profilers.perf_counters import PerfProfiler
from workers.referee.boundary.requests import REPLIES, DraftCandidate, ProfileModel, RefereeReply, RequestFailed
from workers.referee.boundary.worker_messages import ANSWERS, RunnerEnd

pytestmark = pytest.mark.integration

LIMITS = SandboxLimits()
TERMS = Terms(referee=LIMITS, runner=LIMITS, baseline=LIMITS, environment={"A": "1"})
END = RequestFailed(reason="enough")
DONE = REPLIES.encode(END)
ENDED = ExitStatus(code=7, signal=None, timed_out=False, out_of_memory=False, output="bye", output_cut=False)


class Process:
    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self.killed = False

    @property
    def socket(self) -> socket.socket:
        return self._connection

    def kill(self) -> None:
        self.killed = True

    def wait(self, timeout_s: float | None = None) -> ExitStatus | None:
        return ENDED


class PeerSandbox:
    """Every fork of the referee's entry runs `peer` in a thread; other entries get a silent socket."""

    isolation = "limits"

    def __init__(self, peer: Callable[[Channel], object]) -> None:
        self._peer = peer
        self.forked: list[tuple[str, Process, Mapping[str, str]]] = []
        self._kept: list[socket.socket] = []

    def fork(
        self, entry: str, limits: SandboxLimits, *, mounts: Sequence[Mount] = (), environment: Mapping[str, str] = {}
    ) -> Process:
        ours, theirs = socket.socketpair()
        process = Process(ours)
        self.forked.append((entry, process, environment))
        if entry.startswith("workers.referee.server"):
            threading.Thread(target=self._run, args=(theirs,), daemon=True).start()
        else:
            self._kept.append(theirs)
        return process

    def run(
        self,
        command: Sequence[str],
        limits: SandboxLimits,
        *,
        directory: object,
        mounts: Sequence[Mount] = (),
        environment: Mapping[str, str] = {},
    ) -> ExitStatus:
        return ENDED

    def dedicate(self, owner: str) -> None:
        pass

    def close(self) -> None:
        for connection in self._kept:
            connection.close()

    def _run(self, connection: socket.socket) -> None:
        with connection:
            try:
                self._peer(Channel(connection))
            except (WireError, ConnectionError):
                return


def talk(
    peer: Callable[[Channel], object], work: Work | None = None, limit_s: float = 60.0, terms: Terms = TERMS
) -> RefereeReply:
    sandbox = PeerSandbox(peer)
    process = RefereeProcess(sandbox, terms, PerfProfiler("no-such-perf"))
    try:
        return process.ask(DraftCandidate(), work or Work(), limit_s=limit_s)
    finally:
        process.close()
        sandbox.close()


def test_requests_are_served_until_the_answer() -> None:
    seen = []

    def peer(channel: Channel) -> None:
        channel.receive(timeout_s=60.0)
        channel.send({"ask": "build"})
        seen.append(dict(channel.receive(timeout_s=60.0).body))
        channel.send({"ask": "spawn", "role": "candidate"})
        answer = channel.receive(timeout_s=60.0)
        seen.append({"descriptors": len(answer.descriptors), "handle": answer.body["handle"]})
        answer.close()
        channel.send({"ask": "exit", "handle": answer.body["handle"]})
        seen.append(dict(channel.receive(timeout_s=60.0).body))
        channel.send(DONE)

    built = BuildResult(ok=True, messages="fine", artefacts=(), seconds=0.1)
    assert talk(peer, Work(build=lambda _setting: built, view=lambda _built: ((), {"B": "2"}))) == END
    assert seen[0]["ok"] is True
    assert seen[1] == {"descriptors": 1, "handle": 1}
    assert seen[2] == ANSWERS.encode(RunnerEnd(status=ENDED))


def test_a_toolchain_that_breaks_is_told_to_the_referee_not_raised() -> None:
    seen = []

    def broken(_setting: Setting) -> BuildResult:
        raise InfrastructureError("g++ is gone")

    def peer(channel: Channel) -> None:
        channel.receive(timeout_s=60.0)
        channel.send({"ask": "build"})
        seen.append(dict(channel.receive(timeout_s=60.0).body))
        channel.send(DONE)

    talk(peer, Work(build=broken))
    assert seen == [{"answer": "declined", "error": "g++ is gone"}]


@pytest.mark.parametrize(
    ("request_body", "why"),
    [
        ({"ask": "shell"}, "unknown message 'shell'"),
        ({"ask": ["kill"]}, "unknown message"),
        ({"ask": "kill", "handle": 99}, "no runner 99"),
        ({"ask": "cpu"}, "malformed message `cpu`"),
        ({"ask": "cpu", "handle": "1"}, "handle: expected int"),
        ({"ask": "sampling", "handle": 1, "on": "yes"}, "on: expected bool"),
        ({"ask": "spawn", "role": "root"}, "role 'root'"),
        ({}, "unknown message"),
    ],
)
def test_a_request_that_makes_no_sense_is_refused_and_the_worker_lives_on(
    request_body: dict[str, JsonValue], why: str
) -> None:
    seen = []

    def peer(channel: Channel) -> None:
        channel.receive(timeout_s=60.0)
        channel.send(request_body)
        seen.append(channel.receive(timeout_s=60.0).body)
        channel.send(DONE)

    talk(peer)
    assert seen[0]["answer"] == "declined"
    assert why in str(seen[0]["error"])


def test_a_referee_cannot_fill_the_machine_with_runners() -> None:
    answers = []

    def peer(channel: Channel) -> None:
        channel.receive(timeout_s=60.0)
        for _ in range(MAX_RUNNERS + 1):
            channel.send({"ask": "spawn", "role": "baseline"})
            answer = channel.receive(timeout_s=60.0)
            answer.close()
            answers.append(answer.body["answer"])
        channel.send(DONE)

    talk(peer)
    assert answers == ["spawned"] * MAX_RUNNERS + ["declined"]


def test_a_referee_that_hangs_up_is_lost_with_its_exit_and_what_it_was_doing() -> None:
    def peer(channel: Channel) -> None:
        channel.receive(timeout_s=60.0)
        channel.send({"ask": "progress", "what": "get_inputs", "line": 4})

    with pytest.raises(RefereeLostError) as caught:
        talk(peer)
    assert caught.value.status == ENDED
    assert caught.value.doing is not None
    assert caught.value.doing.line == 4


@pytest.mark.parametrize(
    "reply", [{"reply": "verdict"}, {"reply": "evaluated", "report": {}}, {"reply": "failed"}, {"reply": None}]
)
def test_a_reply_that_is_none_is_refused(reply: dict[str, JsonValue]) -> None:
    def peer(channel: Channel) -> None:
        channel.receive(timeout_s=60.0)
        channel.send(reply)

    with pytest.raises(InfrastructureError, match=r"something else than was asked for: (unknown|malformed) message"):
        talk(peer)


def test_a_referee_that_sends_noise_is_lost() -> None:
    def peer(channel: Channel) -> None:
        channel.receive(timeout_s=60.0)
        channel.connection.sendall(b"\xff" * 64)
        channel.connection.recv(1)

    with pytest.raises(RefereeLostError):
        talk(peer)


def test_a_silent_referee_is_given_up_and_a_cancelled_one_left() -> None:
    def peer(channel: Channel) -> None:
        channel.receive(timeout_s=60.0)
        channel.receive(timeout_s=60.0)

    with pytest.raises(RefereeLostError, match="in time"):
        talk(peer, limit_s=0.3)
    with pytest.raises(CancelledError):
        talk(peer, Work(cancelled=lambda: True))


def test_candidates_end_with_their_conversation_and_baselines_stay() -> None:
    def peer(channel: Channel) -> None:
        channel.receive(timeout_s=60.0)
        for role in ("candidate", "baseline"):
            channel.send({"ask": "spawn", "role": role})
            channel.receive(timeout_s=60.0).close()
        channel.send(DONE)

    sandbox = PeerSandbox(peer)
    process = RefereeProcess(sandbox, TERMS, PerfProfiler("no-such-perf"))
    process.ask(DraftCandidate(), Work(), limit_s=60.0)
    _, candidate, baseline = (forked for _, forked, _ in sandbox.forked)
    assert (candidate.killed, baseline.killed) == (True, False)
    process.close()
    assert [one.killed for _, one, _ in sandbox.forked] == [True, True, True]
    sandbox.close()


def test_a_referee_has_the_device_from_asking_for_it_until_its_answer(tmp_path: Path) -> None:
    lock, other = DeviceLock(tmp_path / "gpu.lock"), DeviceLock(tmp_path / "gpu.lock")
    seen: list[object] = []

    def peer(channel: Channel) -> None:
        channel.receive(timeout_s=60.0)
        seen.append(other.acquire(lambda: True) is None)
        other.release()
        channel.send({"ask": "hold"})
        seen.append(channel.receive(timeout_s=60.0).body["waited_s"])
        seen.append(other.acquire(lambda: True) is None)
        channel.send(DONE)

    sandbox = PeerSandbox(peer)
    process = RefereeProcess(sandbox, TERMS, PerfProfiler("no-such-perf"), lock)
    process.ask(DraftCandidate(), Work(), limit_s=60.0)
    assert seen[0] is False
    assert isinstance(seen[1], float)
    assert seen[2] is True
    assert other.acquire(lambda: True) is not None
    other.release()
    process.close()
    sandbox.close()


def test_waiting_for_a_device_can_be_cancelled(tmp_path: Path) -> None:
    other = DeviceLock(tmp_path / "gpu.lock")
    other.acquire()
    sandbox = PeerSandbox(lambda channel: channel.receive(timeout_s=60.0))
    process = RefereeProcess(sandbox, TERMS, PerfProfiler("no-such-perf"), DeviceLock(tmp_path / "gpu.lock"))
    with pytest.raises(CancelledError):
        process.ask(ProfileModel(), Work(cancelled=lambda: True), limit_s=60.0)
    process.close()
    sandbox.close()
    other.release()
