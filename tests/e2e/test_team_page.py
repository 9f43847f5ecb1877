"""The Team page in Chromium before the real API and a real identity provider: sign in, invite, make and end a token."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.browsing import Visitor, a_browser, skip_unless_there, take_picture, visiting
from tests.e2e.programs import a_free_port, run, running
from tests.fakes.identity_provider import CLIENT, SECRET, identity_provider

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.timeout(400),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning"),
]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An API with a team, an admin and a quota, whose people sign in at a provider of its own."""
    skip_unless_there()
    home, port = tmp_path_factory.mktemp("home"), a_free_port()
    for arguments in (
        ("team", "create", "kernels"),
        ("user", "add", "ada@x", "--team", "kernels", "--role", "admin"),
        ("user", "add", "bob@x", "--team", "kernels", "--role", "viewer"),
        ("team", "quota", "kernels", "jobs=1/day", "dollars=50/month"),
    ):
        done = run(*arguments, home=home)
        assert done.returncode == 0, done.stderr
    with identity_provider() as provider:
        settings = {
            "KERNELWRIGHT_OIDC_ISSUER": provider.address,
            "KERNELWRIGHT_OIDC_CLIENT_ID": CLIENT,
            "KERNELWRIGHT_OIDC_CLIENT_SECRET": SECRET,
            "KERNELWRIGHT_OIDC_NAME": "Example ID",
        }
        with running("api", "--port", str(port), home=home, **settings) as program:
            program.wait_for(rf"http://127\.0\.0\.1:{port} ")
            yield f"http://127.0.0.1:{port}"


@pytest.fixture(params=["light", "dark"])
def visitor(request: pytest.FixtureRequest, address: str) -> Iterator[Visitor]:
    size = {"width": 1280, "height": 1200}
    with a_browser() as browser, visiting(browser, address, viewport=size, color_scheme=request.param) as tab:
        yield tab
        assert tab.complaints == []


def test_an_admin_signs_in_invites_somebody_and_makes_and_ends_a_token(
    visitor: Visitor, request: pytest.FixtureRequest
) -> None:
    page, scheme = visitor.page, str(request.node.callspec.params["visitor"])
    page.goto("/team")
    page.get_by_role("link", name="Sign in with Example ID").click()
    page.wait_for_url("**/team")
    page.get_by_role("heading", name="Members").wait_for()
    page.locator("[data-member='ada@x']").wait_for()
    _invite(page, f"eve-{scheme}@x")
    _make_and_end_a_token(page, f"nightly {scheme}")
    page.locator("[data-quota=jobs]").wait_for()
    page.locator("[data-act=revoke_token]").first.wait_for()
    take_picture(page, f"team-{scheme}", full_page=True)
    found = visitor.violations()
    assert found == [], "\n".join(found)
    page.set_viewport_size({"width": 320, "height": 720})
    assert visitor.violations() == []
    take_picture(page, f"team-phone-{scheme}")
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("link", name="Sign in with Example ID").wait_for()


def _invite(page: Any, login: str) -> None:
    page.get_by_label("Email address").fill(login)
    page.get_by_role("button", name="Add member").click()
    page.locator(f"[data-member='{login}']").wait_for()


def _make_and_end_a_token(page: Any, name: str) -> None:
    page.get_by_role("textbox", name="Name", exact=True).fill(name)
    page.get_by_role("button", name="Create token").click()
    shown = page.locator("[data-token-text] code")
    shown.wait_for()
    text = shown.inner_text()
    line = page.locator(f"[data-token='{text.split('_')[1]}']")
    line.wait_for()
    page.get_by_role("button", name="Done").click()
    shown.wait_for(state="detached")
    assert text not in page.content()
    page.get_by_role("button", name=f"Revoke {name}").click()
    line.get_by_text("revoked").wait_for()
