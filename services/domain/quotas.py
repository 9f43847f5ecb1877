"""Quotas: what a team may use in a day or a month."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum


class Resource(StrEnum):
    """What is counted."""

    JOBS = "jobs"
    """Submitted jobs, evaluations included."""
    TOKENS = "tokens"
    """Input and output tokens of model calls."""
    DOLLARS = "dollars"
    """Price of model calls, as far as it is known."""
    DEVICE_S = "device_s"
    """Seconds of workers' time."""


class Period(StrEnum):
    """From when to when, in UTC."""

    DAY = "day"
    MONTH = "month"

    def start(self, now: datetime) -> datetime:
        """The beginning of the period that `now` lies in."""
        midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
        return midnight if self is Period.DAY else midnight.replace(day=1)

    def end(self, now: datetime) -> datetime:
        """The beginning of the next one."""
        if self is Period.DAY:
            return self.start(now) + timedelta(days=1)
        return (self.start(now) + timedelta(days=32)).replace(day=1)


@dataclass(frozen=True, kw_only=True)
class Quota:
    """A team's limit."""

    resource: Resource
    period: Period
    most: float


@dataclass(frozen=True, kw_only=True)
class QuotaUsage:
    """A limit and how much of it is used."""

    quota: Quota
    used: float
    resets_at: datetime

    @property
    def is_spent(self) -> bool:
        """Whether nothing is left."""
        return self.used >= self.quota.most
