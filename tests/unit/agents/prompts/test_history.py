"""What a prompt tells of the attempts so far."""

from __future__ import annotations

from dataclasses import replace

from agents.prompts.render import render_user
from services.domain.chat import AgentRole
from services.domain.measurements import Baselines
from tests.doubles import a_latency
from tests.unit.agents.search_states import accepted, rejected
from tests.unit.agents.some_facts import some_facts


def test_a_candidate_has_one_latency_in_a_prompt() -> None:
    first = accepted(0, 100.0)
    assert first.report is not None
    # a rival that ran at another pace this time: the ranking allows for it, the figure shown stays the measured one
    paced = replace(first.report, baselines=Baselines(eager=a_latency(300.0)))
    first, second = replace(first, report=paced), replace(accepted(1, 80.0, parent=0), source="class ModelNew: ...")

    prompt = render_user(AgentRole.CODER, some_facts(attempts=(first, second), start_point=second)).content

    assert f"{first.candidate_id} (100.0 µs) became {second.candidate_id} (80.0 µs)" in prompt
    assert "150.0 µs" not in prompt


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
