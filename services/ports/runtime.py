"""Time, so that tests can hold it still."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """Time, so that tests can hold it still."""

    def now(self) -> datetime:
        """Wall time, aware, in UTC."""

    def monotonic(self) -> float:
        """Seconds that never go back."""

    async def sleep(self, seconds: float) -> None:
        """Wait."""
