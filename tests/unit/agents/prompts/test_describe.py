"""Figures in words."""

from __future__ import annotations

from dataclasses import replace

from agents.prompts import describe
from agents.prompts.render import render_user
from services.domain.chat import AgentRole
from services.domain.evaluations import Tuned, TunedSetting
from services.domain.measurements import Baselines
from tests.doubles import a_latency, a_report
from tests.unit.agents.search_states import accepted
from tests.unit.agents.some_facts import some_facts


def test_figures_have_intervals_and_a_step_within_noise_says_so() -> None:
    first, same, slower = accepted(0, 100.0), accepted(1, 99.5, parent=0), accepted(2, 150.0, parent=0)
    facts = replace(
        some_facts(attempts=(first, same, slower), start_point=same), baselines=Baselines(eager=a_latency(200.0))
    )

    prompt = render_user(AgentRole.PLANNER, facts).content

    assert "Reference: eager 200.0 µs (196.0 to 204.0)" in prompt
    assert "accepted at 99.5 µs (97.5 to 101.5)" in prompt
    assert "within noise of its parent: 1.0" in prompt
    assert "slower than its parent: 0.67× (" in prompt


def test_the_tuners_whole_table_is_shown_fastest_first() -> None:
    settings = tuple(
        TunedSetting(parameters={"BLOCK": block}, median_us=median)
        for block, median in ((64, 30.0), (128, 20.0), (256, None))
    )
    report = replace(a_report(), tuned=Tuned(parameters={"BLOCK": 128}, tried=3, settings=settings))

    text = describe.report(report)

    assert "tuned: BLOCK=128 (best of 3)\n  BLOCK=128: 20.0 µs\n  BLOCK=64: 30.0 µs\n  BLOCK=256: failed" in text
