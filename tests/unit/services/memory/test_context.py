"""API sheets come by bundle, name and meaning; children and complementary variants get places of their own."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from services.domain.experiences import Experience, ExperienceKind
from services.domain.jobs import Stage
from services.memory.context import Part, Sheet, complementary, compose, distinct, select_sheets
from services.memory.learner import Learner
from tests.doubles import an_experience
from tests.unit.services.memory.builders import outcome


def experience(name: str, title: str = "", **changes: object) -> Experience:
    made = Experience(
        id=name,
        team_id="local",
        kind=ExperienceKind.API_TEMPLATE,
        stage=Stage.DRAFT,
        family="any",
        backend="cpp",
        device="any",
        toolchain="any",
        title=title,
        text="",
        code=None,
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
    )
    return replace(made, **changes)  # type: ignore[arg-type]


SHEETS = [
    Sheet(experience=experience("bundle", "Writing kernels in C++"), similarity=0.1),
    Sheet(experience=experience("fma", "_mm256_fmadd_ps: fused multiply and add"), similarity=0.2),
    Sheet(experience=experience("exp", "Sleef_expf8_u10: eight exponentials"), similarity=0.6),
    Sheet(experience=experience("max", "std::max on floats"), similarity=0.5),
    Sheet(experience=experience("load", "tl.load: masked loads", backend="triton"), similarity=0.9),
]


def test_the_bundle_comes_first_then_what_the_code_names_then_the_most_similar() -> None:
    code = "y = _mm256_fmadd_ps(a, b, y);"
    assert select_sheets(SHEETS, "cpp", [code]) == ("bundle", "fma", "exp")


def test_sheets_of_another_backend_never_come() -> None:
    assert "load" not in select_sheets(SHEETS, "cpp", ["tl.load(p)"], semantic=9, limit=9)
    assert select_sheets(SHEETS, "triton", ["x = tl.load(p)"]) == ("load",)


def test_a_longer_name_is_another_name() -> None:
    assert "fma" not in select_sheets(SHEETS, "cpp", ["my_mm256_fmadd_ps(a)"], semantic=1)


def test_sheets_stay_within_the_limit() -> None:
    code = ["_mm256_fmadd_ps Sleef_expf8_u10 std::max"]
    assert select_sheets(SHEETS, "cpp", code, limit=3) == ("bundle", "exp", "max")


def test_complementary_variants_are_fast_and_use_a_move_that_the_start_point_lacks() -> None:
    start = experience("start", moves=("fuse",), speedup=2.0)
    variants = [
        start,
        experience("same moves", moves=("fuse",), speedup=9.0),
        experience("fast", moves=("fuse", "tile_rows"), speedup=4.0),
        experience("slow", moves=("online_softmax",), speedup=1.1),
        experience("failed", moves=("split_reduction",)),
    ]
    assert complementary(variants, start, 2) == ("fast", "slow")


def test_each_part_has_its_places_and_the_rest_is_filled_in_order() -> None:
    parts = [Part(ids=["a", "b", "c", "d"], places=2), Part(ids=["b", "x", "y"], places=1), Part(ids=[], places=3)]
    assert compose(parts, 6) == ("a", "b", "x", "c", "d", "y")
    assert compose(parts, 3) == ("a", "b", "x")
    assert compose(parts, 1) == ("a",)


def test_children_of_a_start_point_are_what_was_derived_from_it() -> None:
    learner = Learner()
    learner.rebuild(
        [
            outcome(1, job="j", made=("root",)),
            outcome(2, "a", us=80.0, job="j", start="root", made=("child-1", "lesson-1")),
            outcome(3, accepted=False, job="j", start="root", made=("child-2",)),
            outcome(4, "root", job="other", made=("only used it",)),
        ]
    )
    assert learner.children("root") == ("child-1", "lesson-1", "child-2")
    assert learner.children("child-1") == ()


def test_near_duplicates_never_stand_side_by_side() -> None:
    told = "Operator family: norm. Moves: fuse. Outcome: accepted at 100.0 µs (98.0 to 102.0), 2.00× the best baseline."
    trace = replace(an_experience("trace", text=told), kind=ExperienceKind.TRACE, candidate_id="cand-1", code="x = 1")
    success = replace(trace, id="success", kind=ExperienceKind.SUCCESS, code=None)
    same_code = replace(trace, id="same-code", candidate_id="cand-2", text="otherwise told")
    figures = replace(trace, id="figures", candidate_id="cand-3", code="x = 3", text=told.replace("100.0", "104.4"))
    other = replace(trace, id="other", candidate_id="cand-4", code="x = 4", moves=("tile",))
    practice = an_experience("practice")

    assert distinct([success, trace, practice, same_code, figures, other]) == ("trace", "practice", "other")
    assert distinct([]) == ()
