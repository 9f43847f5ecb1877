"""What stands behind the advice that comes with the program, and how prompts say it."""

from __future__ import annotations

from dataclasses import replace

from agents.prompts.render import render_user
from benchmarks.practice_pairs.pairs import PAIRS
from services.domain.chat import AgentRole
from services.domain.experiences import Experience, ExperienceKind, RecalledExperience
from services.team_memory.seeds import (
    UNVERIFIED,
    SeedEvidence,
    evidence_of,
    seed_experiences,
    seed_titles,
    verifications,
)
from tests.doubles import an_experience
from tests.unit.agents.some_facts import some_facts


def verified(low: float, high: float) -> SeedEvidence:
    return SeedEvidence(
        ratio=(low + high) / 2, low=low, high=high, device="cpu, 2 cores", toolchain="g++", date="2026-11-23", load=1.0,
        command="python -m benchmarks.verify_practices",
    )  # fmt: skip


def told(item: Experience) -> str:
    found = RecalledExperience(experience=item, similarity=0.5)
    return render_user(AgentRole.PLANNER, some_facts(experiences=(found,))).content


def test_figures_are_of_seeds_and_of_this_programs_making() -> None:
    assert verifications(), "run: python -m benchmarks.verify_practices"
    assert set(verifications()) <= set(seed_titles())
    for found in verifications().values():
        assert found.low <= found.ratio <= found.high
        assert found.command.startswith("python -m benchmarks.verify_practices --only ")


def test_every_pair_names_a_seed_and_is_two_kernels_for_one_problem() -> None:
    assert {pair.seed for pair in PAIRS} <= set(seed_titles())
    assert len({pair.seed for pair in PAIRS}) == len(PAIRS)
    for pair in PAIRS:
        assert pair.candidate(pair.without) != pair.candidate(pair.with_it)
        for code in (pair.without, pair.with_it):
            compile(pair.candidate(code), pair.name, "exec")
        compile(pair.problem, pair.name, "exec")


def test_prompts_say_what_was_verified_and_what_was_not() -> None:
    seeds = {item.title: item for item in seed_experiences("local")}
    known = next(iter(verifications()))
    cuda = next(item for item in seeds.values() if item.backend == "cuda")

    assert verifications()[known].told in told(seeds[known])
    assert f"({UNVERIFIED})" in told(cuda)


def test_only_the_seeds_own_words_have_its_figures() -> None:
    known = next(item for item in seed_experiences("theirs") if item.title in verifications())

    assert evidence_of(known) == verifications()[known.title].told, "in every team"
    assert evidence_of(replace(known, text="something else")) == UNVERIFIED
    assert evidence_of(an_experience()) == UNVERIFIED, "a team's own note"
    assert evidence_of(replace(an_experience(), job_id="job-1")) is None, "a job's practice names its own evidence"
    assert evidence_of(replace(an_experience(), kind=ExperienceKind.TRACE)) is None


def test_a_figure_that_shows_nothing_is_told_as_that() -> None:
    assert verified(1.2, 1.4).told == "verified on cpu, 2 cores, 2026-11-23: with it 1.30× (1.20 to 1.40)"
    assert verified(0.9, 1.1).told.startswith("tried on cpu, 2 cores, 2026-11-23: made no sure difference, 1.00×")
    assert "made it slower" in verified(0.7, 0.9).told
    assert replace(verified(0.9, 1.1), load=17.4).told.endswith(", on a busy machine (load 17)")
