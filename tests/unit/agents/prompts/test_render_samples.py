"""The prompts under docs/prompts are those of today's templates, and short enough."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from agents.prompts.render import FOLDER, template_hash
from agents.prompts.token_budget import tokens
from services.domain.chat import AgentRole

PAGES = Path(__file__).parents[4] / "docs" / "prompts"
ROLES = {"plan": AgentRole.PLANNER, "draft": AgentRole.CODER, "refine": AgentRole.CODER, "judge": AgentRole.JUDGE}
AGAIN = "run: python examples/model_server/record_prompts.py"
every_page = pytest.mark.parametrize("page", ROLES)


def texts(page: str) -> list[str]:
    """The messages of a sample."""
    return re.findall(r"^~~~~~~~~text\n(.*?)\n~~~~~~~~$", (PAGES / f"{page}.md").read_text(), re.DOTALL | re.MULTILINE)


def sections(role: AgentRole) -> set[str]:
    """The headings that a role's templates can give."""
    files = (FOLDER / f"{role.value}.md.j2", FOLDER / "frame.md.j2", FOLDER / "rules.md.j2")
    return {line for file in files for line in file.read_text().splitlines() if line.startswith("## ")}


@every_page
def test_a_sample_is_of_the_templates_that_are_used(page: str) -> None:
    said = re.search(r"templates `([0-9a-f]{16})`", (PAGES / f"{page}.md").read_text())
    assert said is not None
    assert said.group(1) == template_hash(ROLES[page], "cpp")[:16], AGAIN


@every_page
def test_a_sample_has_the_sections_of_its_templates(page: str) -> None:
    found = [line for text in texts(page) for line in text.splitlines() if line.startswith("## ")]
    assert set(found) <= sections(ROLES[page]), AGAIN
    assert {"## Device", "## Problem", "## Analysis", "## Your part", "## Task"} <= set(found), AGAIN
    assert len(texts(page)) == 2


@every_page
def test_a_sample_says_how_long_it_is_and_is_under_the_limit(page: str) -> None:
    count = sum(map(tokens, texts(page)))
    assert f"About {count:,} tokens" in (PAGES / f"{page}.md").read_text(), AGAIN
    assert count < 12_000
