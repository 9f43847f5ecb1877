"""How `make test` divides the suite among processes."""

from __future__ import annotations

from pathlib import Path

from tests.spreading import FIRST, group_of, turn_of

ROOT = Path(__file__).parents[2]


def test_a_file_stays_together_with_its_fixtures() -> None:
    assert group_of("tests/e2e/test_serve.py::test_a[x::y]") == "tests/e2e/test_serve.py"


def test_whatever_shares_the_pool_of_containers_is_one_group() -> None:
    assert group_of("tests/contracts/test_sandbox.py::test_it_runs[docker]") == "docker"
    assert group_of("tests/contracts/test_sandbox.py::test_it_runs[process]") == "tests/contracts/test_sandbox.py"
    assert group_of("tests/integration/test_docker_sandbox.py::test_a_pool") == "docker"
    assert group_of("tests/unit/workers/test_docker_recipe.py::test_docker") != "docker"


def test_what_lasts_long_is_handed_out_first_and_every_such_place_exists() -> None:
    groups = ["tests/unit/services/test_codec.py", "tests/e2e/test_run.py", "docker", "tests/faults/test_faults.py"]
    assert sorted(groups, key=turn_of) == [
        "docker",
        "tests/faults/test_faults.py",
        "tests/e2e/test_run.py",
        "tests/unit/services/test_codec.py",
    ]
    assert [name for name in FIRST[1:] if not (ROOT / name).exists()] == []
