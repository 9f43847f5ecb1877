"""Which kernels of a corpus `make test` judges: those that a reviewed file names. `make test-full` judges all."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

import pytest
from _pytest.mark import ParameterSet

T = TypeVar("T")


def selected(file: Path) -> tuple[str, ...]:
    """The names in a file: one a line, beside comments and empty lines."""
    lines = (line.strip() for line in file.read_text().splitlines())
    return tuple(line for line in lines if line and not line.startswith("#"))


def parameters(corpus: Iterable[T], name: Callable[[T], str], file: Path) -> list[ParameterSet]:
    """A corpus as parameters of a test, each under its name: what the file does not name is marked `full`."""
    chosen = frozenset(selected(file))
    return [pytest.param(one, id=name(one), marks=() if name(one) in chosen else pytest.mark.full) for one in corpus]
