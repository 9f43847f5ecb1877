"""How migrations write tables with many columns."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa


def columns(kind: sa.types.TypeEngine[Any], *names: str, nullable: bool = False) -> list[sa.Column[Any]]:
    """Columns of one type, without defaults."""
    return [sa.Column(name, kind, nullable=nullable) for name in names]
