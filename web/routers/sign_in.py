"""Signing in with a browser: to the identity provider and back, and out again."""

from __future__ import annotations

import hmac
import html
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from services.domain.errors import AuthenticationError, ForbiddenError, InfrastructureError, NotFoundError
from services.ports.teams import IdentityProvider
from services.teams.access import SESSION_HOURS
from web.callers import refuse_other_sites
from web.context import Services, WebServices
from web.cookies import (
    forget_attempt,
    give_session,
    own_path,
    remember_attempt,
    remembered_attempt,
    session_secret,
    take_session,
)
from web.errors import responses
from web.schemas.base import View

router = APIRouter(prefix="/auth", tags=["sign-in"])
PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Not signed in</title>
<body><main><h1>You are not signed in</h1><p>{}</p><p><a href="/">Back to Kernelwright</a></p></main></body></html>"""
Given = Annotated[str, Query(max_length=4000)]


class SignInView(View):
    """How people can sign in."""

    provider: str | None
    """What the identity provider is called, whose sign-in begins at `/auth/login`; null where only tokens work."""


@router.get("/methods")
async def sign_in_methods(services: Services) -> SignInView:
    """How people can sign in; asks for nothing."""
    return SignInView(provider=None if services.identity is None else services.identity.name)


@router.get("/login", status_code=302, response_class=RedirectResponse, responses=responses(404, 422, 503))
async def begin_sign_in(request: Request, services: Services, back: Given = "/") -> RedirectResponse:
    """Send the browser to the identity provider; it comes back to `back`, a path of this server."""
    provider, home = _provider(services), _home(request, services)
    address, attempt = await provider.begin(f"{home}/auth/callback")
    response = RedirectResponse(address, 302)
    remember_attempt(response, attempt, own_path(back), secure=home.startswith("https:"))
    return response


@router.get(
    "/callback",
    status_code=303,
    response_class=RedirectResponse,
    responses={**{status: {"content": {"text/html": {}}} for status in (401, 403, 503)}, **responses(404, 422)},
)
async def finish_sign_in(
    request: Request, services: Services, code: Given = "", state: Given = "", error: Given = ""
) -> Response:
    """Where the identity provider sends the browser back to."""
    try:
        response = await _signed_in(request, services, code, state, error)
    except AuthenticationError as reason:
        response = _refused(401, reason)
    except ForbiddenError as reason:
        response = _refused(403, reason)
    except InfrastructureError as reason:
        response = _refused(503, reason)
    forget_attempt(response)
    return response


@router.post("/logout", status_code=204, responses=responses(403, 404, 503))
async def sign_out(request: Request, services: Services) -> Response:
    """End this browser's session."""
    secret = session_secret(request)
    refuse_other_sites(request, has_cookie=secret is not None)
    response = Response(status_code=204)
    if secret is not None:
        await services.access.sign_out(secret)
        take_session(response)
    return response


async def _signed_in(request: Request, services: WebServices, code: str, state: str, error: str) -> Response:
    provider, home = _provider(services), _home(request, services)
    begun = remembered_attempt(request)
    if begun is None or not hmac.compare_digest(begun[0].state.encode(), state.encode()):
        raise AuthenticationError("this sign-in was not begun in this browser, or too long ago: begin again")
    if error or not code:
        raise AuthenticationError(f"{provider.name} says: {error or 'no code'}")
    attempt, back = begun
    identity = await provider.finish(f"{home}/auth/callback", code, attempt)
    secret = await services.access.sign_in(identity)
    response = RedirectResponse(back, 303)
    give_session(response, secret, secure=home.startswith("https:"), hours=SESSION_HOURS)
    return response


def _provider(services: WebServices) -> IdentityProvider:
    if services.identity is None:
        raise NotFoundError("this server has no identity provider: send a token (KERNELWRIGHT_OIDC_ISSUER sets one)")
    return services.identity


def _home(request: Request, services: WebServices) -> str:
    """Our own address as browsers see it, without a slash at the end."""
    return services.public_url or str(request.base_url).rstrip("/")


def _refused(status: int, reason: Exception) -> Response:
    return HTMLResponse(PAGE.format(html.escape(str(reason))), status)
