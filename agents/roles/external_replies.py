"""Whether a text from outside answers an agent's request, by the same parsers that read a model's reply."""

from __future__ import annotations

from agents.roles.coder import draft_of
from agents.roles.replies import (
    CoderReply,
    DiagnosedPlannerReply,
    DraftCritique,
    InspectionReply,
    PlannerReply,
    PracticesReply,
    ProfilerReply,
    RefineCritique,
    Reply,
    parse_reply,
)
from services.domain.chat import ModelRequest
from services.domain.errors import ReplyError

_KINDS: dict[str, type[Reply]] = {
    kind.__name__: kind
    for kind in (
        PlannerReply,
        DiagnosedPlannerReply,
        DraftCritique,
        RefineCritique,
        InspectionReply,
        ProfilerReply,
        PracticesReply,
    )
}


def check_answer(request: ModelRequest, text: str) -> None:
    """Raise `ReplyError` saying what is wrong unless the text answers the request."""
    kernel_in(request.schema_name, text, request.start_source)


def kernel_in(form: str, text: str, start_source: str | None) -> str | None:
    """The kernel in a Coder's reply, None in another's; `form` is the name of the reply's schema.

    Raises `ReplyError` where the text does not fit it."""
    if form == CoderReply.__name__:
        return draft_of(text, start_source).source
    kind = _KINDS.get(form)
    if kind is None:
        raise ReplyError(f"this program knows no reply {form!r}")
    parse_reply(kind, text)
    return None
