"""What the end of a referee says about the problem that it was reading."""

from __future__ import annotations

from services.domain.validations import ProblemRefusal
from services.ports.sandboxes import ExitStatus
from workers.judging.referee_process import RefereeLostError


def refusal_of(lost: RefereeLostError) -> ProblemRefusal | None:
    """A refusal when the problem's own code brought its referee down; None when the machine may have done it."""
    if lost.doing is None:
        return None
    what = lost.doing.what
    status: ExitStatus | None = lost.status
    if status is None:
        reason, remedy = f"{what} never ended", "Make it end, or make the problem smaller."
    elif status.out_of_memory:
        reason, remedy = f"{what} ran out of memory", "Make the problem smaller, or give workers more memory."
    elif status.exhaustion is not None:
        reason, remedy = f"{what}: its process {status.exhaustion}", "Start fewer threads, or write less."
    elif status.signal == 9 and not status.timed_out:
        return None
    else:
        end = f"exit code {status.code}" if status.signal is None else f"signal {status.signal}"
        reason, remedy = f"{what} ended its process ({end})", "Run the file with plain PyTorch and repair it."
    return ProblemRefusal(reason=reason, remedy=remedy, line=lost.doing.line)
