"""What the schemas share: the bases of request bodies and answers, names and sources."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Generic, Self, TypeVar

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field

Item = TypeVar("Item")
Name = Annotated[str, Field(min_length=1, max_length=200)]
Source = Annotated[str, Field(min_length=1, max_length=1 << 20)]
NumberCursor = Annotated[
    str | None, Query(pattern=r"^[0-9]{1,10}$", description="the `next_cursor` of the page before")
]
"""A cursor of lists whose entries are numbered."""
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Body(BaseModel):
    """Base of request bodies: unknown fields are an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class View(BaseModel):
    """Base of answers. `model_validate` takes a domain value whose attributes have the fields' names."""

    model_config = ConfigDict(frozen=True, from_attributes=True)

    @classmethod
    def from_parts(cls, *parts: object, **own: Any) -> Self:
        """An answer of `own` fields; each other one is an attribute of the first part that has one of its name."""
        names = cls.model_fields.keys() - own.keys()
        known = {name: getattr(next(part for part in parts if hasattr(part, name)), name) for name in names}
        return cls(**known, **own)


class Page(View, Generic[Item]):
    """The form of every list. `next_cursor` is null on the last page, and where a list comes whole or is cut only by
    `limit`; pass it as `cursor` to get what follows."""

    items: tuple[Item, ...]
    next_cursor: str | None = None


def page(items: Iterable[Item], next_cursor: str | None = None) -> Page[Item]:
    """A list as it is answered."""
    return Page(items=tuple(items), next_cursor=next_cursor)


def number_of(cursor: str) -> int:
    """The number that a `NumberCursor` stands for, as far as databases count."""
    return min(int(cursor), (1 << 31) - 1)


def formerly(words: str) -> dict[str, Any]:
    """Options of a computed field that repeats what moved to `items` or `next_cursor`, for one release."""
    return {"description": f"Deprecated: {words}. Gone in the next release.", "json_schema_extra": {"deprecated": True}}


class ProblemDocument(View):
    """An error (RFC 9457)."""

    type: str = "about:blank"
    """What kind of error: an address on this server that says what it means and what to do, `/errors/…`."""
    title: str
    status: int
    detail: str
