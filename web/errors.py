"""Every error as `application/problem+json` (RFC 9457)."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, cast

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from services.domain.errors import (
    AuthenticationError,
    ConflictError,
    DeletedError,
    ForbiddenError,
    InfrastructureError,
    KernelwrightError,
    LimitError,
    NotFoundError,
    ProblemError,
    StorageError,
    UserError,
)
from web.error_types import INVALID_REQUEST, PROBLEM_FILE, ErrorType, type_of

MEDIA_TYPE = "application/problem+json"
_STATUSES = {DeletedError: 410, NotFoundError: 404, ConflictError: 409, ForbiddenError: 403, UserError: 422}
"""Of errors that say all in their message, the more special first."""
_log = logging.getLogger(__name__)


def problem_response(
    status: int,
    detail: str,
    *,
    kind: ErrorType | None = None,
    headers: Mapping[str, str] | None = None,
    **extra: object,
) -> JSONResponse:
    """A problem document; `kind` where its status does not tell it, `extra` are its extension members."""
    address = type_of(status) if kind is None else kind.address
    document = {"type": address, "title": _title(status), "status": status, "detail": detail, **extra}
    return JSONResponse(document, status_code=status, headers=headers, media_type=MEDIA_TYPE)


def install(app: FastAPI) -> None:
    """Answer every error of an app with a problem document."""
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(RequestValidationError, _invalid_request)
    app.add_exception_handler(KernelwrightError, _known_error)
    app.add_exception_handler(Exception, _unknown_error)


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """OpenAPI entries for the problem documents that a route can answer with."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDocument"}}}
    return {status: {"description": _title(status), "content": content} for status in statuses}


def _title(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Error"


async def _http_error(_request: Request, error: Exception) -> Response:
    found = cast("HTTPException", error)
    if found.status_code in (204, 304):
        return Response(status_code=found.status_code, headers=found.headers)
    return problem_response(found.status_code, str(found.detail), headers=found.headers)


async def _invalid_request(_request: Request, error: Exception) -> Response:
    faults = [
        {"at": [str(part).encode("ascii", "replace").decode() for part in fault["loc"]], "message": fault["msg"]}
        for fault in cast("RequestValidationError", error).errors()[:20]
    ]
    where = ".".join(faults[0]["at"]) if faults else "request"
    detail = f"{where}: {faults[0]['message']}" if faults else "the request is not valid"
    return problem_response(422, detail, kind=INVALID_REQUEST, errors=faults)


async def _known_error(request: Request, error: Exception) -> Response:
    if isinstance(error, ProblemError):
        return problem_response(
            422,
            str(error),
            kind=PROBLEM_FILE,
            path=error.path,
            line=error.line,
            reason=error.reason,
            remedy=error.remedy,
        )
    if isinstance(error, InfrastructureError):
        _log.warning("unavailable: %s: %s", request.url.path, error)
        known = getattr(request.state, "caller", None) is not None
        return problem_response(503, str(error) if known else _nameless(error), headers={"Retry-After": "5"})
    if isinstance(error, AuthenticationError):
        return problem_response(401, str(error), headers={"WWW-Authenticate": "Bearer"})
    if isinstance(error, LimitError):
        return problem_response(429, str(error), headers=_refill(error))
    for kind, status in _STATUSES.items():
        if isinstance(error, kind):
            return problem_response(status, str(error))
    return await _unknown_error(request, error)


def _nameless(error: InfrastructureError) -> str:
    """What a stranger is told: no host, user or database has its name in it."""
    if isinstance(error, StorageError) and error.remedy is not None:
        return f"the database and this program have different versions: {error.remedy}"
    return "a part of this installation cannot be reached: the server's log says which"


def _refill(error: LimitError) -> dict[str, str]:
    """When to come again; `RateLimit` too where it is the rate that is used up, not a quota."""
    wait_s = str(math.ceil(error.retry_after_s))
    limited = {} if error.policy is None else {"RateLimit": f'"{error.policy}";r=0;t={wait_s}'}
    return {"Retry-After": wait_s, **limited}


async def _unknown_error(request: Request, error: Exception) -> Response:
    # Plain: a trace that shows local variables takes seconds, and may show keys.
    _log.error("unexpected error: %s", request.url.path, exc_info=error)
    return problem_response(500, "the server failed to answer; its log has the details")
