"""Structured keys: what an experience is about, filtered on before vectors rank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from services.domain.problems import ProblemAnalysis

Mask = NDArray[np.bool_]

RELAXING = ("bottleneck", "shape_class", "dtype", "family")
"""The order in which keys are given up while too few experiences fit; the backend never is."""


@dataclass(frozen=True, kw_only=True)
class Keys:
    """Keys of an experience or of a query; None fits everything."""

    family: str | None = None
    backend: str | None = None
    dtype: str | None = None
    """For example `float32`."""
    shape_class: str | None = None
    """See `shape_class`."""
    bottleneck: str | None = None


NAMES = tuple(field.name for field in fields(Keys))


def shape_class(analysis: ProblemAnalysis) -> str:
    """Coarse class of a problem's shapes: the largest input's rank, and the powers of ten of its rows and columns.

    Kernels are chosen by these (a row that fits a register file, many short rows, few long ones), not by exact sizes.
    """
    shapes = [spec.shape for spec in analysis.inputs]
    if not shapes:
        return "none"
    largest = max(shapes, key=lambda shape: int(np.prod(shape, dtype=np.int64)))
    columns = largest[-1] if largest else 1
    rows = int(np.prod(largest[:-1], dtype=np.int64)) if largest else 1
    return f"{len(largest)}d-r{_magnitude(rows)}-c{_magnitude(columns)}"


def dtype(analysis: ProblemAnalysis) -> str:
    """The dtype of a problem's first floating-point input, else of its first input, else `none`."""
    names = [spec.dtype.removeprefix("torch.") for spec in analysis.inputs]
    return next((name for name in names if "float" in name), names[0] if names else "none")


class KeyTable:
    """The keys of many experiences as columns of small integers, so that filtering 100,000 takes a millisecond."""

    def __init__(self, rows: Sequence[Keys] = ()) -> None:
        self._codes: dict[str, dict[str, int]] = {name: {} for name in NAMES}
        self._columns = {name: np.array([self._code(name, row) for row in rows], dtype=np.int32) for name in NAMES}

    def __len__(self) -> int:
        return len(self._columns["family"])

    def append(self, rows: Sequence[Keys]) -> None:
        """Add experiences behind those that are there."""
        for name in NAMES:
            added = np.array([self._code(name, row) for row in rows], dtype=np.int32)
            self._columns[name] = np.concatenate([self._columns[name], added])

    def append_columns(self, columns: Mapping[str, NDArray[np.int32]], known: Mapping[str, Sequence[str]]) -> None:
        """Add experiences in the form of another table's `columns` and `known`."""
        for name in NAMES:
            codes = self._codes[name]
            renamed = [0, *(codes.setdefault(value, len(codes) + 1) for value in known[name])]
            added = np.array(renamed, dtype=np.int32)[columns[name]]
            self._columns[name] = np.concatenate([self._columns[name], added])

    @property
    def columns(self) -> Mapping[str, NDArray[np.int32]]:
        """Codes by key, shape (experiences,) each: 0 for none, else one more than the place in `known`."""
        return self._columns

    @property
    def known(self) -> dict[str, list[str]]:
        """The values of each key, in order of their codes."""
        return {name: list(codes) for name, codes in self._codes.items()}

    def fitting(self, wanted: Keys, *, at_least: int = 1) -> Mask:
        """Which experiences fit, shape (experiences,): by all keys, giving up `RELAXING` ones until enough fit."""
        names = [name for name in NAMES if name not in RELAXING]
        matches = {name: self._matches(name, wanted) for name in NAMES}
        for given_up in range(len(RELAXING) + 1):
            mask: Mask = np.logical_and.reduce([matches[name] for name in (*names, *RELAXING[given_up:])])
            if np.count_nonzero(mask) >= at_least:
                break
        return mask

    def _code(self, name: str, row: Keys) -> int:
        value: str | None = getattr(row, name)
        return 0 if value is None else self._codes[name].setdefault(value, len(self._codes[name]) + 1)

    def _matches(self, name: str, wanted: Keys) -> Mask:
        value: str | None = getattr(wanted, name)
        if value is None:
            return np.ones(len(self), dtype=bool)
        column = self._columns[name]
        matches: Mask = (column == 0) | (column == self._codes[name].get(value, -1))
        return matches


def _magnitude(count: int) -> int:
    return len(str(max(count, 1))) - 1
