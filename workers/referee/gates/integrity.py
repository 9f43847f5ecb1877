"""The integrity gate: is the work done by the candidate's own kernel, within the call, on every call?"""

from __future__ import annotations

import statistics
import time

from workers.referee.costs.roofline import cheating_floor_s
from workers.referee.gates.checks.attribution import foreign_time, library_work, sampling, seen_time, still_right
from workers.referee.gates.checks.background_work import still_working, work_outside
from workers.referee.gates.checks.deferred_work import HIDDEN_LEAST_S, HIDDEN_SHARE, hides, put_off
from workers.referee.gates.checks.measurement import CheatFoundError, measure, measured_steadily
from workers.referee.gates.checks.memoization import remembered
from workers.referee.gates.checks.output_lifetime import called_on, changed_later
from workers.referee.gates.checks.stream_sync import late_streams
from workers.referee.gates.finding import GateFinding, passed, suspicious
from workers.referee.timing.statistics import is_told
from workers.referee.trial import Measured, Mode, Trial

PUT_OFF_SETS = 0.25
"""Share of many input sets on which reading the outputs must take longer to be evidence. On a busy machine it does on
one of forty by chance; a long read counts as part of the call in any case, so putting work off gains nothing there."""
CLOCK_SHARE = 0.5
CLOCK_LEAST_S = 500e-6


def examine(trial: Trial) -> GateFinding:
    """Judges what ran, times the calls while watching them, and looks for work outside of them. Fails on evidence,
    suspects where figures are too good."""
    evidence = library_work(trial) or work_outside(trial)
    if evidence is not None:
        return evidence
    if trial.mode is Mode.INTERPRETED:
        return passed("inputs untouched, the work is the candidate's own; timed calls were not looked at")
    timed_from = time.perf_counter()
    evidence = _timed(trial)
    if evidence is not None:
        return evidence
    if trial.state.is_large:
        trial.timed.clear()
        trial.state.bench.rest()
    trial.seen_time = seen_time(trial, timed_from)
    return (
        called_on(trial)
        or changed_later(trial)
        or late_streams(trial)
        or _foreign_time(trial)
        or still_working(trial)
        or _too_good(trial)
        or passed(f"inputs untouched, work done within each call, outputs of timed calls right{_unseen(trial)}")
    )


def _timed(trial: Trial) -> GateFinding | None:
    """Time every open input set; the evidence that was found meanwhile."""
    deferred: list[GateFinding] = []
    for number in trial.state.set_numbers:
        try:
            with trial.phase("timing"):
                sampling(trial, on=False)
                measured = measured_steadily(trial, number)
            trial.measured.append(measured)
            if number == 0 and is_told(measured.samples.baseline, measured.samples.off):
                trial.state.bench.observe(measured.baseline, statistics.median(measured.samples.baseline))
            one_of_many = number != 0 and trial.state.is_one_of_many
            found = put_off(measured)
            deferred += [found] if found is not None and one_of_many else []
            evidence = still_right(trial, number) or (None if one_of_many else found) or _remembered(trial, measured)
        except CheatFoundError as cheat:
            return cheat.finding
        if evidence is None and len(deferred) > PUT_OFF_SETS * len(trial.state.set_numbers):
            evidence = deferred[0]
        if evidence is not None:
            return evidence
        if one_of_many:
            trial.close_slot(number)
            trial.state.bench.release(number)
    return None


def _foreign_time(trial: Trial) -> GateFinding | None:
    return None if trial.seen_time is None else foreign_time(trial.seen_time, trial.state.problem.library)


def _unseen(trial: Trial) -> str:
    """What the gate could not see here, as the end of its sentence."""
    why = "" if trial.seen_time is None else trial.seen_time.whole_life.why
    return f"; NOT SEEN: whose code did the work, since this machine does not permit sampling ({why})" if why else ""


def _remembered(trial: Trial, measured: Measured) -> GateFinding | None:
    """Slower on values that it cannot have seen: results of earlier calls are used."""

    def again() -> Measured:
        with trial.phase("timing"):
            return measure(trial, measured.number)

    return remembered(measured, again)


def _too_good(trial: Trial) -> GateFinding | None:
    first = trial.measured[0].samples
    call = statistics.median(first.candidate)
    floor = cheating_floor_s(trial.state.analysis, trial.state.device)
    if call < floor:
        return suspicious(f"a call takes {1e6 * call:.1f} µs, below {1e6 * floor:.1f} µs that the hardware needs")
    if first.overclaimed_s > max(HIDDEN_SHARE * call, HIDDEN_LEAST_S):
        return suspicious(
            f"the events claim {1e6 * first.overclaimed_s:.0f} µs a call more than the referee's clock saw: they are "
            f"not those of the calls"
        )
    if hides(first):
        return suspicious(
            f"the referee's clock saw {1e6 * first.hidden_s:.0f} µs a call beyond the {1e6 * call:.0f} µs of the events"
        )
    if first.batched:  # the runner's clock is asked of single calls only
        return None
    disagreement = min(abs(claimed - own) for claimed, own in zip(first.claimed, first.candidate, strict=True))
    if disagreement > max(CLOCK_SHARE * call, CLOCK_LEAST_S):
        return suspicious(f"the runner's clock and the referee's never agree better than {1e6 * disagreement:.0f} µs")
    return None
