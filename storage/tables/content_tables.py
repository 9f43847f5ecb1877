"""Large texts and files, kept once under their hash."""

from __future__ import annotations

from sqlalchemy import Column, ForeignKey, Integer, LargeBinary, Table, Text

from storage.tables.schema import metadata

blobs = Table(
    "blobs",
    metadata,
    Column("team_id", Text, ForeignKey("teams.id"), primary_key=True),
    Column("hash", Text, primary_key=True),
    Column("bytes", Integer, nullable=False),
    Column("content", LargeBinary),
)
"""`content` is null where the bytes lie in the artefact directory under their hash."""

doomed_files = Table(
    "doomed_files",
    metadata,
    Column("team_id", Text, ForeignKey("teams.id"), primary_key=True),
    Column("hash", Text, primary_key=True),
)
"""Contents whose row is gone and whose file is still to be removed: a file cannot be part of a transaction."""
