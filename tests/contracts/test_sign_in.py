"""Signing in with a browser, before a real OpenID Connect provider on a port of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio

from kernelwright.settings import Settings
from kernelwright.wiring.access import make_identity
from services.adapters.oidc.provider import OidcProvider
from services.domain.access import Role
from services.domain.errors import ConfigurationError
from storage.database import Database
from tests.contracts.teams_server import ADDRESS, TeamServer
from tests.fakes.identity_provider import CLIENT, SECRET, IdentityServer, identity_provider

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:websockets", "ignore::DeprecationWarning:uvicorn")


@pytest.fixture(scope="module")
def running() -> Iterator[IdentityServer]:
    with identity_provider() as provider:
        yield provider


@pytest.fixture
def provider(running: IdentityServer) -> IdentityServer:
    for name, value in vars(IdentityServer()).items():
        if name not in ("address", "keys"):
            setattr(running, name, value)
    return running


@pytest_asyncio.fixture
async def server(sqlite_address: str, tmp_path: Path, provider: IdentityServer) -> AsyncIterator[TeamServer]:
    database = Database(sqlite_address)
    identity = OidcProvider(provider.address, CLIENT, SECRET, "Example ID")
    opened = TeamServer(database, tmp_path / "kernelwright_rt.py", identity=identity)
    await opened.member("red", "ada@x", Role.MEMBER)
    yield opened
    await database.close()


async def asked_provider(address: str) -> str:
    """Where the provider sends a browser that it was sent."""
    async with httpx.AsyncClient() as outside:
        answer = await outside.get(address)
    assert answer.status_code in (302, 303, 307), answer.text
    return answer.headers["location"]


async def signed_in(browser: httpx.AsyncClient, back: str = "/team") -> httpx.Response:
    """The server's answer to the browser's return from the provider."""
    begun = await browser.get(f"{ADDRESS}/auth/login", params={"back": back})
    assert begun.status_code == 302
    return await browser.get(await asked_provider(begun.headers["location"]))


async def test_a_person_signs_in_works_and_signs_out(server: TeamServer) -> None:
    async with server.client(**{"Sec-Fetch-Site": "same-origin"}) as browser:
        assert (await browser.get(f"{ADDRESS}/auth/methods")).json() == {"provider": "Example ID"}
        answer = await signed_in(browser)
        assert (answer.status_code, answer.headers["location"]) == (303, "/team")
        cookie = next(line for line in answer.headers.get_list("set-cookie") if "kernelwright-session" in line)
        assert "HttpOnly" in cookie
        assert "SameSite=lax" in cookie
        assert "Path=/" in cookie
        me = (await browser.get("/me")).json()
        assert (me["team"], me["user"], me["role"], me["by"]) == ("red", "ada@x", "member", "session")
        stolen = dict(browser.cookies)
        assert (await browser.post(f"{ADDRESS}/auth/logout")).status_code == 204
        assert (await browser.get("/me")).status_code == 401
    async with server.client(Cookie=f"kernelwright-session={stolen['kernelwright-session']}") as thief:
        assert (await thief.get("/me")).status_code == 401
    assert (await server.access.audit("red"))[0].action == "sign_in"


async def test_behind_tls_the_cookie_is_for_tls_and_this_host_only(server: TeamServer) -> None:
    public = replace(server.services, public_url="https://kernels.example.org")
    server.app.state.services = public
    async with server.client() as browser:
        begun = await browser.get(f"{ADDRESS}/auth/login")
        assert "redirect_uri=https%3A%2F%2Fkernels.example.org%2Fauth%2Fcallback" in begun.headers["location"]
        assert "Secure" in begun.headers["set-cookie"]
        state = begun.headers["set-cookie"].partition("kernelwright-sign-in=")[2].partition(";")[0]
        back = httpx.URL(await asked_provider(begun.headers["location"]))
        answer = await browser.get(
            f"{ADDRESS}/auth/callback", params=dict(back.params), headers={"Cookie": f"kernelwright-sign-in={state}"}
        )
    assert answer.status_code == 303, answer.text
    cookie = next(line for line in answer.headers.get_list("set-cookie") if "session" in line)
    assert cookie.startswith("__Host-kernelwright-session=")
    assert "Secure" in cookie
    assert "Domain" not in cookie


LIES: dict[str, dict[str, Any]] = {
    "another client's token": {"aud": "somebody-else"},
    "a token for several clients": {"aud": [CLIENT, "somebody-else"]},
    "another provider's token": {"iss": "https://evil.example"},
    "an old token": {"exp": 1_000_000_000},
    "a token from the future": {"iat": 4_000_000_000},
    "another attempt's token": {"nonce": "replayed"},
}


@pytest.mark.parametrize("what", LIES)
async def test_a_token_that_was_not_made_for_this_attempt_is_not_believed(
    server: TeamServer, provider: IdentityServer, what: str
) -> None:
    provider.lies = LIES[what]
    async with server.client() as browser:
        answer = await signed_in(browser)
        assert answer.status_code == 401
        assert "cannot be believed" in answer.text
        assert (await browser.get("/me")).status_code == 401


async def test_a_forged_signature_is_not_believed(server: TeamServer, provider: IdentityServer) -> None:
    provider.forged = True
    async with server.client() as browser:
        assert "cannot be believed" in (await signed_in(browser)).text


async def test_a_key_that_the_provider_has_changed_is_fetched(server: TeamServer, provider: IdentityServer) -> None:
    async with server.client() as browser:
        assert (await signed_in(browser)).status_code == 303
        provider.rotate()
        assert (await signed_in(browser)).status_code == 303


async def test_an_address_is_asked_for_where_the_token_has_none(server: TeamServer, provider: IdentityServer) -> None:
    provider.only_userinfo = True
    async with server.client() as browser:
        assert (await signed_in(browser)).status_code == 303


async def test_an_address_that_nobody_has_verified_lets_nobody_in(server: TeamServer, provider: IdentityServer) -> None:
    provider.person["email_verified"] = False
    async with server.client() as browser:
        answer = await signed_in(browser)
        assert answer.status_code == 403
        assert "is not a user here" in answer.text


async def test_strangers_are_told_whom_to_ask_and_nothing_they_write_is_executed(
    server: TeamServer, provider: IdentityServer
) -> None:
    provider.person = {"sub": "99", "email": "<script>alert(1)</script>", "email_verified": True}
    async with server.client() as browser:
        answer = await signed_in(browser)
    assert answer.status_code == 403
    assert "ask an admin to add you" in answer.text
    assert "<script>" not in answer.text


async def test_a_refusal_and_a_provider_that_is_away_are_told(
    server: TeamServer, provider: IdentityServer, tmp_path: Path
) -> None:
    provider.refusal = "access_denied"
    async with server.client() as browser:
        answer = await signed_in(browser)
        assert answer.status_code == 401
        assert "access_denied" in answer.text
    away = OidcProvider("http://127.0.0.1:9", CLIENT, SECRET, "Example ID")
    server.app.state.services = replace(server.services, identity=away)
    async with server.client() as browser:
        answer = await browser.get(f"{ADDRESS}/auth/login")
        assert answer.status_code == 503
        assert "cannot be reached: the server's log says which" in answer.json()["detail"]
        assert "127.0.0.1:9" not in answer.text  # where it lies is no stranger's business


def test_settings_of_a_provider_are_complete_and_safe() -> None:
    with pytest.raises(ConfigurationError, match="KERNELWRIGHT_OIDC_CLIENT_ID"):
        make_identity(Settings(oidc_issuer="https://id.example"))
    with pytest.raises(ConfigurationError, match="https://"):
        make_identity(Settings(oidc_issuer="http://id.example", oidc_client_id="kw"))
    settings = Settings(oidc_issuer="https://id.example", oidc_client_id="kw", public_url="https://kernels.example/")
    assert make_identity(settings) is not None
    assert not settings.is_open("127.0.0.1")
