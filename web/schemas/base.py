"""What the schemas share: the bases of request bodies and answers, names and sources."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Name = Annotated[str, Field(min_length=1, max_length=200)]
Source = Annotated[str, Field(min_length=1, max_length=1 << 20)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Body(BaseModel):
    """Base of request bodies: unknown fields are an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class View(BaseModel):
    """Base of answers. `model_validate` takes a domain value whose attributes have the fields' names."""

    model_config = ConfigDict(frozen=True, from_attributes=True)


class ProblemDocument(View):
    """An error (RFC 9457)."""

    type: str = "about:blank"
    """What kind of error: an address on this server that says what it means and what to do, `/errors/…`."""
    title: str
    status: int
    detail: str
