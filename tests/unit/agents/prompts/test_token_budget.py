"""How long prompts are, and what is left out first."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agents.prompts.render import render_fitting, render_system, render_user
from agents.prompts.token_budget import SectionTokens, cut, keep, tokens
from agents.roles.replies import CoderReply, InspectionReply, PlannerReply, RefineCritique, schema_of
from services.domain.chat import AgentRole, ModelLimits, SearchBrief
from services.domain.errors import ModelError
from services.domain.experiences import RecalledExperience
from tests.doubles import a_report, an_experience
from tests.unit.agents.prompts.prompt_facts import a_refine_round
from tests.unit.agents.search_states import accepted, rejected

MOST_TOKENS = 12_000
HUGE = "x = 1  # a line of a program\n" * 20_000


@pytest.mark.parametrize(
    ("role", "schema"),
    [
        (AgentRole.PLANNER, PlannerReply),
        (AgentRole.CODER, CoderReply),
        (AgentRole.JUDGE, RefineCritique),
        (AgentRole.JUDGE, InspectionReply),
    ],
)
def test_a_typical_refine_prompt_stays_under_twelve_thousand_tokens(
    role: AgentRole, schema: type[PlannerReply]
) -> None:
    facts = a_refine_round()

    system, user = render_system(role, facts, schema_of(schema)), render_user(role, facts)

    assert tokens(system.content) + tokens(user.content) < MOST_TOKENS


@pytest.mark.parametrize("role", AgentRole)
def test_what_was_tried_and_recalled_does_not_grow_a_prompt_without_bound(role: AgentRole) -> None:
    facts = a_refine_round()
    others = tuple(replace(item, source=HUGE, critique=HUGE) for item in facts.attempts * 100)
    facts = replace(facts, attempts=others, brief=SearchBrief(text=HUGE, inspirations=others[:2]))

    system, user = render_system(role, facts, {}), render_user(role, facts)

    assert tokens(system.content) + tokens(user.content) < 1.3 * MOST_TOKENS


@pytest.mark.parametrize("role", [AgentRole.PLANNER, AgentRole.CODER])
def test_no_source_of_sixty_kilobytes_is_cut(role: AgentRole) -> None:
    source = "".join(f"x{line} = {line}  # a line of a program\n" for line in range(1800))
    assert len(source) > 60_000
    facts = a_refine_round()
    facts = replace(facts, start_point=replace(facts.attempts[-1], source=source))

    message, _ = render_fitting(role, facts, "", ModelLimits(), (render_system(role, facts, {}),))

    assert source in message.content


def test_a_small_window_gets_a_prompt_that_fits_without_the_older_matter() -> None:
    facts, limits = a_refine_round(), ModelLimits(window_tokens=16_384, output_tokens=8192)
    system = render_system(AgentRole.CODER, facts, schema_of(CoderReply))

    user, most_output = render_fitting(AgentRole.CODER, facts, "", limits, (system,))

    used = tokens(system.content) + tokens(user.content)
    assert used + most_output <= limits.window_tokens
    assert most_output >= 4096
    assert facts.start_point is not None
    assert (facts.start_point.source or "") in user.content
    assert "wider wider" in user.content, "the plan stays"


def test_a_window_too_small_says_what_to_shorten() -> None:
    facts = a_refine_round()
    facts = replace(facts, start_point=replace(facts.attempts[-1], source=HUGE))
    limits = ModelLimits(window_tokens=16_384)

    with pytest.raises(
        ModelError, match=r"window holds 16384 .*shorten the start point's source \(about 19\d+ tokens\)"
    ):
        render_fitting(AgentRole.CODER, facts, "", limits, ())


def test_the_experience_of_least_value_and_the_oldest_steps_go_first() -> None:
    facts = a_refine_round()
    items = tuple(
        RecalledExperience(
            experience=replace(an_experience(text="words " * 100), id=f"exp-{value}"), similarity=0.5, value=value
        )
        for value in (0.3, -0.5, 0.9, 0.1)
    )
    attempts = tuple(
        replace(rejected(step), critique="wrong " * 60, report=a_report(median_us=200.0 + step)) for step in range(40)
    )
    facts = replace(facts, experiences=items, attempts=(accepted(0, 10.0), *attempts[1:]), start_point=None)

    prompt = render_user(AgentRole.PLANNER, facts).content

    assert "exp-0.9" in prompt
    assert "exp-0.3" in prompt
    assert "exp--0.5" not in prompt
    assert prompt.index("exp-0.3") < prompt.index("exp-0.9"), "what stays keeps its order"
    assert "step 39" in prompt
    assert "step 2 " not in prompt
    assert "at 10.0 µs" in prompt, "the best one stays, however old"
    assert "older steps left out" in prompt


def test_a_cut_text_keeps_its_ends_and_says_what_is_missing() -> None:
    text = "begin " + "x" * 10_000 + " end"

    short = cut(text, 100)

    assert short.startswith("begin")
    assert short.endswith("end")
    assert "bytes left out" in short
    assert tokens(short) < 120
    assert cut("short", 100) == "short"
    assert cut("µ" * 1000, 50).count("�") == 0


def test_the_item_worth_most_stays_however_long() -> None:
    assert keep(["x" * 999, "y"], 10, lambda item: item, len) == ["x" * 999]
    assert keep(["x", "y"], 0, lambda item: item, len) == []
    assert SectionTokens().failure > SectionTokens().evaluation, "a compiler's errors are read whole"
