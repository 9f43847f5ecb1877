"""What the end of a referee says about the problem that it was reading."""

from __future__ import annotations

from services.domain.texts import visible
from services.domain.validations import ProblemRefusal
from workers.judging.referee_process import RefereeLostError
from workers.referee.boundary.problem_end import refused_end


def refusal_of(lost: RefereeLostError, limit_s: float) -> ProblemRefusal | None:
    """A refusal when the problem brought its referee down (its draws are too large), or took all of the `limit_s`
    seconds; None when the machine may have done it."""
    if lost.doing is not None:
        what, line = visible(lost.doing.what), lost.doing.line
    elif lost.status is not None and lost.status.out_of_memory:
        what, line = "judging it", None
    else:
        return None
    if lost.status is None:
        reason = f"validating it did not end within {limit_s:.0f} s; the last step was {what}"
        remedy = "Make the problem smaller, or give it fewer input sets."
        return ProblemRefusal(reason=reason, remedy=remedy, line=line)
    refused = refused_end(lost.status, what, line)
    return None if refused is None else ProblemRefusal(reason=refused.reason, remedy=refused.remedy, line=refused.line)
