"""How a call with a backward pass divides: forward calls alone, timed in turns with calls of both passes.

The backward has no call of its own: a graph serves one backward, and to time that alone is to time a graph that was
made beforehand. So it is what both passes take beyond the forward. Forward calls record the graph, and hand over as
many bytes as those of both passes, so that the protocol's own time is the same.

Everything is put in relation to the baseline's calls of both passes, which take turns with whatever is timed: a machine
that drifts between two measurements would otherwise make a pass longer or shorter than it is.
"""

from __future__ import annotations

import contextlib
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from services.domain.gates import GateName
from services.domain.measurements import BASELINES, Baselines, Passes, PassTimes
from workers.ipc.tensors import flatten
from workers.referee.comparison.tolerance import ErrorScale
from workers.referee.errors import RunnerFault
from workers.referee.gates.checks.calls import judge_outputs
from workers.referee.gates.finding import GateFinding, failed
from workers.referee.inputs.distributions import OWN, rebuilt
from workers.referee.timing import stopwatch
from workers.referee.timing.single_calls import Checked, Samples, SamplingBudget, Side
from workers.referee.timing.statistics import NoFigureError, is_told, median_and_gap
from workers.referee.trial import Measured, Trial
from workers.runner.session import FORWARD_OF

BUDGET = SamplingBudget(seconds=0.3)
POOL = 3
FORWARD_SLOT = 500_000


class WrongForwardError(Exception):
    """Forward calls alone return something else than those with a backward."""

    def __init__(self, finding: GateFinding) -> None:
        self.finding = finding
        super().__init__(finding.detail)


def times_of_passes(trial: Trial, measured: Measured, page: Baselines) -> Passes | None:
    """The passes' times on the first input set, which was measured; None where the problem has no backward pass, or one
    that takes no time that shows.

    `page` has the baselines as the report shows them. Raises `WrongForwardError`, and `RunnerFault` where the candidate
    fails."""
    state = trial.state
    if not state.problem.is_step:
        return None
    pool = [trial.draw(0, OWN) for _ in range(POOL)]
    rival = _rival(trial, measured.baseline, pool[0])
    own = replace(trial.side(0, pool[0]), model=f"{FORWARD_OF}plain")
    samples = _in_turns(trial, own, rival, pool, _checker(trial, pool[0]))
    try:
        candidate = _divided(
            _relative(measured.samples), _relative(samples), statistics.median(measured.samples.candidate) * 1e6
        )
    except NoFigureError as error:
        trial.notes.append(f"no separate times of forward and backward: {error}")
        return None
    return Passes(candidate=candidate, **{name: _of_baseline(trial, name, pool, page) for name in BASELINES})


def _of_baseline(trial: Trial, name: str, pool: list[list[Any]], page: Baselines) -> PassTimes | None:
    """A baseline's passes at the pace of its latency on the page; None where it has none, or fails now."""
    shown = getattr(page, name)
    if shown is None:
        return None
    try:
        rival = _rival(trial, name, pool[0])
        with _forward_alone(trial, rival, pool[0]) as forward:
            samples = _in_turns(trial, forward, rival, pool, lambda _checked: None)
    except RunnerFault:  # its process is started anew when it is next asked for
        trial.state.bench.restart()
        return None
    try:
        return _divided([1.0], _relative(samples), shown.median_us)
    except NoFigureError:
        return None


def _rival(trial: Trial, name: str, arguments: list[Any]) -> Side:
    side = trial.state.bench.side(name, 0, arguments, trial.state.metas(0))
    return replace(side, trusted=not trial.state.mutates)


@contextlib.contextmanager
def _forward_alone(trial: Trial, side: Side, arguments: list[Any]) -> Iterator[Side]:
    """The forward pass of a side, with a slot of its own: both are timed in one process."""
    slot = side.session.open_slot(FORWARD_SLOT, arguments, trial.state.metas(0))
    try:
        yield replace(side, slot=slot, model=f"{FORWARD_OF}{side.model}")
        side.session.forget([slot])
    finally:
        slot.close()


def _in_turns(
    trial: Trial, forward: Side, both: Side, pool: list[list[Any]], check: Callable[[Checked], None]
) -> Samples:
    state = trial.state
    values = state.values(0, [flatten(one) for one in pool], lambda: flatten(trial.draw(0, OWN)))
    return stopwatch.interleaved(forward, both, values, BUDGET, cost=state.bench.cost(both), check=check)


def _relative(samples: Samples) -> list[float]:
    """Calls over the baseline's paired ones. Raises `NoFigureError` where either take no time that shows."""
    if not (is_told(samples.candidate, samples.off) and is_told(samples.baseline, samples.off)):
        raise NoFigureError("its calls cannot be distinguished from calls that compute nothing")
    pairs = zip(samples.candidate, samples.baseline, strict=True)
    return [own / other for own, other in pairs if other > 0]


def _divided(both: Sequence[float], forward: Sequence[float], both_us: float) -> PassTimes:
    """The passes of a call that takes `both_us`, from what both passes and the forward take by one measure. Raises
    `NoFigureError`."""
    alone, gap = median_and_gap(both, forward)
    if gap.value <= 0:
        raise NoFigureError("the backward pass is too short to be measured next to the forward")
    unit = both_us / statistics.median(both)
    return PassTimes(
        forward_us=unit * alone.value,
        forward_ci95_us=(unit * alone.ci95[0], unit * alone.ci95[1]),
        backward_us=unit * gap.value,
        backward_ci95_us=(unit * gap.ci95[0], unit * gap.ci95[1]),
        both_us=both_us,
    )


def _checker(trial: Trial, like: list[Any]) -> Callable[[Checked], None]:
    """Outputs of forward calls have to be those of calls with both passes. In the gradients' places stand inputs and
    parameters, which lie where they are."""

    def check(checked: Checked) -> None:
        arguments = list(rebuilt(like, checked.inputs))
        answer = trial.state.problem.run_first_pass(arguments)
        own = len(answer.tensors) - len(trial.state.problem.gradient_names)
        scales = [*(trial.state.scales(0, OWN) or ())[:own], *[ErrorScale()] * (len(answer.tensors) - own)]
        outputs = tuple(
            replace(output, alias=None, shared=None) if index >= own else output
            for index, output in enumerate(checked.fetched.outputs)
        )
        fetched = replace(checked.fetched, outputs=outputs)
        finding = judge_outputs(trial, fetched, answer, scales, "a forward call without a backward")
        if finding is not None:
            raise WrongForwardError(failed(finding.detail, GateName.INTEGRITY))

    return check
