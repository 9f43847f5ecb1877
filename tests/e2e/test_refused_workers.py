"""A worker that could not begin, and a token for its node, in Chromium before the real service."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.browsing import Service, Visitor, a_browser, serving, settled, skip_unless_there, visiting
from tests.e2e.programs import run

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.timeout(300),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning"),
]


@pytest.fixture(scope="module")
def spool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    skip_unless_there()
    made: Path = tmp_path_factory.mktemp("spool")
    return made


@pytest.fixture(scope="module")
def service(spool: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    home = tmp_path_factory.mktemp("home")
    assert run("spool", "key", home=home).returncode == 0
    with serving(home, KERNELWRIGHT_SPOOL=str(spool)) as there:
        yield there


@pytest.fixture
def visitor(service: Service) -> Iterator[Visitor]:
    with a_browser() as browser, visiting(browser, service.address) as tab:
        yield tab
        assert tab.complaints == []


def test_a_worker_that_could_not_begin_is_a_marked_row_with_its_reason(
    service: Service, spool: Path, visitor: Visitor
) -> None:
    refused = run("worker", "--spool", str(spool), "--device", "abacus", home=service.home)
    assert refused.returncode == 2
    (listed,) = [worker for worker in service.items("/workers") if worker["node"]["state"] == "refused"]
    assert listed["node"]["fault"] in " ".join(refused.stderr.split())
    page: Any = visitor.page
    page.goto("/workers")
    row = page.get_by_role("region", name=f"Refused worker {listed['name']}")
    row.get_by_text(listed["node"]["fault"]).wait_for()
    row.get_by_text("refused", exact=True).wait_for()
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        settled(page)
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            assert visitor.violations() == []


def test_an_operator_makes_a_token_for_a_device_node(service: Service, visitor: Visitor) -> None:
    page: Any = visitor.page
    page.goto("/team")
    page.get_by_role("textbox", name="Name", exact=True).fill("rack-1")
    page.get_by_label("For a device node").check()
    page.get_by_label("Devices whose orders it takes").fill("h200, compile")
    page.get_by_role("button", name="Create token").click()
    text = page.locator("[data-token-text] code").inner_text()
    page.locator(f"[data-token='{text.split('_')[1]}']").get_by_text("node (compile, h200)").wait_for()
    assert visitor.violations() == []
    (made,) = service.items("/tokens")
    assert (made["scopes"], made["devices"], made["user_id"]) == (["node"], ["compile", "h200"], None)
