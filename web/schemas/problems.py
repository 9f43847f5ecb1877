"""Problems as submitted, linted and shown as examples."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from services.domain.problems import Problem
from web.schemas.base import Body, Name, Source, View


class ProblemBody(Body):
    """A problem as submitted."""

    source: Source
    """The whole module in KernelBench form."""
    name: Name = "problem"
    path: Annotated[str, Field(min_length=1, max_length=1000)] = "problem.py"
    """What messages call the file."""
    allow_library: tuple[Name, ...] = ()
    objective: Annotated[str, Field(max_length=4000)] = ""
    """Which figure counts over several input sets: `geometric_mean`, `geometric_mean:NAME=WEIGHT,…`, `worst` or
    `set:NAME`; empty for the problem's own `OBJECTIVE`, else the geometric mean."""

    def problem(self) -> Problem:
        """The domain's problem."""
        return Problem(**dict(self))


class LintView(View):
    """A problem that reading finds nothing wrong with."""

    ok: bool
    public_source: str
    """The text that agents see: `HELD_OUT` cut out."""


class ExampleView(View):
    """An example problem."""

    name: str
    source: str
