"""The fastest kernel known for the most similar problem."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agents.workflow.nearest_example import nearest_example, with_nearest_example
from services.domain.evaluations import Verdict
from services.domain.experiences import ExperienceKind, RecalledExperience
from services.team_memory.reward import Setting
from tests.doubles import an_experience

SUBJECT = "Operator family: norm. aten.mul.Tensor. x: float32[4, 8]."
SETTING = Setting(family="norm", device="cpu", toolchain="gcc", dtype="float32")


def trace(name: str, job: str, similarity: float, speed: float, **changes: object) -> RecalledExperience:
    experience = replace(
        an_experience(name),
        kind=ExperienceKind.TRACE,
        verdict=Verdict.ACCEPTED,
        family="norm",
        backend="cpp",
        device="cpu",
        dtype="float32",
        speedup=speed,
        job_id=job,
    )
    return RecalledExperience(experience=replace(experience, **changes), similarity=similarity)  # type: ignore[arg-type]


def test_the_fastest_of_the_nearest_job_is_taken_however_its_words_compare() -> None:
    found = (trace("a", "near", 0.95, 1.1), trace("b", "near", 0.80, 1.6), trace("c", "far", 0.85, 3.0))
    chosen = nearest_example(found, SETTING, "cpp", SUBJECT)
    assert chosen is not None
    assert chosen.experience.id == found[1].experience.id


def test_jobs_nearly_as_near_compete() -> None:
    found = (trace("a", "one", 0.95, 1.1), trace("b", "two", 0.93, 1.6))
    assert nearest_example(found, SETTING, "cpp", SUBJECT) == found[1]


def test_the_problems_own_kernel_is_taken_before_a_neighbours_that_beats_another_baseline() -> None:
    own = trace("a", "one", 0.90, 1.1, text=f"{SUBJECT} Moves: fuse.")
    faster = trace("b", "one", 0.80, 1.3, text=f"{SUBJECT} Moves: fuse, vectorise.")
    neighbour = trace("c", "two", 0.93, 3.0, text="Operator family: norm. aten.mul.Tensor. x: float32[4, 9].")
    assert nearest_example((neighbour, own, faster), SETTING, "cpp", SUBJECT) == faster


@pytest.mark.parametrize(
    "changes",
    [
        {"family": "softmax"},
        {"dtype": "float64"},
        {"device": "h200"},
        {"verdict": Verdict.REJECTED},
        {"kind": ExperienceKind.SUCCESS},
        {"median_us": None, "speedup": None},
    ],
)
def test_what_was_made_elsewhere_or_holds_no_fast_kernel_is_no_example(changes: dict[str, object]) -> None:
    assert nearest_example((trace("a", "one", 0.9, 2.0, **changes),), SETTING, "cpp", SUBJECT) is None


def test_shapes_of_the_same_class_go_before_nearer_words() -> None:
    setting = replace(SETTING, shape_class="2d-r4-c4")
    near, same = (
        trace("a", "one", 0.95, 2.0, shape_class="2d-r1-c1"),
        trace("b", "two", 0.7, 1.5, shape_class="2d-r4-c4"),
    )

    assert nearest_example((near, same), setting, "cpp", SUBJECT) == same
    assert nearest_example((near,), setting, "cpp", SUBJECT) == near


def test_another_backends_kernel_comes_where_there_is_none_of_its_own() -> None:
    other = trace("a", "one", 0.9, 5.0, backend="triton", device="h200")

    assert nearest_example((other,), SETTING, "cpp", SUBJECT) == other
    own = trace("b", "two", 0.4, 1.1)
    assert nearest_example((other, own), SETTING, "cpp", SUBJECT) == own


def test_it_takes_the_first_place_of_a_full_context_once() -> None:
    others = tuple(trace(name, name, 0.5, 1.0) for name in "abc")
    found = trace("p", "p", 0.9, 2.0)
    assert with_nearest_example(others, found, 3) == (found, *others[:2])
    assert with_nearest_example((others[0], found), found, 3) == (found, others[0])
    assert with_nearest_example(others, None, 3) == others
