"""Problems: check one by reading it, and examples to start from."""

from __future__ import annotations

from fastapi import APIRouter

from services.problems.lint import lint_problem, public_source
from web.context import Services, Team
from web.errors import responses
from web.schemas.base import Page, page
from web.schemas.problems import ExampleView, LintView, ProblemBody

router = APIRouter(prefix="/problems", tags=["problems"])


@router.get("", responses=responses(503))
async def list_problems(_team: Team, services: Services) -> Page[ExampleView]:
    """The example problems of this installation."""
    return page(ExampleView(name=problem.name, source=problem.source) for problem in services.examples())


@router.post("/lint", responses=responses(422))
async def lint(body: ProblemBody, _team: Team) -> LintView:
    """Check a problem by reading it; 422 with line and remedy when something is wrong. Nothing is executed."""
    problem = body.problem()
    lint_problem(problem)
    return LintView(ok=True, public_source=public_source(problem))
