"""The Team page in Chromium before the real API and a real identity provider: sign in, invite, make and end a token."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.browsing import Visitor, a_browser, skip_unless_there, visiting
from tests.e2e.showcase import a_team

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.timeout(400),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning"),
]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    skip_unless_there()
    with a_team(tmp_path_factory.mktemp("home")) as there:
        yield there


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
    found = visitor.violations()
    assert found == [], "\n".join(found)
    page.set_viewport_size({"width": 320, "height": 720})
    assert visitor.violations() == []
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
