"""The HTTP transport under both SDKs: what leaves for a provider, how often, and how much may come back.

Imported only when a provider is first called; `httpx2` is slow to load.
"""

from __future__ import annotations

import email.utils
import time
from collections.abc import AsyncIterator

import httpx2

from services.adapters.llm.addresses import PrivateAddressError, public_address
from services.adapters.llm.ledger import CallLedger, Failure, current_call
from services.adapters.llm.limits import RequestPace
from services.adapters.llm.settings import ProviderSettings

PLACEHOLDER_KEY = "set-by-the-transport"
"""What the SDKs are given in place of the key, so that nothing of theirs (logs, errors, reprs) can show it."""

_PASSED_HEADERS = frozenset(
    {"accept", "anthropic-beta", "anthropic-version", "connection", "content-length", "content-type", "host",
     "transfer-encoding", "user-agent"}
)  # fmt: skip
"""Headers of the SDKs that are sent. All others stay here: the SDKs add what they find in environment variables."""

_REPEATED_BY_SDKS = frozenset({408, 409, 429})
_LOST = (httpx2.ReadError, httpx2.WriteError, httpx2.ReadTimeout, httpx2.WriteTimeout, httpx2.RemoteProtocolError)


class ReplyTooLargeError(httpx2.ReadError):
    """The provider sent more than we read."""


class GuardedTransport(httpx2.AsyncBaseTransport):
    """Adds the credentials, counts requests against the call's ledger and bounds waits and replies."""

    def __init__(self, settings: ProviderSettings, base_url: str, pace: RequestPace) -> None:
        self._settings = settings
        self._origin = httpx2.URL(base_url)
        self._pace = pace
        proxy = settings.proxy.get_secret_value() if settings.proxy else None
        limits = httpx2.Limits(max_connections=2 * settings.concurrency, max_keepalive_connections=settings.concurrency)
        # The environment may name certificates (SSL_CERT_FILE); proxies it names are not used by a transport.
        self._inner = httpx2.AsyncHTTPTransport(limits=limits, proxy=proxy, trust_env=True)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request of the current call, or answer it here when the call may send no more."""
        ledger = current_call.get()
        if not ledger.may_send:
            return self._blocked(ledger, Failure(message=f"gave up after {ledger.attempts} requests"))
        try:
            outgoing = await self._outgoing(request)
        except PrivateAddressError as error:
            return self._blocked(ledger, Failure(message=str(error), retryable=False))
        except OSError as error:
            raise httpx2.ConnectError(f"the name {request.url.host} does not resolve") from error
        await self._pace.admit(ledger.team_id)
        ledger.attempts += 1
        try:
            response = await self._inner.handle_async_request(outgoing)
        except _LOST:
            ledger.lose()
            raise
        return self._bounded(response)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._inner.aclose()

    async def _outgoing(self, request: httpx2.Request) -> httpx2.Request:
        """A copy of the request as it leaves; the SDK keeps the one without credentials."""
        if (request.url.host, request.url.port) != (self._origin.host, self._origin.port):
            raise PrivateAddressError(
                f"a request to {request.url.host} was stopped: only {self._origin.host} gets our key"
            )
        headers = self._headers(request.headers)
        url, extensions = request.url, dict(request.extensions)
        if self._settings.forbid_private_hosts and self._settings.proxy is None:
            # Connecting to the very address that was checked leaves no room for a name that changes its address.
            url = request.url.copy_with(host=await public_address(request.url.host))
            extensions["sni_hostname"] = request.url.host
        return httpx2.Request(request.method, url, headers=headers, stream=request.stream, extensions=extensions)

    def _headers(self, given: httpx2.Headers) -> httpx2.Headers:
        # Plain bytes only: what is counted on the way back must be what is unpacked here.
        kept = {name: value for name, value in given.items() if name in _PASSED_HEADERS}
        headers = httpx2.Headers({**kept, "accept-encoding": "identity"})
        for name, secret in self._settings.headers:
            headers[name] = secret.get_secret_value()
        if self._settings.api_key is not None:
            key = self._settings.api_key.get_secret_value().strip()
            # Each SDK knows where its key goes: wherever it put the placeholder.
            places = {name: value for name, value in given.items() if PLACEHOLDER_KEY in value}
            for name, value in (places or {"authorization": f"Bearer {PLACEHOLDER_KEY}"}).items():
                headers[name] = value.replace(PLACEHOLDER_KEY, key)
        return headers

    def _blocked(self, ledger: CallLedger, failure: Failure) -> httpx2.Response:
        """An answer of our own that makes the SDK stop repeating."""
        ledger.blocked = failure
        return httpx2.Response(418, headers={"x-should-retry": "false"}, json={"error": {"message": failure.message}})

    def _bounded(self, response: httpx2.Response) -> httpx2.Response:
        headers = response.headers
        if response.status_code in _REPEATED_BY_SDKS or response.status_code >= 500:
            wait_s = retry_after_s(headers)
            if wait_s is not None and wait_s > self._settings.max_retry_after_s:
                headers["x-should-retry"] = "false"
        else:
            # Nobody but us decides that a wrong request is sent again.
            headers["x-should-retry"] = "false"
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        stream = _BoundedStream(response.stream, self._settings.max_response_bytes)
        return httpx2.Response(response.status_code, headers=headers, stream=stream, extensions=response.extensions)


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream, limit: int) -> None:
        self._inner = inner
        self._limit = limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        received = 0
        async for part in self._inner:
            received += len(part)
            if received > self._limit:
                raise ReplyTooLargeError(f"the reply is larger than {self._limit} bytes")
            yield part

    async def aclose(self) -> None:
        await self._inner.aclose()


def retry_after_s(headers: httpx2.Headers) -> float | None:
    """Seconds that a response asks to wait, by `retry-after-ms` or `retry-after` (seconds or a date)."""
    for name, divisor in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            return max(float(headers[name]) / divisor, 0.0)
        except (KeyError, ValueError):
            continue
    try:
        return max(email.utils.parsedate_to_datetime(headers["retry-after"]).timestamp() - time.time(), 0.0)
    except (KeyError, ValueError, OverflowError):
        return None
