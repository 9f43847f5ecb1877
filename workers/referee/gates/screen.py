"""The screen gate: rules that the source is read by. Nothing of the candidate runs."""

from __future__ import annotations

from collections.abc import Sequence

from workers.referee.gates.finding import GateFinding, failed, passed, suspicious
from workers.referee.screen.rules import Remark
from workers.referee.screen.screen import screen
from workers.referee.trial import Trial

MAX_REMARKS = 8


def examine(trial: Trial) -> GateFinding:
    """Source rules. Fails on evidence; hints make suspicious."""
    problem = trial.state.problem
    remarks = screen(trial.request.source, problem.library, backward=problem.is_step)
    return judged(remarks) or passed("no rule is broken")


def judged(remarks: Sequence[Remark]) -> GateFinding | None:
    """What remarks come to, those that are evidence being first; None where there are none."""
    if not remarks:
        return None
    text = "; ".join(str(remark) for remark in remarks[:MAX_REMARKS])
    return failed(text) if remarks[0].hard else suspicious(text)
