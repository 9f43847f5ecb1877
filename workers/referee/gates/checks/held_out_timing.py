"""Times on held-out input sets: does a kernel that wins on the announced ones win there too?"""

from __future__ import annotations

from services.domain.evaluations import HeldOutResult
from workers.referee.gates.checks.figures import shape_result
from workers.referee.gates.checks.measurement import CheatFoundError, measured_steadily
from workers.referee.gates.finding import GateFinding
from workers.referee.timing.statistics import NoFigureError, is_stable
from workers.referee.trial import Trial


def time_held_out(trial: Trial) -> GateFinding | None:
    """Time the candidate in turns with the fastest baseline on held-out input sets, where that was asked for.

    Leaves the figures with the trial; the objective says what follows from them. What is found against the candidate
    meanwhile is returned."""
    for number in trial.timed_held_out:
        try:
            with trial.phase("timing"):
                measured = measured_steadily(trial, number)
        except CheatFoundError as found:
            return found.finding
        finally:
            trial.close_slot(number)
        if not is_stable(measured.samples.candidate):
            trial.notes.append(f"no stable measurement on held-out input set {-number}")
            continue
        try:
            result = shape_result(measured, trial.state.bench.known(number))
        except NoFigureError as error:
            trial.notes.append(f"no figure on held-out input set {-number}: {error}")
            continue
        trial.held_out.append(HeldOutResult(number=-number, latency=result.latency, speedup=result.speedup))
    return None
