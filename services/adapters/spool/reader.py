"""How both sides of a spool read what somebody else wrote: what may be wrong is not believed, or looked at again."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from pathlib import Path
from typing import TypeVar

from services.adapters.spool.files import UnusableFileError, read_whole
from services.adapters.spool.layout import SpoolLayout
from services.adapters.spool.messages import IncompleteError, SealError, SpoolKey, SpoolMessage
from services.domain.errors import StorageError
from services.ports.runtime import Clock

T = TypeVar("T")
SETTLE_S = 30.0
"""So long an incomplete file may stay as it is before it is refused."""


class Watch:
    """How long things have not changed, by this process's own clock: clocks of other machines are never asked."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._seen: dict[str, tuple[Hashable, float, bool]] = {}

    def unchanged_s(self, name: str, state: Hashable) -> float:
        """Seconds since a thing was first seen in its present state; 0 at the first look."""
        now = self._clock.monotonic()
        known = self._seen.get(name)
        if known is None or known[0] != state:
            self._seen[name] = (state, now, known is not None)
            return 0.0
        return now - known[1]

    def moved(self, name: str) -> bool:
        """Whether a thing was ever seen to change."""
        return name in self._seen and self._seen[name][2]

    def keep(self, names: set[str]) -> None:
        """Forget all others."""
        self._seen = {name: seen for name, seen in self._seen.items() if name in names}


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
