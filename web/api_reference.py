"""The API's own description as a page: Swagger UI, with every asset from this installation."""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, HTMLResponse, Response

PATH = "/docs"
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Kernelwright API</title>
<link rel="icon" type="image/svg+xml" href="/docs/icon.svg">
<link rel="stylesheet" href="/docs/swagger-ui.css">
</head>
<body>
<div id="api"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
"""
_START = """SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#api",
  deepLinking: true,
  validatorUrl: null,
  presets: [SwaggerUIBundle.presets.apis, SwaggerUIBundle.SwaggerUIStandalonePreset],
});
"""
"""A file of its own: the content security policy permits no script inside the page."""
_ICON = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">
<rect width="32" height="32" rx="7" fill="#0b7285"/>
<path d="M9 6v20M9 17 22 6M13 14l10 12" fill="none" stroke="#fff"
stroke-width="3.5" stroke-linecap="round" stroke-linejoin="round"/></svg>
"""
_TEXTS = {"start.js": (_START, "text/javascript"), "icon.svg": (_ICON, "image/svg+xml")}
_FILES = ("swagger-ui.css", "swagger-ui-bundle.js")


def add_api_reference(app: FastAPI) -> None:
    """Serve the page and its assets."""
    app.add_api_route(PATH, _page, include_in_schema=False, response_class=HTMLResponse)
    app.add_api_route(PATH + "/{name}", _asset, include_in_schema=False)


async def _page() -> str:
    return _PAGE


async def _asset(name: str) -> Response:
    if name in _TEXTS:
        text, kind = _TEXTS[name]
        return Response(text, media_type=kind)
    if name not in _FILES:
        raise HTTPException(404, f"no such address: {PATH}/{name}")
    return FileResponse(_folder() / name)


@cache
def _folder() -> Path:
    """Swagger UI's files, which the package `fastapi-offline` brings."""
    found = importlib.util.find_spec("fastapi_offline")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent / "static"
