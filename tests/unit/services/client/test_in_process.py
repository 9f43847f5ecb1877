"""A client reaches an app in its own process as it reaches a server."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from fastapi.middleware.gzip import GZipMiddleware

from services.client import Client
from services.client.in_process import AppTransport
from services.domain.errors import InfrastructureError


def an_app() -> FastAPI:
    app = FastAPI()
    app.add_middleware(GZipMiddleware, minimum_size=1)

    @app.post("/api/v1/jobs")
    async def submit(body: dict[str, Any]) -> dict[str, Any]:
        return {"id": "job-1", "loop": id(asyncio.get_running_loop()), **body}

    return app


def a_client() -> Client:
    return Client("http://127.0.0.1", transport=AppTransport(httpx.ASGITransport(an_app()), asyncio.get_running_loop()))


async def test_requests_are_answered_on_the_apps_loop() -> None:
    with a_client() as client:
        found = await asyncio.to_thread(client.submit, {"device": "cpu"})
    assert found == {"id": "job-1", "loop": id(asyncio.get_running_loop()), "device": "cpu"}


async def test_what_the_app_lacks_is_told_like_a_servers() -> None:
    with a_client() as client, pytest.raises(InfrastructureError, match="is not a Kernelwright server"):
        await asyncio.to_thread(client.result, "job-1")
