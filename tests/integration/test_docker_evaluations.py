"""Judging inside containers: verdicts are those of the process sandbox, and the machine's faults stay the machine's."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

import pytest
from docker.errors import APIError

from services.domain.evaluations import Verdict
from services.domain.gates import GateName, GateStatus
from tests.contracts.sandboxes import KeptDockerSandbox, docker_sandbox
from tests.docker_host import docker_address
from tests.integrity.conftest import SHEET
from tests.integrity.test_candidates import Declared, all_declared, explain, judge, request_for
from tests.selection import with_full
from workers.backends.cpp import CppBackend, runtime_view
from workers.evaluation.evaluator import Evaluator
from workers.sandboxes.docker.container_spec import WORKER
from workers.sandboxes.docker.sandbox import connect

pytestmark = pytest.mark.integration

EVERY = 20
"""One cheat in so many: all of them run in the process sandbox, and in containers by `tests.integrity.rates`."""


@pytest.fixture(scope="module")
def sandbox() -> KeptDockerSandbox:
    return docker_sandbox()


@pytest.fixture(scope="module")
def evaluator(sandbox: KeptDockerSandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Evaluator]:
    state = tmp_path_factory.mktemp("state")
    made = Evaluator(
        sandbox, {"cpp": CppBackend(sandbox, state)}, SHEET, views={"cpp": runtime_view}, memory_bytes=2 << 30
    )
    yield made
    made.close()


def some(folder: str, every: int) -> list[Declared]:
    """A candidate of every so many, spread over the problems."""
    return all_declared(folder)[::every]


CHEATS = some("cheats", EVERY)


@pytest.mark.parametrize("cheat", with_full(CHEATS, CHEATS[::2]), ids=lambda one: one.name)
def test_a_cheat_is_rejected_in_containers_too(evaluator: Evaluator, cheat: Declared) -> None:
    report = judge(evaluator, cheat)
    assert report.verdict is Verdict.REJECTED, explain(report)
    assert report.failed_gate is not None
    assert report.failed_gate.value in cheat.gates, explain(report)


@pytest.mark.parametrize("honest", some("honest", 40), ids=lambda one: one.name)
def test_an_honest_kernel_is_accepted_in_containers_too(evaluator: Evaluator, honest: Declared) -> None:
    report = judge(evaluator, honest)
    assert report.verdict is Verdict.ACCEPTED, explain(report)
    assert report.environment.isolation == "docker"


def test_containers_that_are_taken_away_are_no_fault_of_the_candidate(
    evaluator: Evaluator, sandbox: KeptDockerSandbox
) -> None:
    """As a daemon that goes down takes them: the verdict is the machine's, and the next evaluation works."""
    honest = all_declared("honest")[0]
    api = connect(docker_address())

    over = threading.Event()

    def take_away() -> None:
        while not over.wait(0.1):
            for entry in api.containers(filters={"label": f"{WORKER}={sandbox.worker}"}):
                with contextlib.suppress(APIError):
                    api.remove_container(entry["Id"], force=True)

    thief = threading.Thread(target=take_away)
    thief.start()
    try:
        report = evaluator.evaluate(request_for(honest))
    finally:
        over.set()
        thief.join()
        api.close()
    assert report.verdict is Verdict.INFRASTRUCTURE_ERROR, explain(report)
    assert not [gate for gate in report.gates if gate.status is GateStatus.FAILED and gate.name.value == "correctness"]
    later = [evaluator.evaluate(request_for(honest)) for _ in range(3)]  # a container may be on its way out at first
    works = {gate.name: gate.status for gate in later[-1].gates}
    # Whether its times are steady, on a machine that the other tests share, is not asked here.
    assert works[GateName.CORRECTNESS] is GateStatus.PASSED, explain(later[-1])
    assert all(one.failed_gate is not GateName.CORRECTNESS for one in later), [explain(one) for one in later]
