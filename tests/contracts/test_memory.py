"""What every `Memory` promises; what only the stored one does is in `test_sql_memory.py`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from services.domain.errors import NotFoundError
from services.domain.evaluations import Verdict
from services.domain.experiences import ExperienceKind, RecallQuery
from services.domain.jobs import Stage
from services.domain.referees import CURRENT
from tests.contracts.conftest import MEMORIES, Stores
from tests.doubles import an_experience

pytestmark = pytest.mark.parametrize("stores", MEMORIES, indirect=True)


def query(text: str, *, team_id: str = "local", limit: int = 6, family: str = "pointwise") -> RecallQuery:
    return RecallQuery(
        team_id=team_id, stage=Stage.DRAFT, text=text, family=family, backend="cpp", device="cpu", limit=limit
    )


async def test_an_experience_comes_back_as_it_was_remembered(stores: Stores) -> None:
    item = replace(
        an_experience(),
        kind=ExperienceKind.SUCCESS,
        code="class ModelNew: ...  # é",
        moves=("fuse", "vectorise"),
        verdict=Verdict.ACCEPTED,
        referee=CURRENT,
        bottleneck="memory",
        speedup=2.5,
        median_us=12.5,
        job_id="job-1",
        candidate_id="cand-1",
        used=("exp-b", "exp-a"),
    )
    assert await stores.memory.remember([item]) == 1
    assert await stores.memory.get("local", "exp-1") == item


async def test_the_same_experience_is_kept_once_by_id_and_by_content(stores: Stores) -> None:
    assert await stores.memory.remember([an_experience("exp-1"), an_experience("exp-2")]) == 1
    assert await stores.memory.remember([an_experience("exp-1", text="other text"), an_experience("exp-3")]) == 0
    assert [item.experience.id for item in await stores.memory.search("local", "vectorise")] == ["exp-1"]


async def test_nothing_to_remember_is_nothing_new(stores: Stores) -> None:
    assert await stores.memory.remember([]) == 0


async def test_the_nearest_experience_is_found_first_and_recalled_with_its_similarity(stores: Stores) -> None:
    texts = ["tile the rows of a softmax", "vectorise the inner loop with avx512", "split the reduction over threads"]
    await stores.memory.remember([an_experience(f"exp-{n}", text=text) for n, text in enumerate(texts)])
    found = await stores.memory.search("local", "vectorise the loop")
    assert found[0].experience.id == "exp-1"
    assert [item.similarity for item in found] == sorted((item.similarity for item in found), reverse=True)
    recalled = await stores.memory.recall(query("vectorise the loop"))
    assert {item.experience.id for item in recalled} == {"exp-0", "exp-1", "exp-2"}
    assert all(-1.0001 <= item.similarity <= 1.0001 for item in recalled)


async def test_start_values_are_given_for_the_candidates_asked_about(stores: Stores) -> None:
    known = await stores.memory.start_values("local", "norm", "cpu/g++ 12.2", ["cand-1", "cand-2"])
    assert known.values == {"cand-1": 0.0, "cand-2": 0.0}


async def test_recall_returns_at_most_what_was_asked_for_and_the_same_each_time(stores: Stores) -> None:
    await stores.memory.remember([an_experience(f"exp-{n}", text=f"advice number {n}") for n in range(20)])
    first = await stores.memory.recall(query("advice", limit=4))
    assert len(first) == 4
    assert await stores.memory.recall(query("advice", limit=4)) == first


async def test_what_was_just_remembered_is_recalled(stores: Stores) -> None:
    assert await stores.memory.recall(query("tile the rows")) == ()
    await stores.memory.remember([an_experience("exp-1", text="tile the rows")])
    assert [item.experience.id for item in await stores.memory.recall(query("tile the rows"))] == ["exp-1"]
    await stores.memory.remember([an_experience("exp-2", text="tile the columns")])
    assert len(await stores.memory.recall(query("tile the rows"))) == 2


async def test_what_is_left_out_never_comes_and_others_take_its_place(stores: Stores) -> None:
    await stores.memory.remember([an_experience(f"exp-{n}", text=f"advice number {n}") for n in range(8)])
    first = await stores.memory.recall(query("advice", limit=4))
    unwanted = tuple(item.experience.id for item in first)

    second = await stores.memory.recall(replace(query("advice", limit=4), left_out=unwanted))

    assert len(second) == 4
    assert not {item.experience.id for item in second} & set(unwanted)


async def test_a_step_without_memory_gets_what_experts_wrote_only(stores: Stores) -> None:
    trace = replace(
        an_experience("exp-log", text="advice of a log"),
        kind=ExperienceKind.TRACE,
        verdict=Verdict.ACCEPTED,
        referee=CURRENT,
    )
    await stores.memory.remember([an_experience("exp-practice", text="advice of an expert"), trace])

    recalled = await stores.memory.recall(replace(query("advice"), experts_only=True))

    assert [item.experience.id for item in recalled] == ["exp-practice"]


async def test_a_team_never_sees_another_teams_experiences(stores: Stores) -> None:
    await stores.memory.remember([an_experience("exp-1", team_id="ours")])
    assert await stores.memory.recall(query("vectorise", team_id="theirs")) == ()
    assert await stores.memory.search("theirs", "vectorise") == ()
    with pytest.raises(NotFoundError):
        await stores.memory.get("theirs", "exp-1")


async def test_two_teams_may_learn_the_same(stores: Stores) -> None:
    items = [an_experience("exp-1", team_id="ours"), an_experience("exp-2", team_id="theirs")]
    assert await stores.memory.remember(items) == 2
