"""What the end of a referee says about the problem that it was reading."""

from __future__ import annotations

from services.domain.texts import visible
from services.domain.validations import ProblemRefusal
from workers.judging.referee_process import RefereeLostError
from workers.referee.problem.ending import refused_end


def refusal_of(lost: RefereeLostError) -> ProblemRefusal | None:
    """A refusal when the problem brought its referee down (its draws are too large); None when the machine may have
    done it."""
    if lost.doing is None:
        return None
    refused = refused_end(lost.status, visible(lost.doing.what), lost.doing.line)
    return None if refused is None else ProblemRefusal(reason=refused.reason, remedy=refused.remedy, line=refused.line)
