"""Gates for Triton candidates where there is no GPU: the interpreter tells right from wrong, never fast from slow."""

from __future__ import annotations

from services.domain.evaluations import GateName
from workers.referee.gates.idleness import work_outside
from workers.referee.gates.integrity import library_work
from workers.referee.gates.load import LoadGate
from workers.referee.trial import GateFinding, Trial, passed, suspicious

CALL_LIMIT_S = 60.0
"""The interpreter runs one program of a grid after the other, each in Python."""


def is_interpreted(trial: Trial) -> bool:
    """Whether the candidate's kernels run in Triton's interpreter."""
    return trial.request.backend == "triton" and not trial.state.place.is_gpu


class PatientLoadGate(LoadGate):
    """The load gate, with more time for every call after it."""

    def examine(self, trial: Trial) -> GateFinding:
        """As the load gate."""
        finding = super().examine(trial)
        trial.session.call_limit_s = CALL_LIMIT_S
        return finding


class UntimedIntegrityGate:
    """What can be said of integrity without timing anything."""

    name = GateName.INTEGRITY

    def examine(self, trial: Trial) -> GateFinding:
        """Fails on evidence."""
        found = library_work(trial) or work_outside(trial)
        return found or passed("inputs untouched, the work is the candidate's own; timed calls were not looked at")


class NotTimedGate:
    """Says why there are no figures."""

    name = GateName.TIMING

    def examine(self, trial: Trial) -> GateFinding:  # noqa: ARG002 - the gates' one interface
        """Always a hint: a candidate without figures must not count as best."""
        return suspicious("run by Triton's interpreter on the CPU: checked, not timed. Judge it on a GPU for figures")
