"""The load gate: the candidate's model is built and given the reference's parameters."""

from __future__ import annotations

from workers.referee.gates.finding import GateFinding, passed
from workers.referee.trial import Trial


def examine(trial: Trial) -> GateFinding:
    """Passes when the model is built; parameters are copied, else built under the reference's own seed."""
    if not trial.load():
        return passed("built; its parameters do not match the reference's, so it was built under the reference's seed")
    copied = len(trial.state.problem.state())
    if copied == 0:
        return passed("loaded")
    return passed(f"loaded; {copied} {'parameter or buffer' if copied == 1 else 'parameters and buffers'} copied")
