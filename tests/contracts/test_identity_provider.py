"""What every `IdentityProvider` does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from services.adapters.oidc.provider import OidcProvider
from services.domain.access import Identity
from services.domain.errors import AuthenticationError
from services.ports.teams import IdentityProvider
from tests.doubles import FakeIdentityProvider
from tests.fakes.identity_provider import CLIENT, SECRET, identity_provider

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:websockets", "ignore::DeprecationWarning:uvicorn")
HOME = "http://127.0.0.1:8000/auth/callback"


@dataclass(frozen=True, kw_only=True)
class Setup:
    """A provider, and how a browser that is sent there comes back."""

    provider: IdentityProvider
    back: Callable[[str], Awaitable[str]]


@pytest.fixture(params=["double", "oidc"])
def setup(request: pytest.FixtureRequest) -> Iterator[Setup]:
    if request.param == "double":
        person = Identity(issuer="https://id.example", subject="17", name="Ada", email="ada@x")
        yield Setup(provider=FakeIdentityProvider(person), back=_itself)
        return
    with identity_provider() as running:
        yield Setup(provider=OidcProvider(running.address, CLIENT, SECRET, "Example ID"), back=_redirected)


async def test_whoever_comes_back_from_the_provider_is_told(setup: Setup) -> None:
    address, attempt = await setup.provider.begin(HOME)
    came = await setup.back(address)
    assert came.startswith(f"{HOME}?")
    assert _given(came, "state") == attempt.state
    identity = await setup.provider.finish(HOME, _given(came, "code"), attempt)
    assert (identity.subject, identity.name, identity.email) == ("17", "Ada", "ada@x")


async def test_a_code_works_once_and_only_for_its_own_attempt(setup: Setup) -> None:
    address, attempt = await setup.provider.begin(HOME)
    code = _given(await setup.back(address), "code")
    await setup.provider.finish(HOME, code, attempt)
    with pytest.raises(AuthenticationError):
        await setup.provider.finish(HOME, code, attempt)
    address, attempt = await setup.provider.begin(HOME)
    code = _given(await setup.back(address), "code")
    with pytest.raises(AuthenticationError):
        await setup.provider.finish(HOME, code, replace(attempt, verifier="x" * 64))


async def _itself(address: str) -> str:
    return address


async def _redirected(address: str) -> str:
    async with httpx.AsyncClient() as browser:
        return (await browser.get(address)).headers["location"]


def _given(address: str, name: str) -> str:
    return parse_qs(urlsplit(address).query)[name][0]
