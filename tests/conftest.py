"""What holds for every tier."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.ending import close_all

if TYPE_CHECKING:
    from tests.spreading import Groups

TESTS = Path(__file__).parent
SECOND_TRY = frozenset({"contracts", "integration", "e2e", "faults"})
"""Tiers whose tests start servers, browsers and containers and may fail because the machine was busy. They are tried
once more, and the summary names them; the corpus of cheats never is: a cheat accepted once is a cheat accepted."""


if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as under nohup; the programs that are tested would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        tier = item.path.relative_to(TESTS).parts[0] if item.path.is_relative_to(TESTS) else ""
        if tier in SECOND_TRY:
            item.add_marker(pytest.mark.flaky(reruns=1))


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
