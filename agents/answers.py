"""Whether a text from outside answers an agent's request, by the same parsers that read a model's reply."""

from __future__ import annotations

from agents.coder import draft_of
from agents.replies import (
    CoderReply,
    DiagnosedPlannerReply,
    DraftCritique,
    InspectionReply,
    PlannerReply,
    ProfilerReply,
    RefineCritique,
    Reply,
    parse_reply,
)
from services.domain.errors import ReplyError
from services.domain.requests import ModelRequest

_KINDS: dict[str, type[Reply]] = {
    kind.__name__: kind
    for kind in (PlannerReply, DiagnosedPlannerReply, DraftCritique, RefineCritique, InspectionReply, ProfilerReply)
}


def check_answer(request: ModelRequest, text: str) -> None:
    """Raise `ReplyError` saying what is wrong unless the text answers the request."""
    if request.schema_name == CoderReply.__name__:
        draft_of(text, request.start_source)
        return
    kind = _KINDS.get(request.schema_name)
    if kind is None:
        raise ReplyError(f"this program knows no reply {request.schema_name!r}")
    parse_reply(kind, text)
