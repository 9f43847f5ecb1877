"""What kinds of errors the API answers with: each has an address, which is its `type` (RFC 9457), and a page there."""

from __future__ import annotations

import html
from dataclasses import dataclass
from http import HTTPStatus

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse

PREFIX = "/errors/"


@dataclass(frozen=True, kw_only=True)
class ErrorType:
    """One kind of error."""

    name: str
    """The last part of its address."""
    status: int
    meaning: str
    remedy: str
    """What the caller can do."""

    @property
    def address(self) -> str:
        """What problem documents call it: a reference relative to the server's address."""
        return PREFIX + self.name


def _type(name: str, status: int, meaning: str, remedy: str) -> ErrorType:
    return ErrorType(name=name, status=status, meaning=meaning, remedy=remedy)


PROBLEM_FILE = _type(
    "problem-file",
    422,
    "The submitted problem cannot be used.",
    "`path` and `line` say where, `reason` what is wrong, `remedy` what to change in the file.",
)
INVALID_REQUEST = _type(
    "invalid-request",
    422,
    "The request does not have the form that the API describes.",
    "`errors` lists up to twenty faults, each with its place and what was expected there.",
)
_TYPES = (
    PROBLEM_FILE,
    INVALID_REQUEST,
    _type("bad-request", 400, "The request could not be read.", "Send well-formed HTTP and JSON."),
    _type(
        "unauthenticated",
        401,
        "Nobody known is calling.",
        "Send a valid token as `Authorization: Bearer …`, or sign in again: it may be missing, expired or revoked.",
    ),
    _type(
        "forbidden", 403, "The caller is known and may not do this.", "Use a token with the scope that `detail` names."
    ),
    _type(
        "not-found",
        404,
        "Nothing of that name is in the caller's team.",
        "Check the id; what belongs to another team is not found either.",
    ),
    _type("method-not-allowed", 405, "The address does not know this method.", "See /docs for those that it knows."),
    _type(
        "conflict",
        409,
        "It is there, but not in a state that permits the request.",
        "Ask for it again, and decide by its present state.",
    ),
    _type("deleted", 410, "It was there, and somebody deleted it.", "It does not come back; forget its id."),
    _type("too-large", 413, "The body is larger than this server reads.", "Send less, or raise the server's limit."),
    _type("misdirected", 421, "The server does not answer to that host name.", "Use the name it is configured with."),
    _type("refused", 422, "A value is not known here or contradicts another.", "`detail` names it and what is known."),
    _type(
        "too-many-requests",
        429,
        "A rate limit or a quota is used up.",
        "Wait for as many seconds as `Retry-After` says, then send the same request again.",
    ),
    _type("internal", 500, "The server failed to answer.", "Report it with the time of the request; its log has more."),
    _type(
        "unavailable",
        503,
        "Something that the server needs is away: the database, the store, a model's provider.",
        "Send the same request again later; with an `Idempotency-Key` nothing happens twice.",
    ),
)
ERROR_TYPES = {one.name: one for one in _TYPES}
_BY_STATUS = {one.status: one for one in _TYPES}
"""Of several with one status the last: the least special."""
pages = APIRouter(include_in_schema=False)


def type_of(status: int) -> str:
    """The address of an error's kind, where only its status is known."""
    found = _BY_STATUS.get(status)
    return "about:blank" if found is None else found.address


@pages.get("/errors")
async def list_error_types() -> HTMLResponse:
    """All kinds of errors."""
    items = "".join(
        f"<li><a href='{one.address}'>{one.name}</a> ({one.status}): {html.escape(one.meaning)}</li>" for one in _TYPES
    )
    return _page(
        "Errors",
        f"<p>Every error is a problem document (RFC 9457); its <code>type</code> is one of:</p><ul>{items}</ul>",
    )


@pages.get("/errors/{name}")
async def describe_error_type(name: str) -> HTMLResponse:
    """What a kind of error means, and what to do about it."""
    found = ERROR_TYPES.get(name)
    if found is None:
        raise HTTPException(404, f"no kind of error is called {name[:100]}")
    title = f"{found.name} ({found.status} {HTTPStatus(found.status).phrase})"
    remedy = f"<h2>What to do</h2><p>{_code(found.remedy)}</p>"
    return _page(title, f"<p>{html.escape(found.meaning)}</p>{remedy}<p><a href='/errors'>All errors</a></p>")


def _code(text: str) -> str:
    """Text with its `literals` marked up."""
    parts = html.escape(text).split("`")
    return "".join(f"<code>{part}</code>" if index % 2 else part for index, part in enumerate(parts))


def _page(title: str, body: str) -> HTMLResponse:
    return HTMLResponse(
        f"<!doctype html><html lang='en'><head><meta charset='utf-8'><title>{title} – Kernelwright</title>"
        "<meta name='viewport' content='width=device-width'><style>:root{color-scheme:light dark}"
        "body{font:16px/1.5 system-ui,sans-serif;max-width:44rem;margin:2rem auto;padding:0 1rem}</style></head>"
        f"<body><main><h1>{title}</h1>{body}</main></body></html>"
    )
