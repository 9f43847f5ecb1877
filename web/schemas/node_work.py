"""What device nodes and the API tell each other. Requests and reports are documents of the program's own version, which
both sides have."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from services.domain.nodes import MOST_FAULT, Offer
from services.domain.work import WorkClaim
from web.schemas.base import Body, Name, View

Seconds = Annotated[float, Field(ge=0, le=600, allow_inf_nan=False)]
Document = dict[str, Any]
MAX_WAIT_S = 25.0


class ClaimBody(Body):
    """What a node can do."""

    name: Name
    version: Name
    device: Name
    backends: Annotated[tuple[Name, ...], Field(max_length=32)]
    evaluator: Annotated[str, Field(max_length=2000)]
    ttl_s: Seconds = 30.0
    """How many seconds the node may be silent before its order is given to another."""
    wait_s: Annotated[float, Field(ge=0, le=MAX_WAIT_S)] = 0.0
    """How many seconds to wait for an order."""

    @property
    def offer(self) -> Offer:
        """As the queue takes it."""
        return Offer(device=self.device, backends=self.backends, evaluator=self.evaluator)


class HeldBody(Body):
    """Which claim a node speaks of."""

    name: Name
    token: Annotated[int, Field(ge=0, lt=1 << 31)]


class RenewBody(HeldBody):
    """Renews a claim."""

    ttl_s: Seconds = 30.0


class ReportBody(HeldBody):
    """An order's answer."""

    report: Document


class FaultBody(HeldBody):
    """The node's machine could not carry out an order."""

    fault: Annotated[str, Field(max_length=20_000)]


class BeatBody(Body):
    """What a node has done so far."""

    name: Name
    load: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    busy_s: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    done: Annotated[int, Field(ge=0, lt=1 << 31)] = 0


class NodeBody(Body):
    """A node as it describes itself."""

    node: Document


class RefusalBody(Body):
    """A node that could not begin."""

    name: Name
    version: Name
    device: Name
    fault: Annotated[str, Field(min_length=1, max_length=MOST_FAULT)]
    """The reason, and what to do about it."""


class NameBody(Body):
    """A node's name."""

    name: Name


class WarmJob(Body):
    """A job that a node keeps something for."""

    team_id: Name
    job_id: Name


class WarmBody(Body):
    """Jobs that a node keeps something for."""

    jobs: Annotated[tuple[WarmJob, ...], Field(max_length=200)]


class ServerView(View):
    """The server, as a node sees it when it starts."""

    version: str
    devices: tuple[str, ...]
    """Devices that the token is for."""


class ClaimView(View):
    """A node's right to answer an order."""

    order_id: str
    token: int
    kind: Literal["ValidationRequest", "EvaluationRequest", "CompileRequest"]
    request: Document
    owner: str
    expires_at: datetime


class TakenView(View):
    """The order whose turn it is; null where none waits."""

    claim: ClaimView | None


class HeldView(View):
    """Whether the claim was the current one."""

    held: bool


class EndedView(View):
    """Jobs that have ended."""

    ended: tuple[str, ...]


def claim_view(claim: WorkClaim, request: Document) -> ClaimView:
    """A claim as it is answered."""
    kind = type(claim.order.request).__name__
    return ClaimView.from_parts(claim, order_id=claim.order.id, kind=kind, request=request)
