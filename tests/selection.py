"""What `make test` takes of many cases of one kind: of a corpus of kernels what a reviewed file names. `make test-full`
takes all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest
from _pytest.mark import ParameterSet

T = TypeVar("T")


def selected(file: Path) -> tuple[str, ...]:
    """The names in a file: one a line; comments and empty lines are left out."""
    lines = (line.strip() for line in file.read_text().splitlines())
    return tuple(line for line in lines if line and not line.startswith("#"))


def parameters(corpus: Iterable[T], name: Callable[[T], str], file: Path) -> list[ParameterSet]:
    """A corpus as parameters of a test, each under its name: what the file does not name is marked `full`."""
    chosen = frozenset(selected(file))
    return [pytest.param(one, id=name(one), marks=() if name(one) in chosen else pytest.mark.full) for one in corpus]


def with_full(cases: Iterable[T], kept: Sequence[T]) -> list[T | ParameterSet]:
    """Cases of a test, of which `make test` takes those that are kept."""
    return [case if case in kept else pytest.param(case, marks=pytest.mark.full) for case in cases]


def collected(request: pytest.FixtureRequest, parameter: str) -> list[Any]:
    """The values of a parameter with which tests of the requesting module run: its fixtures prepare no others."""
    values: list[Any] = []
    for item in request.session.items:
        if isinstance(item, pytest.Function) and item.module is request.module and hasattr(item, "callspec"):
            value = item.callspec.params.get(parameter)
            if value is not None and value not in values:
                values.append(value)
    return values
