"""Unit tests know nothing of the machine's settings, wait for nothing and start nothing."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from looptime import make_event_loop_class

from tests import unhurried

settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")
"""A machine that does other work besides is no fault of what is tested: no test fails by the clock."""

FOLDER = Path(__file__).parent
unhurried.install()
_SETTINGS = re.compile(r"KERNELWRIGHT_|OPENAI_|ANTHROPIC_")


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key or an address in the developer's environment changes no outcome."""
    for name in os.environ:
        if _SETTINGS.match(name):
            monkeypatch.delenv(name)


def pytest_asyncio_loop_factories(item: pytest.Item) -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """What makes a test's event loop: with virtual time, it jumps to what is waited for next."""
    if item.get_closest_marker("virtual_time"):
        return {"virtual": make_event_loop_class(asyncio.SelectorEventLoop)}
    return {"real": asyncio.new_event_loop}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None]:
    yield from _unhurried(item)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    yield from _unhurried(item)


def _unhurried(item: pytest.Item) -> Generator[None]:
    """Fail a test of this tier that waits for real time or starts a program."""
    if not item.path.is_relative_to(FOLDER):
        yield
        return
    with unhurried.watched() as seen:
        yield
    if seen:
        pytest.fail(
            f"a unit test neither waits nor starts programs, but {'; '.join(seen)}: {unhurried.REMEDY}", pytrace=False
        )
