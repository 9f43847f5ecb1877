"""Care for a GPU that others use too, and that a candidate may have broken."""

from __future__ import annotations

from collections.abc import Callable

from workers.ipc.placement import TensorDevice


class DeviceCare:
    """Keeps others off a GPU while it is used, and does not use one that a candidate may have broken."""

    def __init__(self, place: TensorDevice, hold: Callable[[], float]) -> None:
        self._place = place
        self._hold = hold
        self.doubtful = False
        """Whether a candidate's process ended so that the device has to show that it still works."""

    def take(self) -> float:
        """Have the device until the request is answered; the seconds that took. Raises `InfrastructureError`."""
        if not self._place.is_gpu:
            return 0.0
        waited = self._hold()
        if self.doubtful:
            self._place.check_health()
            self.doubtful = False
        return waited
