"""How long prompts are, and what is left out first."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from agents.prompts.predictions import describe, mean_error, predictions
from agents.prompts.render import render_fitting, render_system, render_user
from agents.prompts.token_budget import SectionTokens, cut, keep, tokens
from agents.roles.replies import CoderReply, InspectionReply, PlannerReply, RefineCritique, schema_of
from services.domain.chat import (
    AgentRole,
    AttemptFact,
    Facts,
    HypothesisFact,
    ModelLimits,
    MoveFact,
    PlanFact,
    SearchBrief,
)
from services.domain.errors import ModelError
from services.domain.experiences import RecalledExperience
from services.domain.jobs import Stage
from services.domain.profiles import Profile
from tests.doubles import a_problem, a_report, an_experience
from tests.unit.agents.search_states import accepted, planned, rejected
from tests.unit.agents.some_facts import some_facts

EXAMPLE = Path(__file__).parents[3] / "examples" / "problems" / "layernorm_silu.py"
MOST_TOKENS = 12_000


def a_long_kernel(step: int) -> str:
    """About as long as the kernels of refined jobs: 150 lines."""
    lines = "\n".join(f"        acc{line} += x[i + {line}] * w[{line}] + {step};" for line in range(120))
    return f'SOURCE = r"""\nextern "C" void run(const float* x, float* y) {{\n{lines}\n}}\n"""\nclass ModelNew: ...\n'


def a_refine_round() -> Facts:
    """Ten steps done, six experiences, two other candidates, 24 counters, a critique."""
    profile = Profile(
        source="ncu", metrics={f"sm__metric_{n}.avg": n / 3 for n in range(40)}, bottleneck="memory", reason="82 %"
    )
    report = replace(a_report(median_us=100.0), profile=profile)
    attempts: list[AttemptFact] = []
    for step in range(10):
        attempt = replace(accepted(step, 150.0 - step, parent=step - 1 if step else None), source=a_long_kernel(step))
        attempt = replace(attempt, report=replace(report), critique="the tail is skipped; " * 30, stage=Stage.REFINE)
        attempts.append(planned(attempt, f"idea-{step}", HypothesisFact(id="x", parent=None, statement="y")))
    experience = replace(an_experience(), text="vectorise the inner loop and keep sums in registers. " * 8)
    return replace(
        some_facts(
            problem=a_problem(EXAMPLE.read_text(), name="layernorm_silu"),
            attempts=tuple(attempts),
            start_point=attempts[-1],
            experiences=tuple(
                RecalledExperience(experience=replace(experience, id=f"exp-{n}"), similarity=0.5, value=0.1 * n)
                for n in range(6)
            ),
            plan=PlanFact(start_point=None, hypothesis="wider " * 40, moves=(MoveFact(name="tile"),), expected_gain=2),
            source=a_long_kernel(11),
            report=report,
        ),
        stage=Stage.REFINE,
        brief=SearchBrief(text="- line\n" * 200, inspirations=tuple(attempts[3:5])),
    )


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


HUGE = "x = 1  # a line of a program\n" * 20_000


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


def test_variants_stand_side_by_side_with_their_scores_and_what_a_change_brought() -> None:
    attempts = (
        replace(accepted(0, 100.0), source="a = 1\nb = 2\n"),
        replace(accepted(1, 80.0, parent=0), source="a = 1\nb = 3\n"),
        replace(rejected(2, parent=1), source="a = 9\nb = 3\n"),
    )

    prompt = render_user(AgentRole.PLANNER, some_facts(attempts=attempts, start_point=attempts[1])).content

    assert prompt.index("at 80.0 µs") < prompt.index("at 100.0 µs") < prompt.index("rejected at correctness")
    contrast = prompt[prompt.index("What changes of code brought") :]
    assert "(100.0 µs) became" in contrast
    assert "-b = 2\n+b = 3" in contrast
    assert "(not accepted) by:" in contrast
    assert "-a = 1\n+a = 9" in contrast


def test_the_diagnosis_comes_last_and_what_is_stable_first() -> None:
    facts = a_refine_round()
    system = render_system(AgentRole.CODER, facts, {"type": "object"}).content
    user = render_user(AgentRole.CODER, facts).content

    order = ["## Device", "## Backend", "## Problem", "## Analysis", "You are the Coder"]
    assert [system.index(part) for part in order] == sorted(system.index(part) for part in order)
    order = [
        "## Experiences",
        "## Other candidates",
        "## Trajectory",
        "## Start point",
        "## Plan",
        "## Diagnosis",
        "## Task",
    ]
    assert [user.index(part) for part in order] == sorted(user.index(part) for part in order)
    planner = render_system(AgentRole.PLANNER, facts, {"type": "object"}).content
    shared = system.index("## Your part")
    assert planner[:shared] == system[:shared], "roles share a prefix that providers can cache"


def test_the_judge_reads_the_counters_that_the_profiler_selected() -> None:
    facts = replace(a_refine_round(), metrics=("sm__metric_3.avg",))

    prompt = render_user(AgentRole.JUDGE, facts).content

    assert "sm__metric_3.avg" in prompt
    assert "sm__metric_4.avg" not in prompt


def test_a_branch_of_a_beam_is_told_to_be_different() -> None:
    facts = replace(some_facts(), branch=2, width=4)

    assert "candidate 3 of 4" in render_user(AgentRole.PLANNER, facts).content
    assert "candidate 3" not in render_user(AgentRole.PLANNER, some_facts()).content


def test_the_coder_is_asked_for_tunables_and_offered_edits_only_where_there_is_a_start() -> None:
    fresh = render_user(AgentRole.CODER, some_facts()).content
    later = render_user(AgentRole.CODER, a_refine_round()).content

    assert "`TUNABLES`" in fresh
    assert "answer with `edits`" not in fresh
    assert "answer with `edits`" in later


def test_the_planner_sees_how_good_its_predictions_were() -> None:
    attempts = (
        accepted(0, 100.0),
        planned(accepted(1, 80.0, parent=0), "a", gain=2.5),
        planned(rejected(2, parent=1), "b", gain=3.0),
        planned(accepted(3, 40.0, parent=1), "c", gain=2.0),
    )

    found = predictions(attempts)

    assert [(item.step, item.expected, item.measured) for item in found] == [(1, 2.5, 1.25), (3, 2.0, 2.0)]
    assert mean_error(found) == pytest.approx(0.3466, abs=1e-3)
    assert describe(found).endswith("Off by 41% on average, too high.")
    assert "2.50× expected, 1.25× measured" in render_user(AgentRole.PLANNER, some_facts(attempts=attempts)).content
    assert mean_error(()) is None


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
