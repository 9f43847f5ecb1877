"""The port of a set of problems, and a set made of items that are read one by one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from services.domain.candidates import content_hash
from services.domain.errors import ProblemError, UserError
from services.domain.problems import Problem


@dataclass(frozen=True, kw_only=True)
class SuiteProblem:
    """One problem of a suite."""

    number: int
    """What `--problems` calls it."""
    key: str
    """Name of its row: the same on every call, and fit for a file."""
    problem: Problem
    """Without text where the item could not be read."""
    refusal: ProblemError | None = None
    """Why it cannot be read; the others of the suite go on."""
    group: str | None = None
    """The suite's own category."""

    @property
    def source_hash(self) -> str:
        """Content hash of the problem's text."""
        return content_hash(self.problem.source)


def outdated(reason: str, path: Path) -> ProblemError:
    """What to say of a file that is not as the suite has it today."""
    return ProblemError(reason, remedy="Check the suite out anew.", path=str(path))


class Suite(Protocol):
    """A published set of problems on this machine, or the user's own files."""

    @property
    def name(self) -> str:
        """What `--suite` calls it."""

    @property
    def level(self) -> int | None:
        """Which part of it; None where it has no parts."""

    def problems(self) -> tuple[SuiteProblem, ...]:
        """All of them, by number. Raises `UserError` where there are none."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """One problem that an item holds."""

    source: str
    """In KernelBench form."""
    variant: str = ""
    """What tells it from the item's other problems: `M1-N4096`; empty for the only one."""
    group: str | None = None
    """The suite's own category."""


class Form(Protocol):
    """The form in which a suite writes its items down. Nothing of an item is executed to read it."""

    @property
    def name(self) -> str:
        """What `--suite` calls it."""

    @property
    def advice(self) -> str:
        """Where a checkout comes from."""

    def find(self, checkout: Path) -> Sequence[Path]:
        """The items of a checkout: folders or files, in order."""

    def holds(self, path: Path) -> bool:
        """Whether a path is one of this form's items."""

    def read(self, item: Path) -> Sequence[Reading]:
        """An item's problems. Raises `UserError`, mostly `ProblemError`, saying what cannot be read."""


class ItemSuite:
    """A checkout in some form."""

    level = None

    def __init__(self, form: Form, checkout: Path, part: str | None = None) -> None:
        """`part` is a folder of the checkout, relative to it: only what lies there counts."""
        self._form = form
        self._checkout = checkout
        self._part = part

    @property
    def name(self) -> str:
        """The form's."""
        return self._form.name

    def problems(self) -> tuple[SuiteProblem, ...]:
        """All of them by number; an item that cannot be read is one with a refusal. Raises `UserError`."""
        inside = self._checkout / (self._part or "")
        items = [item for item in self._form.find(self._checkout) if item.is_relative_to(inside)]
        if not items:
            raise UserError(f"{inside}: no {self._form.name} problems: {self._form.advice}")
        found = [one for item in items for one in self._read(item)]
        return tuple(_numbered(found))

    def _read(self, item: Path) -> list[SuiteProblem]:
        name = item.relative_to(self._checkout).as_posix()
        name = name.removesuffix(item.suffix) if item.is_file() else name
        try:
            return read_item(self._form, item, name)
        except UserError as error:
            refusal = error if isinstance(error, ProblemError) else _as_refusal(error, item)
            return [SuiteProblem(number=0, key=name, problem=_problem(name, "", item), refusal=refusal)]


def read_item(form: Form, item: Path, name: str) -> list[SuiteProblem]:
    """An item's problems, numbered from 1 and called after `name`. Raises `UserError`."""
    return [
        SuiteProblem(
            number=number,
            key=_key(f"{name}.{one.variant}" if one.variant else name),
            problem=_problem(f"{name}.{one.variant}" if one.variant else name, one.source, item),
            group=one.group,
        )
        for number, one in enumerate(form.read(item), start=1)
    ]


def _numbered(found: Sequence[SuiteProblem]) -> Iterator[SuiteProblem]:
    seen: dict[str, int] = {}
    for number, one in enumerate(found, start=1):
        key = _key(one.key)
        seen[key] = seen.get(key, 0) + 1
        yield SuiteProblem(
            number=number,
            key=key if seen[key] == 1 else f"{key}-{seen[key]}",
            problem=one.problem,
            refusal=one.refusal,
            group=one.group,
        )


def _key(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.=+-]+", ".", name)[:160]


def _problem(name: str, source: str, item: Path) -> Problem:
    return Problem(name=_key(name), source=source, path=str(item))


def _as_refusal(error: UserError, item: Path) -> ProblemError:
    return outdated(str(error).removeprefix(f"{item}: "), item)
