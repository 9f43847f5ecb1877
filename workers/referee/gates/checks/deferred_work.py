"""Is all work of a call done within it? Work may be put off until the outputs are read, or hidden from the events."""

from __future__ import annotations

import statistics

from workers.ipc.tensors import flatten
from workers.referee.gates.finding import GateFinding, failed
from workers.referee.inputs.distributions import OWN
from workers.referee.timing.single_calls import Samples, timed_fetch
from workers.referee.trial import Measured, Trial

PUT_OFF_SHARE = 0.25
PUT_OFF_LEAST_S = 300e-6
SECOND_LOOK = 12
HIDDEN_SHARE = 0.3
HIDDEN_LEAST_S = 15e-6


def hides(samples: Samples) -> bool:
    """Whether the referee's clock saw more than the events did and a busy host explains."""
    return samples.hidden_s > max(HIDDEN_SHARE * statistics.median(samples.candidate), HIDDEN_LEAST_S)


def put_off(measured: Measured) -> GateFinding | None:
    """Work that happens while the outputs are read instead of within the call: the fastest read of each side counts."""
    samples = measured.samples
    if _put_off_s(samples) <= 0.0:
        return None
    extra = 1e6 * (min(samples.candidate_fetch) - min(samples.baseline_fetch))
    return failed(f"reading the outputs took {extra:.0f} µs longer than for the reference: work was put off")


def read_again(trial: Trial, measured: Measured) -> Measured:
    """The measurement, with more reads of both sides where the candidate's took longer: a busy machine delays single
    ones."""
    samples = measured.samples
    state = trial.state
    if _put_off_s(samples) <= 0.0 or state.is_large:  # the reference's outputs are not read there
        return measured
    arguments = trial.draw(measured.number, OWN)
    rival = trial.state.bench.side(measured.baseline, measured.number, arguments, trial.state.metas(measured.number))
    sides = ((trial.side(measured.number, arguments), samples.candidate_fetch), (rival, samples.baseline_fetch))
    for _ in range(SECOND_LOOK):
        for side, seen in sides:
            seen.append(timed_fetch(side, flatten(arguments)))
        if _put_off_s(samples) <= 0.0:
            break
    return measured


def _put_off_s(samples: Samples) -> float:
    """Seconds by which reading the outputs exceeds what is allowed; none in batches, whose time holds that."""
    if not (samples.candidate_fetch and samples.baseline_fetch):
        return 0.0
    call = statistics.median(samples.candidate)
    limit = max(PUT_OFF_LEAST_S, PUT_OFF_SHARE * call) + 0.5 * min(samples.baseline_fetch)
    return min(samples.candidate_fetch) - min(samples.baseline_fetch) - limit
