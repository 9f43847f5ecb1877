"""What all tables share: their metadata, the columns that name a team and a job, and indexes on a part of the rows."""

from __future__ import annotations

from sqlalchemy import Column, ForeignKey, Index, MetaData, Text, text

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def team_column() -> Column[str]:
    """The team that a row belongs to."""
    return Column("team_id", Text, ForeignKey("teams.id"), nullable=False)


def job_column(*, primary_key: bool = False) -> Column[str]:
    """The job that a row belongs to."""
    return Column("job_id", Text, ForeignKey("jobs.id"), nullable=False, primary_key=primary_key)


def partial_index(name: str, *columns: str, where: str) -> Index:
    """An index on the rows that a condition holds for."""
    return Index(name, *columns, sqlite_where=text(where), postgresql_where=text(where))
