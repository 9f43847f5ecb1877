"""Types of columns that both databases keep alike."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import DateTime, Dialect, Text, TypeDecorator


class UtcDateTime(TypeDecorator[datetime]):
    """An aware time in UTC. SQLite keeps no zone, so it is put back on reading; a naive time is a mistake."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Convert to UTC; SQLite's own type wants it without the zone."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"naive time {value.isoformat()}: times are aware and in UTC")
        utc = value.astimezone(UTC)
        return utc.replace(tzinfo=None) if dialect.name == "sqlite" else utc

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        """Give the zone back."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class CleanText(TypeDecorator[str]):
    """Text from models, compilers and people: NUL (which PostgreSQL refuses) and lone surrogates become U+FFFD."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        """Replace what no database can keep."""
        if value is None or (value.isascii() and "\0" not in value):
            return value
        return value.replace("\0", "\ufffd").encode(errors="surrogatepass").decode(errors="replace")
