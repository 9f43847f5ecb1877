"""What is left out of prompts to save tokens, and that nothing which an answer needs is."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from agents.prompts.render import render_system, render_user
from agents.prompts.schema_text import schema_text
from agents.roles.replies import (
    CoderReply,
    DiagnosedPlannerReply,
    DraftCritique,
    InspectionReply,
    PlannerReply,
    ProfilerReply,
    RefineCritique,
    Reply,
    schema_of,
)
from benchmarks.prompt_sections import PREAMBLE, by_section, section_bytes, table
from services.domain.chat import AgentRole, ChatMessage, Facts, PlanFact
from services.domain.evaluations import Verdict
from services.domain.events import JsonValue
from services.domain.experiences import RecalledExperience
from services.domain.jobs import Stage
from services.domain.steps import ModelCall
from services.domain.usage import Usage
from tests.doubles import an_experience
from tests.unit.agents.search_states import accepted
from tests.unit.agents.test_prompt_budgets import a_long_kernel, a_refine_round
from tests.unit.agents.test_prompt_sections import BACKENDS, facts_of

REPLIES = (
    PlannerReply,
    DiagnosedPlannerReply,
    CoderReply,
    DraftCritique,
    RefineCritique,
    InspectionReply,
    ProfilerReply,
)
SYSTEM = ("Device", "Backend", "Problem", "Analysis", "Your part")
USER = {
    AgentRole.PLANNER: ("Experiences", "Search", "Other candidates", "Trajectory", "Start point", "Diagnosis", "Task"),
    AgentRole.CODER: ("Experiences", "Other candidates", "Trajectory", "Start point", "Plan", "Diagnosis", "Task"),
    AgentRole.JUDGE: ("Plan", "Candidate", "Evaluation", "Task"),
    AgentRole.PROFILER: ("Candidate", "Evaluation", "Task"),
}
DIAGNOSED = PlanFact(start_point=None, hypothesis="wider", moves=(), expected_gain=2.0, diagnosis="one core works")


def proven(source: str, *, speedup: float = 1.8, subject: str = "another problem.", device: str = "cpu") -> Facts:
    """A refine round whose memory has one kernel of another job."""
    experience = replace(
        an_experience(text=f"{subject} Moves: fuse. Outcome: accepted at 90.0 µs, {speedup:.2f}× the best baseline."),
        verdict=Verdict.ACCEPTED,
        code=source,
        speedup=speedup,
        device=device,
        job_id="job-2",
    )
    item = RecalledExperience(experience=experience, similarity=0.9, value=0.5)
    return replace(a_refine_round(), experiences=(item,))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("role", AgentRole)
def test_every_role_has_its_sections_and_each_holds_something(role: AgentRole, backend: str) -> None:
    facts = replace(a_refine_round(), backend=backend, device=facts_of(backend).device)

    system = section_bytes(render_system(role, facts, schema_of(PlannerReply)).content)
    user = section_bytes(render_user(role, facts).content)

    rules = ("Rules and timing",) if role is AgentRole.CODER else ()
    assert set(system) == {PREAMBLE, *SYSTEM, *rules}
    assert set(user) == set(USER[role])
    assert min(system.values()) > 40
    assert min(user.values()) > 40


@pytest.mark.parametrize("backend", BACKENDS)
def test_each_backends_sheet_shows_a_whole_candidate_and_how_to_declare_tunables(backend: str) -> None:
    prompt = render_system(AgentRole.PLANNER, facts_of(backend), {}).content

    for promised in (
        "class ModelNew(torch.nn.Module)",
        {"cpp": "compile_cpp(SOURCE)", "triton": "@triton.jit", "cuda": "compile_cuda(SOURCE)"}[backend],
        "the computation is in" if backend != "cuda" else "The caller allocates outputs",
        "the workers search them",
    ):
        assert promised in prompt


@pytest.mark.parametrize("kind", REPLIES)
def test_the_schema_of_a_prompt_names_every_field_and_is_shorter(kind: type[Reply]) -> None:
    whole = schema_of(kind)
    shown = json.loads(schema_text(whole))

    assert set(shown["properties"]) == set(kind.model_fields)
    assert shown.get("required") == whole.get("required")
    assert len(schema_text(whole)) < 0.8 * len(json.dumps(whole))


def test_a_field_that_is_called_like_a_word_of_the_schema_language_stays() -> None:
    schema: dict[str, JsonValue] = {
        "properties": {"title": {"type": "string", "title": "Title"}, "n": {"anyOf": [{"type": "null"}, {}]}}
    }

    assert json.loads(schema_text(schema)) == {
        "properties": {"title": {"type": "string"}, "n": {"type": ["null", None]}}
    }


def test_where_the_plan_diagnoses_the_coder_reads_no_counters_and_a_failure_stays_whole() -> None:
    facts = a_refine_round()
    diagnosed = render_user(AgentRole.CODER, replace(facts, plan=DIAGNOSED)).content

    assert "sm__metric_3.avg" in render_user(AgentRole.CODER, facts).content
    assert "sm__metric_3.avg" not in diagnosed
    assert "one core works" in diagnosed
    assert "accepted at 100.0 µs" in diagnosed
    assert "sm__metric_3.avg" in render_user(AgentRole.PLANNER, facts).content


def test_a_kernel_much_like_the_start_point_is_told_by_what_differs() -> None:
    alike = a_long_kernel(9).replace("acc60 +=", "acc60 = 2 *")
    other = "def unlike():\n" + "    pass  # nothing in common\n" * 60

    told = render_user(AgentRole.CODER, proven(alike)).content
    whole = render_user(AgentRole.CODER, proven(other)).content

    assert 'name="from the start point to the kernel of experience' in told
    assert "+        acc60 = 2 *" in told
    assert alike not in told
    assert other in whole


def test_a_slower_kernel_of_the_same_problem_and_device_is_not_shown() -> None:
    facts = a_refine_round()
    own = facts.start_point.report.speedup.best_baseline if facts.start_point and facts.start_point.report else None
    assert own is not None
    kernel, subject = "def unlike():\n" + "    pass\n" * 60, facts.analysis.subject

    def shown(speedup: float, **where: str) -> bool:
        return kernel in render_user(AgentRole.CODER, proven(kernel, speedup=speedup, **where)).content

    assert shown(own + 0.5, subject=subject)
    assert not shown(own - 0.5, subject=subject)
    assert shown(own - 0.5), "another problem's speedup compares with nothing here"
    assert shown(own - 0.5, subject=subject, device="h200"), "nor does another device's"


def test_in_draft_every_proven_kernel_is_shown_and_in_refine_one() -> None:
    kernels = [f"def kernel_{n}():\n    pass\n" for n in range(3)]
    items = tuple(
        replace(item, experience=replace(item.experience, id=f"exp-{n}", code=code, job_id=f"job-{n + 2}"))
        for n, code in enumerate(kernels)
        for item in proven(code).experiences
    )
    refining = replace(a_refine_round(), experiences=items)
    drafting = replace(refining, stage=Stage.DRAFT, start_point=None, attempts=())

    assert [code in render_user(AgentRole.CODER, refining).content for code in kernels] == [True, False, False]
    assert all(code in render_user(AgentRole.CODER, drafting).content for code in kernels)


def test_a_candidates_experience_says_its_outcome_once() -> None:
    facts = proven("def kernel():\n    pass\n")
    title = "norm in cpp: fuse: accepted at 90.0 µs, 1.80× the best baseline"
    (item,) = facts.experiences
    told = replace(item, experience=replace(item.experience, title=title))
    bare = replace(item, experience=replace(item.experience, title=title, text="fuse it"))

    assert title not in render_user(AgentRole.PLANNER, replace(facts, experiences=(told,))).content
    assert title in render_user(AgentRole.PLANNER, replace(facts, experiences=(bare,))).content


def test_sections_are_counted_by_heading_and_a_heading_in_fenced_text_is_none() -> None:
    text = 'before\n## One\n<data-0a0a0a0a name="x">\n## Two\n</data-0a0a0a0a>\n## Three\nµ\n'
    call = ModelCall(
        role=AgentRole.CODER,
        model="m",
        prompt=(ChatMessage(role="user", content=text), ChatMessage(role="user", content="## One\n")),
        prompt_hash="",
        reply="",
        usage=Usage(),
        seconds=0.0,
    )

    sizes = by_section([call])

    assert {heading for _, heading in sizes} == {PREAMBLE, "One", "Three"}
    assert sum(sizes.values()) == len(text.encode()) + 7
    assert table(sizes).splitlines()[1].split()[:2] == ["One", str(sizes["coder", "One"])]


def test_the_start_points_figures_are_those_of_its_report() -> None:
    first = accepted(0, 100.0)
    facts = replace(a_refine_round(), attempts=(first,), start_point=first, plan=DIAGNOSED)

    assert "accepted at 100.0 µs (98.0 to 102.0)" in render_user(AgentRole.CODER, facts).content
