"""Signing in with a browser: who comes back, and where to."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from services.domain.access import Identity, Role
from tests.doubles import FakeIdentityProvider
from tests.unit.web.test_app import Installation

HOME = "http://127.0.0.1:8000"
ADA = Identity(issuer="https://id.example", subject="17", name="Ada", email="ada@x")


@pytest.fixture
async def installation(tmp_path: Path) -> AsyncIterator[Installation]:
    made = Installation(tmp_path / "kernelwright_rt.py", identity=FakeIdentityProvider(ADA), open_here=False)
    await made.services.access.create_team("red", "test")
    await made.services.access.add_member("red", "ada@x", Role.MEMBER, "test")
    yield made
    await made.client.aclose()


async def begin(browser: httpx.AsyncClient, back: str = "/team") -> str:
    """Where the provider sends a browser that begins to sign in."""
    begun = await browser.get(f"{HOME}/auth/login", params={"back": back})
    assert begun.status_code == 302
    return begun.headers["location"]


async def test_a_person_who_was_added_signs_in(installation: Installation) -> None:
    browser = installation.client
    answer = await browser.get(await begin(browser))
    assert (answer.status_code, answer.headers["location"]) == (303, "/team")
    assert (await browser.get("/me")).json()["user"] == "ada@x"


async def test_a_return_that_this_browser_did_not_begin_signs_nobody_in(installation: Installation) -> None:
    browser = installation.client
    async with installation.another_client() as victim:
        back = await begin(browser)
        assert "not begun in this browser" in (await victim.get(back)).text
        await begin(victim)
        assert "not begun in this browser" in (await victim.get(back)).text
    assert (await browser.get(back)).status_code == 303
    assert (await browser.get(back)).status_code == 401  # once only


@pytest.mark.parametrize("back", ["https://evil.example", "//evil.example", "/\\evil.example", "", "javascript:1"])
async def test_nobody_is_sent_to_another_site_after_signing_in(installation: Installation, back: str) -> None:
    answer = await installation.client.get(await begin(installation.client, back))
    assert answer.headers["location"] == "/"


async def test_without_a_provider_only_tokens_work(tmp_path: Path) -> None:
    made = Installation(tmp_path / "kernelwright_rt.py")
    async with made.client as browser:
        assert (await browser.get(f"{HOME}/auth/methods")).json() == {"provider": None}
        assert (await browser.get(f"{HOME}/auth/login")).status_code == 404
