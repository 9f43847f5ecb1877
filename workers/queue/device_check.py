"""Whether a worker's device is still there, looked at between orders."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

CHECK_S = 30.0
"""So old the last look may be when an order is taken: a look takes some tenths of a second."""


class DeviceCheck:
    """Looks now and then, so that no order is taken for a device that is gone."""

    def __init__(self, look: Callable[[], None], *, every_s: float = CHECK_S) -> None:
        """`look` raises `DeviceLostError` where the device is gone."""
        self._look = look
        self._every_s = every_s
        self._looked_at = -math.inf

    def now_and_then(self) -> None:
        """Look, if the last look was a while ago. Raises `DeviceLostError`."""
        if time.monotonic() - self._looked_at >= self._every_s:
            self._look()
            self._looked_at = time.monotonic()
