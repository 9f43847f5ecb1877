"""How both sides of a spool read what somebody else wrote: what may be wrong is not believed, or looked at again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from services.adapters.spool.files import UnusableFileError, read_whole
from services.adapters.spool.layout import SpoolLayout
from services.adapters.spool.sealed import IncompleteError, SealError, SpoolKey, SpoolMessage
from services.adapters.spool.watch import Watch
from services.domain.errors import StorageError

T = TypeVar("T")
SETTLE_S = 30.0
"""So long an incomplete file may stay as it is before it is refused."""


class SpoolReader:
    """Reads sealed files; one that is not to be believed is put aside, an incomplete one after a while."""

    def __init__(
        self, layout: SpoolLayout, key: SpoolKey, watch: Watch, undecided: Callable[[str], None] = lambda _name: None
    ) -> None:
        """`undecided` is told of files that may still be written, as `folder/name`."""
        self._layout = layout
        self._key = key
        self._watch = watch
        self._undecided = undecided

    def read(self, path: Path, checked: Callable[[SpoolMessage], T]) -> T | None:
        """What `checked` makes of a file's message; it raises `SealError` for one that is not to be believed. None
        where there is no such file, or no whole one yet. Raises `StorageError`."""
        try:
            return checked(self._key.open(read_whole(path)))
        except FileNotFoundError:
            return None
        except IncompleteError as error:
            self._not_yet(path, str(error))
        except (SealError, UnusableFileError) as error:
            self._layout.refuse(path, str(error))
        except OSError as error:
            raise StorageError(f"the spool cannot be read ({path}): {error.strerror or error}") from None
        return None

    def _not_yet(self, path: Path, why: str) -> None:
        try:
            found = path.stat()
        except OSError:
            return
        watched = f"{path.parent.name}/{path.name}"
        waited_s = self._watch.unchanged_s(watched, (found.st_size, found.st_mtime_ns))
        if waited_s >= SETTLE_S:
            self._layout.refuse(path, f"{why}, and nothing was added for {waited_s:.0f} s")
        else:
            self._undecided(watched)
