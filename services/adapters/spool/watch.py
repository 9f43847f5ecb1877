"""How long something has not changed, by the watcher's own clock: clocks of other machines are never asked."""

from __future__ import annotations

from collections.abc import Hashable

from services.ports.runtime import Clock


class Watch:
    """Remembers when each thing was last seen to be different."""

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
