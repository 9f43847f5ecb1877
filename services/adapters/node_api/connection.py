"""A device node's connection to the API: documents by POST, with the node's token."""

from __future__ import annotations

from types import TracebackType
from typing import Any

import httpx

from services.client.faults import checked_address, refusal, unreachable
from services.domain.errors import StorageError, UserError

_TIMEOUT_S = 30.0
_IDLE_S = 2.0
"""How long a connection without a request is kept: servers close theirs after five seconds, maybe as one is sent."""
_LATER = frozenset({429, 502, 503, 504})


class TooLargeError(UserError):
    """The server takes no document of this size."""


class NodeConnection:
    """Asks the API. What may be better later (a server that is away, busy or without its database) is a `StorageError`,
    as a database's would be; what will not is a `UserError`: a token that was revoked, another version."""

    def __init__(self, server: str, token: str, transport: httpx.AsyncBaseTransport | None = None) -> None:
        """Raises `ConfigurationError` for what is no address. `transport` replaces the network."""
        self._server = checked_address(server)
        headers = {"Authorization": f"Bearer {token}"}
        address = f"{self._server}/api/v1/work"
        limits = httpx.Limits(keepalive_expiry=_IDLE_S)
        self._http = httpx.AsyncClient(
            base_url=address, headers=headers, timeout=_TIMEOUT_S, limits=limits, transport=transport
        )

    async def __aenter__(self) -> NodeConnection:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """End it."""
        await self._http.aclose()

    async def get(self, path: str) -> dict[str, Any]:
        """Read a document. Raises `StorageError`, `UserError`."""
        return await self._asked("GET", path, None)

    async def post(self, path: str, document: dict[str, Any]) -> dict[str, Any]:
        """Send a document; what is answered. Raises `TooLargeError`, `StorageError`, `UserError`."""
        return await self._asked("POST", path, document)

    async def _asked(self, method: str, path: str, document: dict[str, Any] | None) -> dict[str, Any]:
        try:
            answer = await self._http.request(method, path, json=document)
        except httpx.TransportError as error:
            raise StorageError(str(unreachable(self._server, error))) from None
        if answer.status_code == 413:
            raise TooLargeError(f"{self._server} does not accept a document of this size")
        if answer.status_code >= 300:
            refused = refusal(self._server, answer)
            raise StorageError(str(refused)) if answer.status_code in _LATER or answer.is_server_error else refused
        if answer.status_code == 204:
            return {}
        found = answer.json()
        if not isinstance(found, dict):
            raise StorageError(f"{self._server} did not answer with a JSON document")
        return found
