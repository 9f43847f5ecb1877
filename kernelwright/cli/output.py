"""What commands print: results on standard output, everything for people on standard error."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from services.domain import codec
from services.domain.errors import UserError
from services.domain.measurements import Gain

if TYPE_CHECKING:
    from rich.console import Console

T = TypeVar("T")
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
GAINS: dict[str, str] = {
    Gain.SURELY: "[green]faster[/]",
    Gain.WITHIN_NOISE: "[yellow]within noise[/]",
    Gain.NONE: "slower",
}
"""A gain in a terminal. Green is for what is surely faster, here as in the web UI."""


@cache
def errors() -> Console:
    """The console on standard error."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, soft_wrap=not sys.stderr.isatty())


@cache
def answers() -> Console:
    """The console on standard output."""
    from rich.console import Console

    # Nothing is cut off or wrapped for a program that reads us.
    return Console(highlight=False, width=None if sys.stdout.isatty() else 400)


def print_table(headings: Sequence[str], rows: Iterable[Sequence[str]], *, folding: Container[str] = ()) -> None:
    """A table on standard output; cells are plain text. Columns keep to one line but those named in `folding`."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in headings:
        table.add_column(heading, no_wrap=heading not in folding)
    for row in rows:
        table.add_row(*map(escape, row))
    answers().print(table)


def print_list(
    found: Sequence[T],
    headings: Sequence[str],
    cells: Callable[[T], Sequence[str]],
    *,
    as_json: bool,
    folding: Container[str] = (),
    none: str = "",
) -> None:
    """What was found, as JSON or as a table with a row for each; `none` is said below an empty table."""
    if as_json:
        print_json(found)
        return
    print_table(headings, map(cells, found), folding=folding)
    if none and not found:
        say(none)


def print_json(value: object) -> None:
    """One JSON document on standard output."""
    sys.stdout.write(json.dumps(codec.to_data(value), indent=2) + "\n")
    sys.stdout.flush()


def minute(moment: str) -> str:
    """A moment of a document, to the minute."""
    return moment[:16].replace("T", " ")


def say(line: str) -> None:
    """One plain line on standard error."""
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


@contextmanager
def interruptible(hint: Callable[[], str] = str) -> Iterator[None]:
    """Turn Ctrl-C into exit code 130, with a hint for how to go on, which is asked for then."""
    try:
        yield
    except KeyboardInterrupt:
        how = hint()
        say(f"\ninterrupted{how and f': {how}'}")
        raise typer.Exit(130) from None


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an `OSError` about a file that the user named into a `UserError`."""
    try:
        yield
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror or error}") from None


def debugging() -> bool:
    """Whether unexpected errors are shown with their traces (`KERNELWRIGHT_DEBUG=1`)."""
    return os.environ.get("KERNELWRIGHT_DEBUG", "") not in ("", "0")
