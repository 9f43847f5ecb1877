"""Applying retention: what is kept for a time only goes, round after round, until nothing is left to do."""

from __future__ import annotations

import asyncio
import logging

from services.domain.deletion import Expired, Retention
from services.domain.errors import InfrastructureError
from services.ports import Clock, Expiry

log = logging.getLogger(__name__)

PAUSE_S = 60.0


class Keeper:
    """Removes what has expired, while a process runs. Several at a time do no harm."""

    def __init__(self, expiry: Expiry, kept: Retention, clock: Clock, *, pause_s: float = PAUSE_S) -> None:
        self._expiry = expiry
        self._kept = kept
        self._clock = clock
        self._pause_s = pause_s

    async def serve(self, stop: asyncio.Event) -> None:
        """Look now and then, until told to stop. What fails is tried again."""
        while not stop.is_set():
            try:
                await self.keep()
            except InfrastructureError as error:
                log.warning("retention waits: %s", error)
            await self._clock.sleep(self._pause_s)

    async def keep(self) -> Expired:
        """Remove all that has expired by now."""
        total = Expired()
        while True:
            found = await self._expiry.expire(self._kept)
            total = Expired(
                jobs=total.jobs + found.jobs,
                contents=total.contents + found.contents,
                files=total.files + found.files,
            )
            if found == Expired():
                if total != Expired():
                    log.info("retention: %d jobs, %d contents, %d files", total.jobs, total.contents, total.files)
                return total
