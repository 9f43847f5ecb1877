"""A pytest plugin (`-p tests.sampling`): as many of the tests as a time allows, in an order drawn from a seed.

Tests of one problem follow each other and share its referee, so problems are drawn, each with all its tests. CI draws
by the commit's hash: the same commit has the same sample where the machine is as fast, and every commit another one.
"""

from __future__ import annotations

import random
import sys
import time

import pytest

ENDS = pytest.StashKey[float]()
LEFT = pytest.StashKey[int]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("sampling")
    group.addoption("--seed", required=True, help="what the order is drawn from, for example a commit's hash")
    group.addoption("--most-s", type=float, required=True, help="seconds after which no further test begins")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Draw the order of the problems."""
    turns: dict[str, float] = {}
    drawn = random.Random(config.getoption("--seed"))
    for item in items:
        turns.setdefault(_problem(item), drawn.random())
    items.sort(key=lambda item: turns[_problem(item)])


def pytest_runtestloop(session: pytest.Session) -> None:
    """Start the clock."""
    session.stash[ENDS] = time.monotonic() + session.config.getoption("--most-s")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> bool | None:
    """Leave out what would begin too late: it is neither run nor reported."""
    if time.monotonic() < item.session.stash[ENDS]:
        return None
    item.session.stash[LEFT] = item.session.stash.get(LEFT, 0) + 1
    return True


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Say how large the sample was."""
    total, left = session.testscollected, session.stash.get(LEFT, 0)
    within = f"within {session.config.getoption('--most-s'):g} s, drawn by {session.config.getoption('--seed')}"
    sys.stdout.write(f"\nsample: {total - left} of {total} tests {within}\n")


def _problem(item: pytest.Item) -> str:
    """The problem that a test's kernel solves; a test without kernel stands for itself."""
    parameters = getattr(item, "callspec", None)
    values = parameters.params.values() if parameters else ()
    return next((str(value.problem) for value in values if hasattr(value, "problem")), item.nodeid)
