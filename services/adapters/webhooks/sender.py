"""Sends signed messages, to public addresses only unless the operator permits others."""

from __future__ import annotations

import logging
from datetime import datetime
from urllib.parse import urlsplit

import httpx
from standardwebhooks.webhooks import Webhook as Signer

from services.adapters.llm.addresses import PrivateAddressError, plainly_private, public_address
from services.domain.errors import ConfigurationError
from services.domain.webhooks import Delivery, DeliveryOutcome, Webhook

TIMEOUT_S = 15.0
_PRIVATE = "leads to a private address, which this server's operator forbids (KERNELWRIGHT_WEBHOOK_PRIVATE_HOSTS)"

logging.getLogger("httpx").setLevel(logging.WARNING)  # it logs addresses, which may hold a receiver's secrets


class WebhookSender:
    """Posts messages over HTTP. Follows no redirect and reads no body: an answer is a number."""

    def __init__(self, agent: str, *, private_hosts: bool = False) -> None:
        """`agent`: what the `user-agent` header says."""
        self._private_hosts = private_hosts
        self._http = httpx.AsyncClient(
            timeout=TIMEOUT_S,
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=50),  # the dispatcher bounds them
            follow_redirects=False,
            trust_env=False,
            headers={"user-agent": agent, "content-type": "application/json"},
        )

    async def send(self, webhook: Webhook, delivery: Delivery, at: datetime) -> DeliveryOutcome:
        """Try once. Never raises for what the receiver, its name or the network does."""
        signature = Signer(webhook.secret).sign(delivery.id, at, delivery.body)
        headers = {
            "webhook-id": delivery.id,
            "webhook-timestamp": str(int(at.timestamp())),
            "webhook-signature": signature,
        }
        try:
            request = await self._request(webhook.url, delivery.body.encode(), headers)
            answer = await self._http.send(request, stream=True)
            await answer.aclose()
        except PrivateAddressError:
            return DeliveryOutcome(delivered=False, fault=f"its address {_PRIVATE}")
        except (httpx.HTTPError, httpx.InvalidURL, OSError, UnicodeError) as error:
            return DeliveryOutcome(delivered=False, fault=f"no answer: {str(error) or type(error).__name__}"[:300])
        if answer.is_success:
            return DeliveryOutcome(delivered=True, answer=answer.status_code)
        redirected = " (redirects are not followed)" if answer.is_redirect else ""
        return DeliveryOutcome(
            delivered=False, answer=answer.status_code, fault=f"it answered {answer.status_code}{redirected}"
        )

    async def aclose(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def _request(self, url: str, body: bytes, headers: dict[str, str]) -> httpx.Request:
        request = self._http.build_request("POST", url, content=body, headers=headers)
        if not self._private_hosts:
            # Connecting to the very address that was checked leaves no room for a name that changes its address.
            request.extensions = {**request.extensions, "sni_hostname": request.url.host}
            request.url = request.url.copy_with(host=await public_address(request.url.host))
        return request


def check_address(url: str, *, private_hosts: bool) -> None:
    """Raise `ConfigurationError` for what can be told to be no receiver's address without asking the name service."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host or parts.scheme not in {"http", "https"} or port == 0 or not url.isprintable() or " " in url:
        raise ConfigurationError("a webhook's address starts with http:// or https:// and a host, and holds no space")
    if parts.username or parts.password or parts.fragment:
        raise ConfigurationError("a webhook's address must hold no user, password or #fragment")
    if not private_hosts and plainly_private(url):
        raise ConfigurationError(f"{host} {_PRIVATE}")
