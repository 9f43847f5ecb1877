"""Source is parsed by several threads at once, as workers and servers do."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import services.problems.source
from services.domain.python_source import parsed

SOURCE = Path(services.problems.source.__file__).read_text()


class _Slow:
    """What the garbage collector ends by running Python code, so that another thread may go on meanwhile."""

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        sum(range(2000))


@pytest.fixture
def hurried() -> Iterator[None]:
    """Threads that take turns, and garbage that is collected, as often as Python can."""
    interval, thresholds = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(1e-6)
    gc.set_threshold(50)
    yield
    gc.set_threshold(*thresholds)
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("hurried")
def test_threads_that_parse_at_once_all_get_their_tree() -> None:
    def statements(_: int) -> int:
        garbage = [_Slow() for _ in range(50)]
        del garbage
        return len(parsed(SOURCE).body)

    expected = len(parsed(SOURCE).body)
    with ThreadPoolExecutor(6) as pool:
        assert set(pool.map(statements, range(24))) == {expected}


def test_errors_are_those_of_the_parser() -> None:
    with pytest.raises(SyntaxError) as caught:
        parsed("x = (", "problem.py")
    assert caught.value.filename == "problem.py"
