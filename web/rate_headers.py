"""What rate limits leave a caller, in the headers of every answer (draft-ietf-httpapi-ratelimit-headers)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.types import Message, Scope

from services.teams.rate_limits import Allowance
from web.answers import AtEachAnswer

_STATE = "rate_headers"


class RateHeaders(AtEachAnswer):
    """Adds what `note_policies` and `note_allowances` said of a request to its answer, whatever kind
    of answer that is."""

    def asked(self, scope: Scope) -> Callable[[Message], None]:
        """See `AtEachAnswer`."""
        noted: dict[str, str] = scope.setdefault("state", {}).setdefault(_STATE, {})

        def tell(message: Message) -> None:
            headers = MutableHeaders(raw=message["headers"])
            for name, value in noted.items():
                headers.setdefault(name, value)

        return tell


def note_policies(request: Request, policies: Mapping[str, int]) -> None:
    """The limits that there are, in requests a minute by their names."""
    if policies:
        told = ", ".join(f'"{name}";q={quota};w=60' for name, quota in policies.items())
        _noted(request)["RateLimit-Policy"] = told


def note_allowances(request: Request, allowances: Sequence[Allowance]) -> None:
    """What is left: `r` requests at once, all of them again in `t` seconds."""
    if allowances:
        told = ", ".join(f'"{one.policy}";r={one.remaining};t={math.ceil(one.reset_s)}' for one in allowances)
        _noted(request)["RateLimit"] = told


def _noted(request: Request) -> dict[str, str]:
    found: dict[str, str] = request.scope["state"][_STATE]
    return found
