"""The cookies of a browser: its session, and a sign-in that is under way."""

from __future__ import annotations

import base64
import binascii
import json

from fastapi import Request, Response

from services.domain.access import SignInAttempt

SESSION = "kernelwright-session"
SIGN_IN = "kernelwright-sign-in"
SIGN_IN_S = 600


def session_secret(request: Request) -> str | None:
    """The secret in a browser's cookie."""
    return request.cookies.get(f"__Host-{SESSION}") or request.cookies.get(SESSION)


def give_session(response: Response, secret: str, *, secure: bool, hours: int) -> None:
    """Hand a browser its session: no script can read it, no other site's page sends it with a change.

    With TLS its name has the prefix that keeps a neighbouring host from putting one of its own in its place."""
    name = f"__Host-{SESSION}" if secure else SESSION
    response.set_cookie(name, secret, max_age=hours * 3600, path="/", httponly=True, samesite="lax", secure=secure)


def take_session(response: Response) -> None:
    """Take it back."""
    response.delete_cookie(SESSION, path="/", httponly=True, samesite="lax")
    response.delete_cookie(f"__Host-{SESSION}", path="/", httponly=True, samesite="lax", secure=True)


def remember_attempt(response: Response, attempt: SignInAttempt, back: str, *, secure: bool) -> None:
    """Tie a sign-in to the browser that began it: nobody can be signed in as somebody else by a link."""
    text = json.dumps([attempt.state, attempt.nonce, attempt.verifier, back])
    value = base64.urlsafe_b64encode(text.encode()).decode()
    response.set_cookie(SIGN_IN, value, max_age=SIGN_IN_S, path="/auth", httponly=True, samesite="lax", secure=secure)


def remembered_attempt(request: Request) -> tuple[SignInAttempt, str] | None:
    """The sign-in that this browser began and where it wanted to go; None where there is none."""
    try:
        found = json.loads(base64.urlsafe_b64decode(request.cookies.get(SIGN_IN, "").encode()))
        state, nonce, verifier, back = (str(part) for part in found)
    except (ValueError, TypeError, binascii.Error):
        return None
    return SignInAttempt(state=state, nonce=nonce, verifier=verifier), own_path(back)


def forget_attempt(response: Response) -> None:
    """A sign-in has ended."""
    response.delete_cookie(SIGN_IN, path="/auth", httponly=True, samesite="lax")


def own_path(wanted: str) -> str:
    """A path of ours to go to; the first page for what would lead elsewhere."""
    plain = wanted.isascii() and wanted.isprintable() and "\\" not in wanted
    return wanted if plain and wanted.startswith("/") and not wanted.startswith("//") else "/"
