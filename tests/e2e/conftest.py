"""A browser and a service for the modules that look at the web UI; both last as long as the module."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.browsing import Service, a_browser, serving, skip_unless_there


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    skip_unless_there()
    with a_browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def service(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(tmp_path_factory.mktemp("home"), KERNELWRIGHT_WEBHOOK_PRIVATE_HOSTS="true") as running:
        yield running
