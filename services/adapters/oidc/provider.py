"""An OpenID Connect provider behind the `IdentityProvider` port: authorisation code with PKCE (RFC 7636).

What comes back is believed only after the ID token's signature, issuer, audience, times and nonce were checked (OpenID
Connect Core 1.0, section 3.1.3.7).
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import urlsplit

import httpx2
from authlib.integrations.httpx_client import AsyncOAuth2Client, OAuthError
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from services.domain.access import Identity, SignInAttempt
from services.domain.errors import AuthenticationError, ConfigurationError, InfrastructureError

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Signatures by a key pair only: neither `none` nor a secret that others know."""
SCOPES = "openid email profile"
FRESH_S = 3600.0
"""How long what the provider says of itself is believed."""
LEEWAY_S = 60
TIMEOUT_S = 10.0
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


class OidcProvider:
    """One provider, and this installation as its client."""

    def __init__(self, issuer: str, client_id: str, client_secret: str | None, name: str) -> None:
        """`client_secret` is None for a public client, which PKCE alone protects. Raises `ConfigurationError`."""
        parts = urlsplit(issuer)
        if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOOPBACK):
            raise ConfigurationError(f"the issuer {issuer!r} of the identity provider must be an https:// address")
        self.name = name
        self._issuer = issuer
        self._client_id = client_id
        self._client_secret = client_secret
        self._about: dict[str, Any] = {}
        self._keys: KeySet | None = None
        self._read_at = -FRESH_S

    async def begin(self, redirect_uri: str) -> tuple[str, SignInAttempt]:
        """The address to send a browser to, and what to remember until it comes back. Raises `InfrastructureError`."""
        about = await self._describe()
        attempt = SignInAttempt(
            state=secrets.token_urlsafe(24), nonce=secrets.token_urlsafe(24), verifier=secrets.token_urlsafe(48)
        )
        async with self._client(redirect_uri) as client:
            address, _ = client.create_authorization_url(
                _address(about, "authorization_endpoint"),
                state=attempt.state,
                nonce=attempt.nonce,
                code_verifier=attempt.verifier,
            )
        return address, attempt

    async def finish(self, redirect_uri: str, code: str, attempt: SignInAttempt) -> Identity:
        """Who has signed in. Raises `AuthenticationError` for an answer that proves nothing, `InfrastructureError`."""
        about = await self._describe()
        try:
            async with self._client(redirect_uri) as client:
                answer = await client.fetch_token(
                    _address(about, "token_endpoint"), code=code, code_verifier=attempt.verifier
                )
                claims = await self._checked(str(answer.get("id_token") or ""), attempt.nonce)
                if "email" not in claims and "userinfo_endpoint" in about:
                    claims = await self._completed(client, about["userinfo_endpoint"], claims)
        except OAuthError as error:
            raise AuthenticationError(f"{self.name} refuses: {error.description or error.error}") from None
        except (httpx2.HTTPError, ValueError) as error:
            raise self._unreachable(error) from error
        return self._identity(claims)

    def _client(self, redirect_uri: str) -> Any:
        return AsyncOAuth2Client(
            client_id=self._client_id,
            client_secret=self._client_secret,
            token_endpoint_auth_method="client_secret_basic" if self._client_secret else "none",
            scope=SCOPES,
            redirect_uri=redirect_uri,
            code_challenge_method="S256",
            timeout=TIMEOUT_S,
        )

    async def _describe(self, *, again: bool = False) -> dict[str, Any]:
        """What the provider says of itself, and its keys."""
        if not again and time.monotonic() - self._read_at < FRESH_S:
            return self._about
        try:
            async with httpx2.AsyncClient(timeout=TIMEOUT_S) as client:
                about = await _json(client, f"{self._issuer.rstrip('/')}/.well-known/openid-configuration")
                if about.get("issuer") != self._issuer:
                    raise ConfigurationError(
                        f"the identity provider calls itself {about.get('issuer')!r}, not {self._issuer!r}: "
                        "set KERNELWRIGHT_OIDC_ISSUER to that"
                    )
                keys = KeySet.import_key_set(cast("Any", await _json(client, _address(about, "jwks_uri"))))
        except (httpx2.HTTPError, ValueError, JoseError) as error:
            raise self._unreachable(error) from error
        self._about, self._keys, self._read_at = about, keys, time.monotonic()
        return about

    async def _checked(self, id_token: str, nonce: str) -> dict[str, Any]:
        """The claims of an ID token that was made for us, now, for this attempt."""
        try:
            try:
                token = jwt.decode(id_token, self._known_keys(), algorithms=list(ALGORITHMS))
            except (JoseError, ValueError):  # a new key, perhaps: providers change them
                await self._describe(again=True)
                token = jwt.decode(id_token, self._known_keys(), algorithms=list(ALGORITHMS))
            jwt.JWTClaimsRegistry(
                leeway=LEEWAY_S,
                iss={"essential": True, "value": self._issuer},
                sub={"essential": True},
                aud={"essential": True, "value": self._client_id},
                exp={"essential": True},
                iat={"essential": True},
                nonce={"essential": True, "value": nonce},
            ).validate(token.claims)
        except (JoseError, ValueError) as error:
            raise AuthenticationError(f"the answer of {self.name} cannot be believed: {error}") from None
        claims = dict(token.claims)
        several = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
        if claims.get("azp", None if several else self._client_id) != self._client_id:
            raise AuthenticationError(f"the answer of {self.name} cannot be believed: it was made for another client")
        return claims

    def _known_keys(self) -> KeySet:
        if self._keys is None:
            raise InfrastructureError(f"the keys of {self.name} are not known")
        return self._keys

    async def _completed(self, client: Any, address: str, claims: dict[str, Any]) -> dict[str, Any]:
        """The claims with those that the provider tells only when it is asked (OpenID Connect Core 1.0, 5.3)."""
        answer = await client.get(address)
        answer.raise_for_status()
        more = answer.json()
        if more.get("sub") != claims["sub"]:  # section 5.3.2: it may be somebody else's
            raise AuthenticationError(f"the answer of {self.name} cannot be believed: it is about somebody else")
        return {**more, **claims}

    def _identity(self, claims: Mapping[str, Any]) -> Identity:
        email = claims.get("email")
        vouched = isinstance(email, str) and claims.get("email_verified") is True
        return Identity(
            issuer=self._issuer,
            subject=str(claims["sub"]),
            name=str(claims.get("name") or "")[:200],
            email=email if vouched else None,
        )

    def _unreachable(self, error: Exception) -> InfrastructureError:
        return InfrastructureError(f"{self.name} ({self._issuer}) cannot be asked: {type(error).__name__}: {error}")


def _address(about: Mapping[str, Any], name: str) -> str:
    found = about.get(name)
    if not isinstance(found, str):
        raise InfrastructureError(f"the identity provider names no {name}")
    return found


async def _json(client: httpx2.AsyncClient, address: str) -> dict[str, Any]:
    answer = await client.get(address)
    answer.raise_for_status()
    found = answer.json()
    if not isinstance(found, dict):
        raise InfrastructureError(f"{address} answers with no JSON object")
    return found
