"""Links that show one job's report without signing in."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, kw_only=True)
class ReportShare:
    """One link to one job's report, as stored: its token is known to those who have the link only."""

    id: str
    team_id: str
    job_id: str
    digest: str
    """SHA-256 of the token, in hexadecimal digits."""
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None = None

    def is_open(self, now: datetime) -> bool:
        """Whether the link shows anything."""
        return self.revoked_at is None and now < self.expires_at
