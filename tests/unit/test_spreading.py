"""How `make test` divides the suite among processes."""

from __future__ import annotations

from pathlib import Path

from tests.spreading import FIRST, JUDGING, group_of, next_group, turn_of

ROOT = Path(__file__).parents[2]


def test_a_file_stays_together_with_its_fixtures() -> None:
    assert group_of("tests/e2e/test_serve.py::test_a[x::y]") == "tests/e2e/test_serve.py"


def test_whatever_shares_the_pool_of_containers_is_one_group() -> None:
    assert group_of("tests/contracts/test_sandbox.py::test_it_runs[docker]") == "docker"
    assert group_of("tests/contracts/test_sandbox.py::test_it_runs[process]") == "tests/contracts/test_sandbox.py"
    assert group_of("tests/integration/test_docker_sandbox.py::test_a_pool") == "docker"
    assert group_of("tests/unit/workers/test_docker_recipe.py::test_docker") != "docker"


def test_what_lasts_long_is_handed_out_first_and_every_such_place_exists() -> None:
    groups = [
        "tests/unit/web/test_app.py",
        "tests/e2e/test_run.py",
        "docker",
        "tests/faults/test_faults.py",
    ]
    assert sorted(groups, key=turn_of) == [
        "docker",
        "tests/faults/test_faults.py",
        "tests/e2e/test_run.py",
        "tests/unit/web/test_app.py",
    ]
    assert [name for name in FIRST[1:] if not (ROOT / name).exists()] == []


def test_the_adversary_s_designs_are_spread_by_family() -> None:
    cheat = "tests/adversary/test_designs.py::test_a_cheat_gains_nothing[late_work/copies_last]"
    honest = "tests/adversary/test_designs.py::test_an_honest_kernel_is_accepted[late_work/joins_its_threads]"
    other = "tests/adversary/test_designs.py::test_a_cheat_gains_nothing[contract/output_for_its_copy]"
    assert group_of(cheat) == group_of(honest) != group_of(other)
    assert turn_of(group_of(cheat)) == turn_of("tests/adversary/")


def test_kernels_are_not_timed_beside_each_other_while_there_is_anything_else() -> None:
    waiting = ["tests/unit/test_names.py", "tests/adversary/test_designs.py::late_work", "tests/e2e/test_run.py"]
    assert next_group(waiting, ["docker"]) == "tests/adversary/test_designs.py::late_work"
    assert next_group(waiting, ["docker", "tests/integrity/test_candidates.py"]) == "tests/e2e/test_run.py"
    assert next_group(waiting[1:2], ["tests/integrity/test_candidates.py"]) == waiting[1]
    assert [name for name in JUDGING if not (ROOT / name).exists()] == []
