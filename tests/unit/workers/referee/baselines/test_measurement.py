"""What fails in the baselines' process is no candidate's doing, and what it takes is not of a candidate's time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest
import torch

from services.domain.errors import InfrastructureError
from services.domain.gates import GateName, GateStatus
from services.domain.measurements import Baselines
from tests.doubles.builders import a_latency
from tests.threaded_baselines import Link, a_bench, asked
from tests.unit.workers.referee.trials import a_trial
from workers.ipc.tensors import TensorMeta
from workers.referee.baselines.measurement import BaselineBench
from workers.referee.errors import FaultKind, RunnerFault
from workers.referee.evaluation import _run
from workers.referee.gates.order import GATES

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
    link.started[0].time_limit.left_s = -1.0
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


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Has some process fail in the integrity gate."""

    def fails(kind: FaultKind, *, of_baseline: bool) -> None:
        fault = RunnerFault(kind, "it ended")
        fault.of_baseline = of_baseline

        def examine(_trial: object) -> NoReturn:
            raise fault

        monkeypatch.setitem(GATES, GateName.INTEGRITY, examine)

    return fails


def on_trial(slowdown: float = 1.0) -> Any:
    restarts: list[None] = []
    state = SimpleNamespace(
        care=SimpleNamespace(doubtful=False),
        bench=SimpleNamespace(
            restart=lambda: restarts.append(None), restarts=restarts, slowdown=lambda *_given: slowdown
        ),
        place=SimpleNamespace(is_gpu=False),
        draw=lambda *_given: [],
        metas=lambda _number: [],
    )
    return a_trial(state=state)


@pytest.mark.parametrize("kind", [FaultKind.CRASHED, FaultKind.HUNG, FaultKind.RAISED, FaultKind.FORGED])
def test_nobody_is_blamed_for_a_baseline_that_fails(kind: FaultKind, failing: Callable[..., None]) -> None:
    trial = on_trial()
    failing(kind, of_baseline=True)
    with pytest.raises(InfrastructureError, match="the baselines' process failed: it ended"):
        _run(GateName.INTEGRITY, trial)
    assert len(trial.state.bench.restarts) == 1


def test_a_candidate_is_blamed_for_its_own_process_and_for_memory_that_it_took(failing: Callable[..., None]) -> None:
    trial = on_trial()
    for kind, of_baseline in ((FaultKind.CRASHED, False), (FaultKind.HUNG, False), (FaultKind.MEMORY, True)):
        failing(kind, of_baseline=of_baseline)
        assert [one.status for one in _run(GateName.INTEGRITY, trial)] == [GateStatus.FAILED]
    assert len(trial.state.bench.restarts) == 1


def test_nobody_is_blamed_for_a_time_out_where_the_reference_is_late_as_well(failing: Callable[..., None]) -> None:
    failing(FaultKind.HUNG, of_baseline=False)
    with pytest.raises(InfrastructureError, match=r"too busy: it ended, and the reference takes 4\.0 times as long"):
        _run(GateName.INTEGRITY, on_trial(slowdown=4.0))


def test_a_card_whose_clocks_have_fallen_is_measured_again(failing: Callable[..., None]) -> None:
    trial = on_trial()
    trial.state.place.is_gpu, paces = True, iter([4.0, 1.0])
    trial.state.bench.slowdown = lambda *_given: next(paces)
    failing(FaultKind.HUNG, of_baseline=False)
    assert [one.status for one in _run(GateName.INTEGRITY, trial)] == [GateStatus.FAILED]


def test_the_reference_s_pace_is_that_of_its_first_measurement(link: Link) -> None:
    bench, arguments, metas = a_ready_bench(link)
    assert bench.slowdown(arguments, metas) == 0.0  # nothing is known
    bench.baselines = Baselines(eager=a_latency(1e-3))
    assert bench.slowdown(arguments, metas) > 3.0
    bench.baselines = Baselines(eager=a_latency(1e9))
    assert bench.slowdown(arguments, metas) < 1.0


def test_a_figure_that_was_taken_on_a_busy_machine_does_not_replace_an_earlier_one(link: Link) -> None:
    bench, arguments, metas = a_ready_bench(link)
    measured = (bench.ensure(("eager",), arguments, metas).eager for _ in range(20))  # a busy moment gives no figure
    assert any(measured)
    bench.baselines = Baselines(eager=a_latency(1e9))
    assert bench.slowdown(arguments, metas) > 1e-3
