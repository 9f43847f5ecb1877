"""A spool with both of its sides, and a clock that stands still."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from services.adapters.spool.claims import SpoolClaims
from services.adapters.spool.files import names_in
from services.adapters.spool.layout import SpoolLayout, order_name
from services.adapters.spool.messages import SpoolKey
from services.adapters.spool.orders import SpooledOrders
from services.domain.evaluations import EvaluationRequest
from services.domain.nodes import Offer
from tests.doubles import FrozenClock, a_candidate, an_evaluation_request

SECRET = "5" * 64
VERSION = "1.2.3"
OFFER = Offer(device="cpu", backends=("cpp",), evaluator="referee 1; this CPU")


@dataclass(frozen=True, kw_only=True)
class Spool:
    """Both sides of one directory."""

    layout: SpoolLayout
    clock: FrozenClock
    orders: SpooledOrders

    def node(
        self,
        owner: str = "one",
        *,
        secret: str = SECRET,
        version: str = VERSION,
        offer: Offer = OFFER,
        is_gone: Callable[[str], bool] = lambda _owner: False,
    ) -> SpoolClaims:
        key = SpoolKey(secret)
        return SpoolClaims(self.layout, key, self.clock, offer=offer, version=version, owner=owner, is_gone=is_gone)

    def service(self, *, secret: str = SECRET, version: str = VERSION, valid_days: float = 14.0) -> SpooledOrders:
        return SpooledOrders(
            self.layout, SpoolKey(secret), self.clock, version=version, sender="service", valid_days=valid_days
        )

    def place(self, step: int = 0, *, orders: SpooledOrders | None = None, **changes: object) -> EvaluationRequest:
        request = a_request(step, **changes)
        (orders or self.orders).place(request, request.evaluation_id)
        return request

    def refused(self) -> dict[str, str]:
        """Names of refused files with the text beside them."""
        names = [name for name in names_in(self.layout.refused) if not name.endswith(".txt")]
        return {name: (self.layout.refused / f"{name}.txt").read_text() for name in names}

    def files(self) -> list[str]:
        """Everything that lies in the spool, beside the word of the service, which is written anew now and then."""
        found = (path.relative_to(self.layout.root) for path in self.layout.root.rglob("*") if path.is_file())
        return sorted(str(path) for path in found if str(path) != "service" and not str(path).startswith(".service"))


def a_spool(root: Path) -> Spool:
    clock, layout = FrozenClock(), SpoolLayout(root)
    orders = SpooledOrders(layout, SpoolKey(SECRET), clock, version=VERSION, sender="service", valid_days=14.0)
    orders.open()
    return Spool(layout=layout, clock=clock, orders=orders)


def a_request(step: int = 0, **changes: object) -> EvaluationRequest:
    return replace(an_evaluation_request(a_candidate("job-1", step)), **changes)  # type: ignore[arg-type]


def name_of(request: EvaluationRequest) -> str:
    return order_name(request.evaluation_id, request.job_id)
