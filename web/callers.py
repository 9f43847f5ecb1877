"""Who is calling: a bearer token, a browser's session cookie, or the one user of this machine."""

from __future__ import annotations

import hmac
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from services.domain.access import Principal, local_principal
from services.domain.errors import AuthenticationError, ForbiddenError
from services.teams.access import TOKEN_MARK, AccessService
from web.cookies import session_secret

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_scheme = HTTPBearer(auto_error=False, description="An API token, or the server's own (KERNELWRIGHT_TOKEN).")
Bearer = Annotated[HTTPAuthorizationCredentials | None, Depends(_scheme)]


async def identified(
    request: Request,
    bearer: HTTPAuthorizationCredentials | None,
    access: AccessService,
    server_token: str | None,
    *,
    is_open: bool,
) -> Principal:
    """The caller of a request. `is_open`: without token or session it is the one user of this machine.

    Raises `AuthenticationError`, and `ForbiddenError` where another site's page makes the browser ask."""
    if bearer is not None:
        given = bearer.credentials
        if server_token is not None and hmac.compare_digest(given.encode(), server_token.encode()):
            return local_principal("server-token")
        if given.startswith(TOKEN_MARK):
            return await access.by_token(given)
        if not is_open:
            raise AuthenticationError("Invalid or revoked token")
    if bearer is None and (secret := session_secret(request)) is not None:
        refuse_other_sites(request, has_cookie=True)
        return await access.by_session(secret)
    if is_open:
        refuse_other_sites(request, has_cookie=False)
        return local_principal("local")
    raise AuthenticationError("send a token (Authorization: Bearer …), or sign in")


def refuse_other_sites(request: Request, *, has_cookie: bool) -> None:
    """Cross-site request forgery: what changes something must come from our own pages.

    Browsers say where a request comes from (Fetch Metadata, and `Origin` in those that do not know it), and no page
    can forge that. What says neither is no browser; it may go on unless it carries a cookie."""
    if request.method in SAFE_METHODS:
        return
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is not None:
        same = site in ("same-origin", "none")
    elif origin is not None:
        same = urlsplit(origin).netloc == request.headers.get("host")
    else:
        same = not has_cookie
    if not same:
        raise ForbiddenError("this request comes from a page of another site")
