"""Two models of a candidate's class in one process, against a real runner."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from tests.unit.workers.referee.boundary.test_runner_client import DOUBLE, against, honest
from tests.unit.workers.referee.trials import a_reference, a_trial
from workers.ipc.tensors import TensorMeta
from workers.referee.comparison.output_structure import Answer
from workers.referee.comparison.tolerance import ErrorScale, tolerances
from workers.referee.gates.checks.instances import two_instances, with_settings_beside
from workers.runner import session as session_module

SHARED = DOUBLE.replace("class ModelNew", "KEPT = []\n\nclass ModelNew").replace(
    "return x * self.weight", "KEPT.append(self.weight.detach().clone())\n        return x * KEPT[0]"
)
ALONE = SHARED.replace("return x * KEPT[0]", "return x * self.weight").replace(
    "KEPT.append(", "assert all(torch.equal(one, self.weight) for one in KEPT), 'one model only'\n        KEPT.append("
)


FEW = DOUBLE.replace("class ModelNew", "KEPT = {}\nCOUNT = []\n\nclass ModelNew").replace(
    "return x * self.weight",
    "if not hasattr(self, 'place'):\n"
    "            self.place = len(COUNT) % 16\n"
    "            COUNT.append(0)\n"
    "            KEPT[self.place] = self.weight.detach().clone()\n"
    "        return x * KEPT[self.place]",
)
"""The seventeenth model takes the first one's place."""
BY_VERSION = DOUBLE.replace(
    "return x * self.weight",
    "if getattr(self, 'version', None) != self.weight._version:\n"
    "            self.version, self.own = self.weight._version, self.weight.detach().clone()\n"
    "        return x * self.own",
)
AT_HAND = DOUBLE.replace("torch.zeros(n))", "torch.zeros(n))\n        self.own = (self.weight.detach(),)").replace(
    "return x * self.weight", "return x * self.own[0]"
)
BY_ORDER = DOUBLE.replace("class ModelNew", "BUILT = []\n\nclass ModelNew").replace(
    "return x * self.weight",
    "if self not in BUILT:\n"
    "            BUILT.append(self)\n"
    "        return x * (self.weight if len(BUILT) < 23 else 1.0)",
)
"""Wrong from its 23rd model on: twenty are called beside two, and others are built later."""
SETTING = (
    DOUBLE.replace("class ModelNew", "LAST = []\n\nclass ModelNew")
    .replace("        super()", "        LAST.append(self)\n        super()")
    .replace("return x * self.weight", "return x * self.weight * (LAST[-1] is self)")
)
OF_ITS_FIRST = (
    DOUBLE.replace("import torch\n", "import weakref\n\nimport torch\n")
    .replace(
        "self.weight = torch.nn.Parameter(torch.zeros(n))",
        "self.table = torch.arange(1.0, n + 1.0)\n        self.at = weakref.ref(self.table)",
    )
    .replace("x * self.weight", "x * (torch.zeros(4) if self.at() is None else self.at())")
)
"""A copy knows the table of the model that it was copied from, as by its address."""
BY_ADDRESS = DOUBLE.replace("class ModelNew", "FOUND = {}\n\nclass ModelNew").replace(
    "return x * self.weight",
    "key = (self.weight.data_ptr(), self.weight._version)\n"
    "        return x * FOUND.setdefault(key, self.weight.detach().clone())",
)


@pytest.fixture(autouse=True)
def _many_models_have_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "CROWD_S", 10.0)


class Problem:
    """`x * weight`, whose weight may be moved for a while."""

    def __init__(self) -> None:
        self.weight = torch.arange(1.0, 5.0)
        self.is_step = False
        self.tolerances = tolerances(None)
        self.gradient_names = ()
        self.limits = None

    @contextlib.contextmanager
    def another_model(self, seed: int) -> Iterator[bool]:
        before = self.weight
        self.weight = torch.rand(4, generator=torch.Generator().manual_seed(seed % 2**32)) + 5.0
        yield True
        self.weight = before

    @contextlib.contextmanager
    def other_settings(self, number: int) -> Iterator[None]:
        before = self.weight
        self.weight, self.init_inputs = torch.rand(4) + 5.0, [4]
        yield
        self.weight = before

    def state(self) -> list[tuple[str, torch.Tensor]]:
        return [("weight", self.weight)]


