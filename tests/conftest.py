"""What holds for every tier."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests import real_time_guard
from tests.ending import close_all

if TYPE_CHECKING:
    from tests.spreading import Groups

_CPU_BEFORE = pytest.StashKey[float]()
UNIT = Path(__file__).parent / "unit"
real_time_guard.install()

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as under nohup; the programs that are tested would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _logging_stays_as_it_was() -> Iterator[None]:
    """A command sends the log to the standard error of its test, which is closed when the next one writes there."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers, root.level = handlers, level


_under_way: list[pytest.Item] = []


@pytest.hookimpl(optionalhook=True)
def pytest_asyncio_loop_factories() -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """What makes a test's event loop. It is asked before a test's parameters, and so their marks, are known."""
    return {"of this suite": _event_loop}


def _event_loop() -> asyncio.AbstractEventLoop:
    """With virtual time, a loop that jumps to what is waited for next."""
    if not any(item.get_closest_marker("virtual_time") for item in _under_way):
        return asyncio.new_event_loop()
    from looptime import make_event_loop_class

    made: asyncio.AbstractEventLoop = make_event_loop_class(asyncio.SelectorEventLoop)()
    return made


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None]:
    _under_way[:] = [item]
    yield from _guarded(item)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    yield from _guarded(item)


def _guarded(item: pytest.Item) -> Generator[None]:
    """Fail a unit test, or one in virtual time, that waits for real time or starts a program."""
    if not (item.path.is_relative_to(UNIT) or item.get_closest_marker("virtual_time")):
        yield
        return
    with real_time_guard.watched() as seen:
        yield
    if seen:
        pytest.fail(
            f"this test may neither wait nor start programs, but {'; '.join(seen)}: {real_time_guard.REMEDY}",
            pytrace=False,
        )


def _cpu_seconds() -> float:
    """What this process and those it waited for have computed, in user and system time: another load doesn't count."""
    return sum(os.times()[:4])


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    item.stash[_CPU_BEFORE] = _cpu_seconds()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if call.when == "teardown":
        report.user_properties.append(("cpu_s", _cpu_seconds() - item.stash[_CPU_BEFORE]))
    return report


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    from tests.spreading import processes

    return processes() if config.option.dist == "loadfile" else None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Groups | None:
    from tests.spreading import Groups

    return Groups(config, log) if config.option.dist == "loadfile" else None


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """What the tests have imported stays: no collection of garbage has to look at it again."""
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    gc.unfreeze()
    close_all()
    if session.config.getoption("numprocesses", None):  # this process handed the tests out, and the others have ended
        from tests.docker_host import stop_unused

        stop_unused()
