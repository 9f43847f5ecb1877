"""Every error has a kind, and every kind a page."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.web.test_app import PROBLEM, Installation
from web.error_types import ERROR_TYPES


@pytest.mark.parametrize("name", ERROR_TYPES)
async def test_every_kind_of_error_has_a_page(tmp_path: Path, name: str) -> None:
    client = Installation(tmp_path).client
    page = await client.get(f"http://127.0.0.1:8000/errors/{name}")
    assert page.status_code == 200
    assert f"<h1>{name}" in page.text
    assert "What to do" in page.text
    assert f"/errors/{name}'" in (await client.get("http://127.0.0.1:8000/errors")).text


async def test_errors_name_their_kind(tmp_path: Path) -> None:
    client = Installation(tmp_path).client
    broken = {"problem": PROBLEM | {"source": "x = ("}}
    asked = {
        "not-found": await client.get("/jobs/none"),
        "invalid-request": await client.get("/jobs?limit=0"),
        "refused": await client.post("/jobs", json={"problem": PROBLEM, "backend": "none"}),
        "problem-file": await client.post("/jobs", json=broken),
        "method-not-allowed": await client.put("/jobs"),
        "too-large": await client.post("/jobs", content=b"x" * 100_001),
    }
    told = {name: answer.json()["type"] for name, answer in asked.items()}
    assert told == {name: f"/errors/{name}" for name in asked}


async def test_a_kind_that_there_is_not_is_not_found_and_not_echoed_as_markup(tmp_path: Path) -> None:
    page = await Installation(tmp_path).client.get("http://127.0.0.1:8000/errors/<script>")
    assert page.status_code == 404
    assert page.headers["content-type"] == "application/problem+json"
