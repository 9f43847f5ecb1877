"""What a kernel makes of values whose mean is hundreds of standard deviations.

A variance that is summed in one pass has lost its digits then. Hardly a caller has such values, so it is a remark with
figures, provided that the reference itself keeps its digits.
"""

from __future__ import annotations

from workers.referee.costs.operator_costs import SUMMING
from workers.referee.errors import FaultKind, RunnerFault
from workers.referee.gates.checks.calls import try_values
from workers.referee.inputs.distributions import DISTANT
from workers.referee.inputs.transforms import DISPLACED
from workers.referee.trial import Trial

SLOT = 8000


def remark_on_distant_means(trial: Trial) -> str | None:
    """What is to be said of a kernel that is imprecise there; None where it is right, refuses, or nothing is known."""
    state = trial.state
    if not state.names & SUMMING or (scales := state.scales(0, DISTANT)) is None:
        return None
    arguments = trial.draw(0, DISTANT)
    try:
        finding = try_values(trial, arguments, SLOT, "there", DISTANT, scales=scales)
    except RunnerFault as fault:
        if fault.kind is FaultKind.RAISED:
            return None
        raise
    if finding is None:
        return None
    detail = finding.detail.removeprefix("there: ")
    return f"imprecise where a mean is {DISPLACED:.0f} standard deviations, and the reference is not: {detail}"