class WithoutParameters(Problem):
    """The same whose weight is no parameter, and none that is drawn."""

    @contextlib.contextmanager
    def another_model(self, seed: int) -> Iterator[bool]:
        yield False

    def state(self) -> list[tuple[str, torch.Tensor]]:
        return []


def examined(source: str, check: Any = two_instances, problem: Problem | None = None) -> tuple[Any, list[str]]:
    problem = problem or Problem()
    with against(honest) as session:
        assert session.load(source, [4], problem.state(), seed=1, copy_state=True, threads=1, limit_s=10.0)
        state = a_reference(
            problem=problem,
            aliases=frozenset(),
            shares=frozenset(),
            mutates=frozenset(),
            scales=lambda *_given: (ErrorScale(),),
            known_scales=lambda *_given: (ErrorScale(),),
            scales_on=lambda *_given: None,
            with_line_errors=lambda scales, *_given: scales,
            otherwise_rounded=lambda *_given: [],
            expected=lambda arguments: Answer.of(arguments[0] * problem.weight),
            draw=lambda *_given: [torch.rand(3, 4)],
            metas=lambda _number: [TensorMeta(dtype="float32", shape=(3, 4))],
        )
        trial = a_trial(state=state, session=session)
        if "KEPT" in source:  # it has seen its first model's weights, as after the calls before
            slot = trial.slot(0, [torch.rand(3, 4)])
            session.call(slot)
        return check(trial), trial.notes


def test_a_kernel_that_reads_each_models_own_weights_passes() -> None:
    finding, notes = examined(DOUBLE)
    assert finding is None
    assert not notes


def test_a_kernel_that_keeps_the_first_models_weights_for_all_is_found() -> None:
    finding, _ = examined(SHARED)
    assert finding is not None
    assert "of two models in one process" in finding.detail


def test_a_kernel_may_refuse_a_second_model_and_the_report_says_so() -> None:
    finding, notes = examined(ALONE)
    assert finding is None
    assert any("ONE MODEL IN A PROCESS" in note and "one model only" in note for note in notes)


def test_a_kernel_with_room_for_few_models_is_found_by_the_first_one() -> None:
    finding, _ = examined(FEW)
    assert finding is not None
    assert finding.detail.startswith("own values: the output")


def test_a_model_that_is_built_when_others_have_gone_is_judged() -> None:
    finding, _ = examined(BY_ORDER)
    assert finding is not None
    assert "when others had gone" in finding.detail


def test_a_kernel_that_looks_at_versions_is_remarked_on_where_others_stand_in_the_place_of_parameters() -> None:
    finding, notes = examined(BY_VERSION)
    assert finding is None
    assert [note.partition(":")[0] for note in notes] == ["PROVEN FOR PARAMETERS THAT ARE CHANGED IN PLACE"]


def test_a_kernel_that_keeps_its_parameters_memory_is_remarked_on_for_copies_too() -> None:
    finding, notes = examined(AT_HAND)
    assert finding is None
    assert [note.partition(":")[0] for note in notes] == [
        "PROVEN FOR PARAMETERS THAT ARE CHANGED IN PLACE",
        "PROVEN FOR MODELS THAT ARE NOT COPIED",
    ]


def test_a_copy_that_outlives_a_model_without_parameters_is_remarked_on_where_it_is_wrong() -> None:
    finding, notes = examined(OF_ITS_FIRST, problem=WithoutParameters())
    assert finding is None
    assert [note.partition(":")[0] for note in notes] == ["PROVEN FOR MODELS THAT ARE NOT COPIED"]
    own = OF_ITS_FIRST.replace("(torch.zeros(4) if self.at() is None else self.at())", "self.table").replace(
        "weakref.ref(self.table)", "None"
    )
    assert examined(own, problem=WithoutParameters()) == (None, [])


def test_a_model_of_other_settings_beside_the_first_is_judged_and_so_is_the_first_then() -> None:
    assert examined(DOUBLE, lambda trial: with_settings_beside(trial, 0)) == (None, [])
    finding, _ = examined(SETTING, lambda trial: with_settings_beside(trial, 0))
    assert finding is not None
    assert finding.detail.startswith("once a model with the settings of INIT_SETS[0] was called in its process: ")


def test_a_kernel_that_knows_weights_by_their_address_is_found() -> None:
    finding, _ = examined(BY_ADDRESS)
    assert finding is not None
    assert "of models in one process" in finding.detail
