"""A browser and a service for the modules that look at the web UI, and what they said where a test fails."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any

import pytest

from tests.e2e.browsing import Service, Visitor, a_browser, serving, skip_unless_there

LAST_LINES = 60


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    skip_unless_there()
    with a_browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def service(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(tmp_path_factory.mktemp("home"), KERNELWRIGHT_WEBHOOK_PRIVATE_HOSTS="true") as running:
        yield running


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if call.when == "call" and call.excinfo is not None:
        report.sections += [section for used in getattr(item, "funcargs", {}).values() for section in _said(used)]
    return report


def _said(used: Any) -> Iterator[tuple[str, str]]:
    if isinstance(used, Service) and used.program is not None:
        yield "the service's last words", "".join(used.program.lines[-LAST_LINES:])
    if isinstance(used, Visitor):
        try:
            words = str(used.page.locator("body").inner_text(timeout=5_000))
        except Exception as error:  # noqa: BLE001 -- a page that crashed must not hide why the test failed
            words = f"it says nothing: {error}"
        yield f"the page {used.page.url}", words
