"""One provider as all its models share it: settings, limits and connections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from services.adapters.llm.addresses import plainly_private
from services.adapters.llm.ledger import CallLedger
from services.adapters.llm.limits import CircuitBreaker, ProviderGate, RequestPace
from services.adapters.llm.redaction import Redactor
from services.adapters.llm.settings import ProviderSettings
from services.domain.errors import ConfigurationError
from services.ports.runtime import Clock

if TYPE_CHECKING:
    import httpx2


class Connection:
    """Opened at the first call, in that call's event loop; close it there."""

    def __init__(self, provider: str, base_url: str, settings: ProviderSettings, clock: Clock) -> None:
        _check_url(provider, base_url)
        if settings.forbid_private_hosts and plainly_private(base_url):
            raise ConfigurationError(
                f"base_url of {provider} leads to a private address, which the operator forbids: "
                "use a public one, or allow private hosts in the settings (KERNELWRIGHT_FORBID_PRIVATE_HOSTS)"
            )
        _check_limits(provider, settings)
        self.provider = provider
        self.base_url = base_url
        self.settings = settings
        self.clock = clock
        breaker = CircuitBreaker(provider, settings.breaker_failures, settings.breaker_cooldown_s, clock)
        self.gate = ProviderGate(breaker, settings.concurrency, settings.team_concurrency)
        secrets = [secret for secret in (settings.api_key, settings.proxy) if secret]
        self.redact = Redactor([*secrets, *(value for _, value in settings.headers)])
        self._pace = RequestPace(settings.requests_per_minute, settings.team_requests_per_minute, clock)
        self._http: httpx2.AsyncClient | None = None

    def __repr__(self) -> str:
        return f"Connection({self.provider!r}, {self.base_url!r})"

    def ledger(self, team_id: str) -> CallLedger:
        """Fresh books for one call of a team's."""
        return CallLedger(max_attempts=self.settings.max_attempts, max_lost=self.settings.max_lost, team_id=team_id)

    def sdk_options(self, ledger: CallLedger) -> dict[str, Any]:
        """What both SDKs' clients take: our transport, no key, and as many repeats as the call has left."""
        from services.adapters.llm.transport import PLACEHOLDER_KEY  # loads httpx2

        return {
            "api_key": PLACEHOLDER_KEY,
            "base_url": self.base_url,
            "http_client": self._client(),
            "timeout": self._client().timeout,
            "max_retries": max(ledger.max_attempts - ledger.attempts - 1, 0),
        }

    async def aclose(self) -> None:
        """Close all connections; harmless when there are none."""
        http, self._http = self._http, None
        if http is not None:
            await http.aclose()

    def _client(self) -> httpx2.AsyncClient:
        if self._http is None:
            import httpx2  # the command line must not wait for it

            from services.adapters.llm.transport import GuardedTransport

            timeout = httpx2.Timeout(self.settings.idle_timeout_s, connect=self.settings.connect_timeout_s)
            transport = GuardedTransport(self.settings, self.base_url, self._pace)
            self._http = httpx2.AsyncClient(
                transport=transport, timeout=timeout, follow_redirects=False, trust_env=False
            )
        return self._http


def _check_url(provider: str, base_url: str) -> None:
    try:
        parts = urlsplit(base_url)
        host = parts.hostname
    except ValueError:
        host = None
    if host is None or parts.scheme not in {"http", "https"}:
        raise ConfigurationError(f"base_url of {provider} must start with http:// or https:// and name a host")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ConfigurationError(
            f"base_url of {provider} must be a plain URL: put a key into api_key and anything else into headers"
        )


def _check_limits(provider: str, settings: ProviderSettings) -> None:
    whole = {"concurrency": settings.concurrency, "max_attempts": settings.max_attempts}
    whole["breaker_failures"] = settings.breaker_failures
    for name in ("team_concurrency", "requests_per_minute", "team_requests_per_minute"):
        if (limit := getattr(settings, name)) is not None:
            whole[name] = limit
    for name, value in whole.items():
        if value < 1:
            raise ConfigurationError(f"{name} of {provider} must be at least 1, not {value}")
    if settings.max_lost < 0:
        raise ConfigurationError(f"max_lost of {provider} must not be negative")
