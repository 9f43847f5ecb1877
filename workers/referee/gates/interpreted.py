"""Gates for Triton candidates where there is no GPU: the interpreter tells right from wrong, never fast from slow."""

from __future__ import annotations

from services.domain.gates import GateName
from workers.referee.gates.correctness import CorrectnessGate
from workers.referee.gates.generalization import GeneralizationGate
from workers.referee.gates.idleness import work_outside
from workers.referee.gates.integrity import library_work
from workers.referee.gates.load import LoadGate
from workers.referee.trial import GateFinding, Trial, passed, suspicious

CALL_LIMIT_S = 60.0
"""The interpreter runs one program of a grid after the other, each in Python."""
CORRECTNESS_SHARE = 0.4
"""Of the evaluation's time, after which no further values are drawn."""
SHAPES_SHARE = 0.6
"""The same for other shapes: what is under way may take as long again."""


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


class BriefCorrectnessGate(CorrectnessGate):
    """The correctness gate with as many draws as the interpreter has time for, one at least."""

    def suffices(self, trial: Trial) -> bool:
        """Whether the share of the time is used up."""
        return _used(trial) > CORRECTNESS_SHARE


class BriefGeneralizationGate(GeneralizationGate):
    """The generalization gate with as many derived shapes as the interpreter has time for, one at least."""

    def suffices(self, trial: Trial) -> bool:
        """Whether the share of the time is used up."""
        return _used(trial) > SHAPES_SHARE


def _used(trial: Trial) -> float:
    """The share of the evaluation's time that its calls have taken."""
    return 1 - trial.time_limit.left_s / trial.request.timeout_s


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
