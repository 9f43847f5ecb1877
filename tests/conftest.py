"""What holds for every tier."""

from __future__ import annotations

import logging
import signal
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.ending import close_all

if TYPE_CHECKING:
    from tests.spreading import Groups

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as under nohup; the programs that are tested would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _logging_stays_as_it_was() -> Iterator[None]:
    """A command sends the log to the standard error of its test, which is closed when the next one writes there."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers, root.level = handlers, level


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    from tests.spreading import processes

    return processes() if config.option.dist == "loadfile" else None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Groups | None:
    from tests.spreading import Groups

    return Groups(config, log) if config.option.dist == "loadfile" else None


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    close_all()
    if session.config.getoption("numprocesses", None):  # this process handed the tests out, and the others have ended
        from tests.docker_host import stop_unused

        stop_unused()
