"""What went wrong between a client and what it took for a server, in words that say what to do."""

from __future__ import annotations

from urllib.parse import SplitResult, urlsplit

import httpx

from services.domain.errors import (
    ConfigurationError,
    ConflictError,
    DeletedError,
    InfrastructureError,
    KernelwrightError,
    NotFoundError,
    UserError,
)

_ANOTHER = "name another with --server"
_KINDS: dict[int, type[UserError]] = {404: NotFoundError, 409: ConflictError, 410: DeletedError}
_NO_ROUTE = "Not Found"
"""What web frameworks, ours too, say of a path that they do not know."""


def checked_address(server: str) -> str:
    """A server's address without its last slash. Raises `ConfigurationError` where it can be none."""
    try:
        parts = urlsplit(server)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        sound = False
    if not sound or any(character.isspace() for character in server):
        raise ConfigurationError(f"not a server address: {server!r}: write http://HOST:PORT or https://HOST")
    return server.rstrip("/")


def unreachable(server: str, error: Exception) -> InfrastructureError:
    """The error for a server from which no answer came."""
    text, parts = str(error), urlsplit(server)
    if "CERTIFICATE_VERIFY_FAILED" in text:
        why = f"the certificate of {server} is not trusted: name its authority's file in SSL_CERT_FILE, or {_ANOTHER}"
    elif "SSL" in text:
        why = f"{server} does not speak HTTPS: try --server {_with_scheme(parts, 'http')}"
    elif text.startswith("[Errno -"):
        why = f"no host {parts.hostname} is known ({text}): check the address, or {_ANOTHER}"
    elif parts.scheme == "http" and isinstance(error, httpx.ReadError | httpx.RemoteProtocolError):
        why = f"{server} broke off ({text}): if it speaks HTTPS, use --server {_with_scheme(parts, 'https')}"
    elif isinstance(error, httpx.ReadTimeout):
        why = f"{server} took the request and did not answer in time: it is busy, and may have done what was asked. "
        why += "Look before you repeat it (kernelwright jobs)"
    else:
        told = text or type(error).__name__
        why = f"no Kernelwright server answers at {server} ({told}): start one with `kernelwright serve`, or {_ANOTHER}"
    return InfrastructureError(why, remedy="kernelwright serve")


def not_ours(server: str, why: str) -> InfrastructureError:
    """The error for a server that answers, but not as ours do."""
    path = urlsplit(server).path.rstrip("/")
    advice = f"leave the path {path} out of --server" if path else _ANOTHER
    return InfrastructureError(f"{server} is not a Kernelwright server ({why}): {advice}", remedy=advice)


def refusal(server: str, answer: httpx.Response) -> KernelwrightError:
    """The error for an answer that is a redirection or a refusal."""
    if answer.is_redirect:
        return _redirected(server, answer.headers.get("location", ""))
    detail = _detail(answer)
    if detail is None or (answer.status_code == 404 and detail == _NO_ROUTE):
        return _foreign(server, answer)
    if answer.status_code >= 500:
        return InfrastructureError(detail)
    return _KINDS.get(answer.status_code, UserError)(detail)


def _redirected(server: str, location: str) -> KernelwrightError:
    target, ours, _ = location.partition("/api/v1")
    if ours and urlsplit(target).hostname:
        return UserError(f"{server} redirects to {target}: use --server {target}")
    return not_ours(server, f"it redirects to {location or 'nowhere'}")


def _foreign(server: str, answer: httpx.Response) -> KernelwrightError:
    parts = urlsplit(server)
    if answer.status_code == 400 and parts.scheme == "http" and "HTTPS" in answer.text:
        return UserError(f"{server} speaks HTTPS: use --server {_with_scheme(parts, 'https')}")
    if answer.status_code in (502, 503, 504):
        why = f"{server} answers {answer.status_code}: the server behind it is down; start it, or {_ANOTHER}"
        return InfrastructureError(why, remedy="kernelwright serve")
    return not_ours(server, f"it answered {answer.status_code}")


def _detail(answer: httpx.Response) -> str | None:
    """What a problem document says; None where there is none."""
    try:
        return str(answer.json()["detail"])
    except (ValueError, KeyError, TypeError):
        return None


def _with_scheme(parts: SplitResult, scheme: str) -> str:
    return parts._replace(scheme=scheme).geturl()
