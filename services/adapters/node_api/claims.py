"""Work orders over the API: the `WorkClaims` of a node that has no database."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from services.adapters.node_api.connection import NodeConnection, TooLargeError
from services.domain.codec import CodecError, from_data, to_data
from services.domain.errors import InfrastructureError
from services.domain.evaluations import EvaluationReport, EvaluationRequest
from services.domain.nodes import Offer
from services.domain.validations import ValidationRequest
from services.domain.work import CompileRequest, Report, Request, WorkClaim, WorkOrder
from services.jobs.machine_code import without_text
from services.ports.work import WorkClaims

log = logging.getLogger(__name__)
TOO_LARGE = "it was too large to be sent to the server"
_REQUESTS: dict[str, type[Request]] = {
    kind.__name__: kind for kind in (ValidationRequest, EvaluationRequest, CompileRequest)
}


class ApiClaims(WorkClaims):
    """Asks the server for orders and answers them there. Claims are fenced by the server's tokens, and timed by the
    server's clock alone."""

    def __init__(self, connection: NodeConnection, version: str, *, wait_s: float = 0.0) -> None:
        """`wait_s`: how long the server may hold a request for an order while none waits."""
        self._connection = connection
        self._version = version
        self._wait_s = wait_s

    async def take(self, owner: str, ttl_s: float, offer: Offer) -> WorkClaim | None:
        """Claim the order whose turn it is; None where none waits for this offer."""
        asked = {"name": owner, "version": self._version, "ttl_s": ttl_s, "wait_s": self._wait_s, **to_data(offer)}
        found = (await self._connection.post("/claims", asked))["claim"]
        return None if found is None else _claim(owner, found)

    async def renew(self, claim: WorkClaim, ttl_s: float) -> bool:
        """Extend a claim; False when it is gone: stop working on the order."""
        return await self._told(claim, "renew", {"ttl_s": ttl_s})

    async def finish(self, claim: WorkClaim, result: Report) -> bool:
        """Send the answer; False when the claim is not the current one, and then nothing was written."""
        try:
            return await self._told(claim, "report", {"report": _document(result)})
        except TooLargeError:
            if not isinstance(result, EvaluationReport):
                raise
        log.warning("the report on %s goes without machine code: it is too large for the server", claim.order.id)
        return await self._told(claim, "report", {"report": _document(without_text(result, TOO_LARGE))})

    async def fail(self, claim: WorkClaim, fault: str) -> bool:
        """Say that the machine failed; False like `finish`."""
        return await self._told(claim, "fault", {"fault": fault[:20_000]})

    async def release(self, claim: WorkClaim) -> bool:
        """Put an order back that this node cannot do; False like `finish`."""
        return await self._told(claim, "release", {})

    async def ended(self, jobs: Iterable[tuple[str, str]]) -> frozenset[str]:
        """Those of some jobs, as team and id, that have ended."""
        asked = [{"team_id": team_id, "job_id": job_id} for team_id, job_id in jobs]
        return frozenset((await self._connection.post("/ended", {"jobs": asked}))["ended"])

    async def _told(self, claim: WorkClaim, what: str, document: dict[str, Any]) -> bool:
        held = {"name": claim.owner, "token": claim.token}
        answer = await self._connection.post(f"/claims/{claim.order.id}/{what}", {**held, **document})
        return bool(answer["held"])


def _document(report: Report) -> dict[str, Any]:
    return {"kind": type(report).__name__, "data": to_data(report)}


def _claim(owner: str, found: dict[str, Any]) -> WorkClaim:
    try:
        request = from_data(_REQUESTS[found["kind"]], found["request"])
        return WorkClaim(
            order=WorkOrder(id=found["order_id"], request=request),
            owner=owner,
            token=found["token"],
            expires_at=datetime.fromisoformat(found["expires_at"]),
        )
    except (KeyError, TypeError, ValueError, CodecError) as error:
        raise InfrastructureError(f"the server's order cannot be read: {error}") from None
