"""What an operator sets for the providers of chat models. Values come in from outside; nothing here reads them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import SecretStr


@dataclass(frozen=True, kw_only=True)
class TokenPrice:
    """Dollars per million tokens, for models that no price list knows (a server of one's own costs 0)."""

    input: float = 0.0
    cached: float | None = None
    """Input served from the cache; None for the price of input."""
    output: float = 0.0


@dataclass(frozen=True, kw_only=True)
class ProviderSettings:
    """One provider: where it is, who we are, how hard we may lean on it."""

    api_key: SecretStr | None = None
    """Sent only to `base_url`, and added to a request when it leaves the process."""
    base_url: str | None = None
    """Root of the API, usually ending in `/v1`; None for the provider's own."""
    headers: tuple[tuple[str, SecretStr], ...] = ()
    """Further headers as (name, value), for gateways."""
    proxy: SecretStr | None = None
    """HTTP proxy URL; proxies of the environment are not used."""
    forbid_private_hosts: bool = False
    """Whether `base_url` must lead to a public address (for services that many teams share)."""

    effort: str | None = None
    """Reasoning effort as the provider names it; None leaves it to the model."""
    thinking: bool = True
    """Whether Anthropic models may think (adaptively); switch off for models without adaptive thinking."""
    reasoning_tokens: int | None = None
    """Output tokens allowed for reasoning on top of a request's own; None for the adapter's default."""
    window_tokens: int | None = None
    """Tokens of prompt and answer together that the provider's models take; None for 131,072."""
    output_tokens: int | None = None
    """Tokens that an answer may have, reasoning written into the text included; None for 8,192."""
    price: TokenPrice | None = None
    """Overrides the price list."""

    concurrency: int = 16
    """Calls at once of one process, over all models of the provider."""
    team_concurrency: int | None = None
    """The same of one team; None for no limit of its own."""
    requests_per_minute: int | None = None
    """HTTP requests of one process in any sixty seconds, repeats included; None for no limit."""
    team_requests_per_minute: int | None = None
    """The same of one team; None for no limit of its own."""
    max_attempts: int = 4
    """HTTP requests that one call may make, all repeats included."""
    max_lost: int = 1
    """How often a request that the provider may have billed (time-out, dropped stream) is sent again; each widens the
    call's ceiling by one request."""
    connect_timeout_s: float = 10.0
    idle_timeout_s: float = 120.0
    """Longest silence while waiting for the reply or between two parts of it."""
    call_timeout_s: float = 900.0
    """Longest duration of one call, waiting and repeats included."""
    max_retry_after_s: float = 60.0
    """Longest wait that a provider may ask for; beyond it the call fails at once and says how long."""
    max_response_bytes: int = 32 << 20
    """Largest HTTP response read."""
    breaker_failures: int = 5
    """Failed calls in a row after which the provider is left alone for a while."""
    breaker_cooldown_s: float = 30.0
    delta_chars: int = 400
    """A listener is told of streamed text in parts of about this length."""


@dataclass(frozen=True, kw_only=True)
class ModelSettings:
    """Settings of all providers, by the prefix of a model's name: `openai`, `compatible`, `anthropic`."""

    providers: Mapping[str, ProviderSettings] = field(default_factory=dict)
