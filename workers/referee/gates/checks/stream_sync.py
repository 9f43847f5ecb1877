"""Is work on other streams joined with the caller's? Half of it may be done in time by luck, unnoticed.

Three looks. The inputs of a call arrive late: what did not wait for them computes from older ones. Then every other
stream of torch's is held up besides: what is not joined comes too late. The output shows both. At last CUDA is asked
to record the call as a graph: it knows all dependencies, of streams that are not torch's too, and refuses forks that
are never joined.
"""

from __future__ import annotations

import statistics

from services.domain.gates import GateName, GateResult, GateStatus
from workers.ipc.tensors import flatten
from workers.referee.errors import RunnerFault
from workers.referee.gates.checks.calls import judge_outputs
from workers.referee.gates.finding import GateFinding, failed
from workers.referee.inputs.distributions import OWN
from workers.referee.trial import Trial

SOURCE_SLOT = 900_000
LEAST_DELAY_S = 5e-3
MOST_DELAY_S = 0.25
CALLS = 2
"""The delay lasts so many calls."""
LOOKS = {
    False: "some work does not wait for the inputs, which came late in the order of the stream",
    True: "work on another stream is not joined: with that stream held up",
}


def late_streams(trial: Trial) -> GateFinding | None:
    """A call with late inputs, or with other streams held up, gives a wrong output."""
    if not trial.state.place.is_gpu:
        return None
    arguments = trial.draw(0, OWN)
    expected = trial.state.expected(arguments)
    slot = trial.slot(0, arguments)
    source = trial.session.open_sibling(slot, SOURCE_SLOT)
    try:
        source.write(flatten(arguments))
        del arguments  # they may be large
        for hold, where in LOOKS.items():
            slot.write(flatten(trial.draw(0, OWN)))
            trial.session.look(slot, source, _delay_s(trial), hold=hold)
            scales = trial.state.scales(0, OWN) or ()
            finding = judge_outputs(trial, trial.session.fetch(slot), expected, scales, where)
            if finding is not None:
                return failed(finding.detail, GateName.INTEGRITY)
        trial.session.forget([source])
    finally:
        source.inputs.close()
    return None


def unjoined_forks(trial: Trial) -> list[GateResult]:
    """A hint where CUDA refuses to record a call because of a fork that is never joined. Ends the runner's use."""
    if not trial.state.place.is_gpu or trial.runner is None:
        return []
    try:
        arguments = trial.draw(0, OWN)
        slot = trial.slot(0, arguments)
        slot.write(flatten(arguments))
        del arguments
        said = trial.session.capture(slot)
    except RunnerFault:  # a call that cannot be recorded may end anyhow
        return []
    if "unjoined" not in said:
        return []
    detail = f"work on another stream is never joined: CUDA does not record the call as a graph ({said[:200]})"
    return [GateResult(name=GateName.INTEGRITY, status=GateStatus.SUSPICIOUS, detail=detail, seconds=0.0)]


def _delay_s(trial: Trial) -> float:
    typical = statistics.median(trial.measured[0].samples.candidate) if trial.measured else 0.0
    return min(MOST_DELAY_S, max(LEAST_DELAY_S, CALLS * typical))
