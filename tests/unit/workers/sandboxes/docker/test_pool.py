"""Who gets which container, with containers that start at once."""

from __future__ import annotations

import pytest

from services.domain.errors import SandboxError
from workers.sandboxes.docker.pool import ContainerPool, PooledContainer


class Container:
    """A container without a container."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.owner: str | None = None
        self.is_alive = True
        self.destroyed = False
        self.fitted: object = None

    def suits(self, need: object) -> bool:
        return need == self.fitted

    def dedicate(self, owner: str, name: str) -> None:
        self.owner, self.name = owner, name

    def destroy(self) -> None:
        self.destroyed = True
        self.is_alive = False


def pool_of(
    made: list[Container], *, warm: int = 1, limit: int = 4, one_shot: bool = False
) -> ContainerPool[Container]:
    def make(name: str) -> Container:
        made.append(Container(name))
        return made[-1]

    return ContainerPool(make, prefix="test", warm=warm, limit=limit, one_shot=one_shot)


def test_a_job_gets_its_own_container_again_and_another_job_does_not() -> None:
    made: list[Container] = []
    pool = pool_of(made)
    first = pool.take("a")
    pool.give_back(first, usable=True)
    other = pool.take("b")
    again = pool.take("a")
    pool.close()
    assert again is first
    assert other is not first
    assert (first.owner, other.owner) == ("a", "b")


def test_a_container_that_suits_is_preferred_and_one_that_does_not_is_better_than_none() -> None:
    pool = pool_of([], warm=1, limit=2)
    small, large = pool.take("a"), pool.take("a")
    small.fitted, large.fitted = "small", "large"
    pool.give_back(small, usable=True)
    pool.give_back(large, usable=True)
    assert pool.take("a", "large") is large
    assert pool.take("a", "medium") is small
    pool.close()


def test_two_processes_at_once_have_two_containers() -> None:
    pool = pool_of([])
    taken = {id(pool.take("a")) for _ in range(3)}
    pool.close()
    assert len(taken) == 3


def test_a_one_shot_container_is_used_once() -> None:
    made: list[Container] = []
    pool = pool_of(made, one_shot=True)
    first = pool.take("a")
    pool.give_back(first, usable=True)
    second = pool.take("a")
    pool.close()
    assert second is not first
    assert all(container.destroyed for container in made)


@pytest.mark.parametrize("fault", ["ended without a report", "died meanwhile"])
def test_a_container_with_a_fault_is_not_used_again(fault: str) -> None:
    pool = pool_of([])
    first = pool.take("a")
    pool.give_back(first, usable=fault == "died meanwhile")
    first.is_alive = False
    second = pool.take("a")
    pool.close()
    assert second is not first


def test_where_there_are_too_many_the_longest_idle_one_of_another_job_goes() -> None:
    pool = pool_of([], warm=1, limit=2)
    old, new = pool.take("old"), pool.take("new")
    pool.give_back(old, usable=True)
    pool.give_back(new, usable=True)
    mine = pool.take("mine")
    pool.close()
    assert old.destroyed
    assert mine not in (old, new)


def test_no_container_is_left_when_all_are_in_use() -> None:
    pool = pool_of([], limit=2)
    pool.take("a"), pool.take("a")
    with pytest.raises(SandboxError, match="all 2"):
        pool.take("a")
    pool.close()


def test_a_fault_at_the_start_is_told_to_whoever_waits_and_passes() -> None:
    broken = [True]

    def make(name: str) -> Container:
        if broken.pop() if broken else False:
            raise SandboxError("the daemon is down")
        return Container(name)

    pool: ContainerPool[Container] = ContainerPool(make, prefix="test", warm=1, limit=4, one_shot=False)
    with pytest.raises(SandboxError, match="daemon is down"):
        pool.take("a")
    assert isinstance(pool.take("a"), Container)
    pool.close()


def test_names_say_what_a_container_is_for() -> None:
    pool = pool_of([])
    container: PooledContainer = pool.take("job-12/ü")
    pool.close()
    assert isinstance(container, Container)
    assert container.name.startswith("test-job-12--")
