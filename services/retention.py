"""Applying retention: what is kept for a time only goes, round after round, until nothing is left to do."""

from __future__ import annotations

import logging

from services.domain.deletion import Expired, Retention
from services.ports.jobs import Expiry

log = logging.getLogger(__name__)

PAUSE_S = 60.0
"""How often it is looked."""


class RetentionService:
    """Removes what has expired. Several at a time do no harm."""

    def __init__(self, expiry: Expiry, kept: Retention) -> None:
        self._expiry = expiry
        self._kept = kept

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
