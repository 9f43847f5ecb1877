"""What fails in the baselines' process is no candidate's doing, and what it takes is not of a candidate's time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from services.domain.errors import InfrastructureError
from services.domain.gates import GateName, GateStatus
from tests.threaded_baselines import Link, a_bench, asked
from workers.ipc.tensors import TensorMeta
from workers.referee.baselines.bench import BaselineBench
from workers.referee.comparing.output_errors import ErrorLog
from workers.referee.errors import FaultKind, RunnerFault
from workers.referee.evaluation import _run
from workers.referee.gates import integrity

SOURCE = """import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return 2 * x

def get_inputs():
    return [torch.rand(8)]
"""


@pytest.fixture
def link() -> Iterator[Link]:
    yield (found := Link())
    found.close()


def a_ready_bench(link: Link) -> tuple[BaselineBench, list[Any], list[TensorMeta]]:
    bench, state = a_bench(link, SOURCE)
    return bench, *asked(state)


@pytest.mark.parametrize("given_back", [BaselineBench.rest, lambda bench: bench.release(0)])
def test_a_baseline_that_has_not_been_asked_for_long_gives_memory_back_and_goes_on(
    link: Link, given_back: Callable[[BaselineBench], None]
) -> None:
    bench, arguments, metas = a_ready_bench(link)
    bench.side("eager", 0, arguments, metas)
    link.started[0].deadline = time.monotonic() - 1.0
    given_back(bench)
    side = bench.side("eager", 0, arguments, metas)
    side.session.call(side.slot)
    fetched = side.session.fetch(side.slot).outputs[0].value
    assert fetched is not None
    assert torch.equal(fetched, 2 * arguments[0])
    assert len(link.started) == 1


def test_a_fault_of_the_baselines_says_so(link: Link) -> None:
    bench, arguments, metas = a_ready_bench(link)
    side = bench.side("eager", 0, arguments, metas)
    for is_baseline in (False, True):
        side.session.is_baseline = is_baseline
        with pytest.raises(RunnerFault) as caught:
            side.session.call(side.slot, "no such model")
        assert caught.value.of_baseline is is_baseline


class Failing:
    """A gate in which some process fails."""

    name = GateName.INTEGRITY

    def __init__(self, kind: FaultKind, *, of_baseline: bool) -> None:
        self._fault = RunnerFault(kind, "it ended")
        self._fault.of_baseline = of_baseline

    def examine(self, _trial: object) -> Any:
        raise self._fault


def a_trial() -> Any:
    restarts: list[None] = []
    state = SimpleNamespace(
        care=SimpleNamespace(doubtful=False),
        bench=SimpleNamespace(restart=lambda: restarts.append(None), restarts=restarts),
        place=SimpleNamespace(is_gpu=False),
    )
    return SimpleNamespace(state=state, phases={}, errors=ErrorLog(), tuned=None)


@pytest.mark.parametrize("kind", [FaultKind.CRASHED, FaultKind.HUNG, FaultKind.RAISED, FaultKind.FORGED])
def test_nobody_is_blamed_for_a_baseline_that_fails(kind: FaultKind) -> None:
    trial = a_trial()
    with pytest.raises(InfrastructureError, match="the baselines' process failed: it ended"):
        _run(Failing(kind, of_baseline=True), trial)
    assert len(trial.state.bench.restarts) == 1


def test_a_candidate_is_blamed_for_its_own_process_and_for_memory_that_it_took() -> None:
    trial = a_trial()
    for kind, of_baseline in ((FaultKind.CRASHED, False), (FaultKind.MEMORY, True)):
        assert [one.status for one in _run(Failing(kind, of_baseline=of_baseline), trial)] == [GateStatus.FAILED]
    assert len(trial.state.bench.restarts) == 1


def test_starting_and_compiling_a_baseline_takes_nothing_of_a_candidate_s_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(integrity, "time", SimpleNamespace(monotonic=lambda: now[0]))

    def side(*_given: object) -> str:
        now[0] += 300.0
        return "reference"

    trial: Any = SimpleNamespace(
        state=SimpleNamespace(bench=SimpleNamespace(side=side), metas=lambda _number: []),
        deadline=110.0,
        runner=object(),
        session=SimpleNamespace(deadline=110.0),
    )
    integrity._rival(trial, "compile", 0, [])
    assert trial.deadline == 410.0
    assert trial.session.deadline == 410.0
