"""The seven gates in order, and which of them a quick look leaves out."""

from __future__ import annotations

from collections.abc import Callable

from services.domain.gates import GateName
from workers.referee.gates import compile as compile_gate
from workers.referee.gates import correctness, generalization, integrity, load, screen, timing
from workers.referee.gates.finding import GateFinding, suspicious
from workers.referee.trial import Mode, Trial

Gate = Callable[[Trial], GateFinding]
"""One examination. Raises `RunnerFault` when the candidate's process fails in it, which fails this gate."""

GATES: dict[GateName, Gate] = {
    GateName.SCREEN: screen.examine,
    GateName.COMPILE: compile_gate.examine,
    GateName.LOAD: load.examine,
    GateName.CORRECTNESS: correctness.examine,
    GateName.INTEGRITY: integrity.examine,
    GateName.GENERALIZATION: generalization.examine,
    GateName.TIMING: timing.examine,
}
"""The first failure ends the trial."""
NOT_IN_A_QUICK_LOOK = (GateName.INTEGRITY, GateName.GENERALIZATION)
"""Cheats are not looked for there, so nothing is accepted by it."""


def examine(name: GateName, trial: Trial) -> GateFinding:
    """What a gate finds, in the trial's mode."""
    if trial.mode is Mode.QUICK and name in NOT_IN_A_QUICK_LOOK:
        return suspicious("not examined: only a quick look was asked for")
    return GATES[name](trial)
