"""An OpenID Connect provider on a port of its own: real keys, real signatures, and lies on request."""

from __future__ import annotations

import base64
import hashlib
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode

import uvicorn
from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

CLIENT, SECRET = "kernelwright", "s3cret-of-the-client"


@dataclass
class IdentityServer:
    """One person is at its screen, and always agrees."""

    address: str = ""
    person: dict[str, Any] = field(
        default_factory=lambda: {"sub": "17", "email": "ada@x", "email_verified": True, "name": "Ada"}
    )
    lies: dict[str, Any] = field(default_factory=dict)
    """Claims of the next ID token that are not true."""
    forged: bool = False
    """Sign with a key that nobody published."""
    only_userinfo: bool = False
    """Tell the address only when asked with the access token."""
    refusal: str | None = None
    keys: list[RSAKey] = field(default_factory=list)
    grants: dict[str, dict[str, str]] = field(default_factory=dict)

    def rotate(self) -> None:
        """Sign with a new key from now on, and publish it beside the old ones."""
        self.keys.append(RSAKey.generate_key(2048, {"kid": secrets.token_hex(4), "use": "sig"}))

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/.well-known/openid-configuration", self._describe),
                Route("/keys", self._publish),
                Route("/authorize", self._authorize),
                Route("/token", self._give, methods=["POST"]),
                Route("/me", self._tell),
            ]
        )

    async def _describe(self, _request: Request) -> Response:
        places = {"authorization": "authorize", "token": "token", "userinfo": "me"}
        endpoints = {f"{name}_endpoint": f"{self.address}/{path}" for name, path in places.items()}
        return JSONResponse({"issuer": self.address, "jwks_uri": f"{self.address}/keys", **endpoints})

    async def _publish(self, _request: Request) -> Response:
        return JSONResponse(KeySet(list(self.keys)).as_dict(private=False))

    async def _authorize(self, request: Request) -> Response:
        asked = dict(request.query_params)
        assert asked["client_id"] == CLIENT
        assert asked["response_type"] == "code"
        assert asked["code_challenge_method"] == "S256"
        assert "openid" in asked["scope"].split()
        if self.refusal is not None:
            return RedirectResponse(
                f"{asked['redirect_uri']}?{urlencode({'error': self.refusal, 'state': asked['state']})}"
            )
        code = secrets.token_urlsafe(16)
        self.grants[code] = asked
        return RedirectResponse(f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}")

    async def _give(self, request: Request) -> Response:
        form = {name: values[0] for name, values in parse_qs((await request.body()).decode()).items()}
        expected = "Basic " + base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        asked = self.grants.pop(form["code"], None)
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        right = (
            request.headers.get("authorization") == expected
            and asked is not None
            and asked["redirect_uri"] == form["redirect_uri"]
            and asked["code_challenge"] == challenge
        )
        if not right or asked is None:
            return JSONResponse({"error": "invalid_grant"}, 400)
        token = self._id_token(asked["nonce"])
        return JSONResponse({"access_token": "opens-userinfo", "token_type": "Bearer", "id_token": token})

    def _id_token(self, nonce: str) -> str:
        now = int(time.time())
        told = {"sub": self.person["sub"]} if self.only_userinfo else self.person
        claims = {"iss": self.address, "aud": CLIENT, "iat": now, "exp": now + 300, "nonce": nonce, **told, **self.lies}
        known = self.keys[-1]
        key = RSAKey.generate_key(2048, {"kid": str(known.kid)}) if self.forged else known
        return jwt.encode({"alg": "RS256", "kid": known.kid}, claims, key)

    async def _tell(self, request: Request) -> Response:
        assert request.headers["authorization"] == "Bearer opens-userinfo"
        return JSONResponse(self.person)


@contextmanager
def identity_provider() -> Iterator[IdentityServer]:
    """A provider that runs as long as the context."""
    provider = IdentityServer()
    provider.rotate()
    config = uvicorn.Config(provider.app(), host="127.0.0.1", port=0, log_level="warning", lifespan="off")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        provider.address = f"http://127.0.0.1:{port}"
        yield provider
    finally:
        server.should_exit = True
        thread.join(30)
