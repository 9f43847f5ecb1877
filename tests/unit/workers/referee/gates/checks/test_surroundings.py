"""Other threads than usual, and calls on nearly the same values, against a real runner."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from tests.unit.workers.referee.boundary.test_runner_client import DOUBLE, against, honest
from tests.unit.workers.referee.trials import a_reference, a_trial
from workers.ipc.tensors import TensorMeta
from workers.referee.boundary.runner_client import RunnerSession
from workers.referee.comparison.output_structure import Answer
from workers.referee.comparison.tolerance import ErrorScale, tolerances
from workers.referee.errors import FaultKind, RunnerFault
from workers.referee.gates.checks import surroundings
from workers.referee.gates.checks.surroundings import after_a_small_change, on_a_small_stack, try_by
from workers.referee.gates.finding import GateFinding
from workers.referee.inputs.constraints import Limits
from workers.referee.inputs.distributions import OWN
from workers.referee.trial import Trial
from workers.runner.protocol import CallForm, ThreadTeam

WEIGHT = torch.arange(1.0, 5.0)
THREADS = "torch.get_num_threads()"
ONE_LEFT_OUT = DOUBLE.replace("return x * self.weight", f"return x * self.weight * (1.0 if {THREADS} > 1 else 0.0)")
NEEDS_TWO = DOUBLE.replace("return x", f"assert {THREADS} > 1, 'two threads only'\n        return x")
BY_A_SAMPLE = DOUBLE.replace(
    "return x * self.weight",
    "if not hasattr(self, 'key') or not torch.equal(self.key, x[0]):\n"
    "            self.key, self.kept = x[0].clone(), x * self.weight\n"
    "        return self.kept.clone()",
)


SCALED = DOUBLE.replace("def forward(self, x):", "def forward(self, x, scale):").replace(
    "return x * self.weight",
    "if not hasattr(self, 'kept'):\n"
    "            self.kept = {}\n"
    "        key = KEY\n"
    "        self.kept.setdefault(key, scale)\n"
    "        return x * self.weight * self.kept[key]",
)


def on_trial(session: RunnerSession, source: str, **state: Any) -> Any:
    """The candidate, of a reference that multiplies by `WEIGHT`."""
    assert session.load(source, [4], [("weight", WEIGHT)], seed=1, copy_state=True, threads=2, limit_s=10.0)
    problem = SimpleNamespace(
        tolerances=tolerances(None),
        gradient_names=(),
        is_step=False,
        limits=Limits(),
        forward_arguments=list,
        with_cotangents=list,
    )
    known = {
        "aliases": frozenset(),
        "shares": frozenset(),
        "mutates": frozenset(),
        "chooses": False,
        "scales": lambda *_given: (ErrorScale(),),
        "scales_on": lambda *_given: (ErrorScale(),),
        "with_line_errors": lambda scales, *_given: scales,
        "otherwise_rounded": lambda *_given: [],
        "expected": lambda arguments: Answer.of(arguments[0] * WEIGHT),
        "draw": lambda *_given: [torch.rand(300, 4)],
        "metas": lambda _number: [TensorMeta(dtype="float32", shape=(300, 4))],
    }
    return a_trial(session=session, problem=problem, state=a_reference(**{**known, **state}))


def tried(source: str, team: ThreadTeam) -> tuple[str | None, list[str]]:
    with against(honest) as session:
        trial = on_trial(session, source)
        finding = try_by(team, trial, 0, OWN, [torch.rand(300, 4)])
        return None if finding is None else finding.detail, trial.notes


@pytest.mark.parametrize("team", [ThreadTeam.ONE, ThreadTeam.FEWER, ThreadTeam.MANY])
def test_a_kernel_that_takes_no_notice_of_threads_passes(team: ThreadTeam) -> None:
    assert tried(DOUBLE, team) == (None, [])


def test_a_kernel_that_is_wrong_with_one_thread_is_found() -> None:
    found, _ = tried(ONE_LEFT_OUT, ThreadTeam.ONE)
    assert found is not None
    assert found.startswith("with one thread: own values: the output")
    assert tried(ONE_LEFT_OUT, ThreadTeam.MANY) == (None, [])


def test_a_kernel_may_refuse_one_thread_and_is_judged_with_the_usual_ones() -> None:
    found, notes = tried(NEEDS_TWO, ThreadTeam.ONE)
    assert found is None
    assert any(note.startswith("limited: a call with one thread was refused") for note in notes)
    wrong, _ = tried(NEEDS_TWO.replace("* self.weight", "* self.weight + 1.0"), ThreadTeam.ONE)
    assert wrong is not None
    assert wrong.startswith("own values: the output")


def test_a_kernel_that_knows_its_values_by_a_sample_of_them_is_found() -> None:
    with against(honest) as session:
        finding = after_a_small_change(on_trial(session, BY_A_SAMPLE))
    assert finding is not None
    assert finding.detail.startswith("after a few elements of the arguments changed in place: the output")


def test_a_kernel_that_looks_at_all_of_its_values_passes() -> None:
    with against(honest) as session:
        trial = on_trial(session, BY_A_SAMPLE.replace("x[0].clone()", "x.clone()").replace("x[0]", "x"))
        assert after_a_small_change(trial) is None
        assert trial.notes == []


def scaled(monkeypatch: pytest.MonkeyPatch, source: str, scale: Any) -> GateFinding | None:
    """What is found where the output is `x * WEIGHT * scale`."""
    x = torch.rand(300, 4)
    known = {"draw": lambda *_given: [x, scale], "expected": lambda given: Answer.of(given[0] * WEIGHT * given[1])}

    @contextlib.contextmanager
    def another(_trial: Trial) -> Iterator[Trial]:
        with against(honest) as session:
            yield on_trial(session, source, **known)

    monkeypatch.setattr(Trial, "another", another)
    monkeypatch.setattr(Trial, "load", lambda _trial: True)
    monkeypatch.setattr(surroundings, "with_cotangents", lambda state, given, **_: (given, state.expected(given)))
    with against(honest) as session:
        return surroundings._after_what_looks_alike(on_trial(session, source, **known))


TAPS = torch.tensor([0.5, -1.0, 2.0, 3.0])
NUMBER = "after a number had changed by less than one percent: the output"
ORDER = "after elements of a small tensor had changed places: the output"


@pytest.mark.parametrize(
    ("key", "scale", "text"),
    [
        ("f'{scale:.2f}'", 1.5, NUMBER),
        (
            "round(float(scale), 2)",
            torch.tensor(0.3),
            NUMBER,
        ),
        ("float(scale.sum())", TAPS, ORDER),
        ("scale.amax().item()", TAPS, ORDER),
        ("scale", 1.5, None),
        ("tuple(scale.tolist())", TAPS, None),
        ("scale", 2, None),
    ],
)
def test_who_knows_an_argument_by_what_looks_the_same_is_found(
    monkeypatch: pytest.MonkeyPatch, key: str, scale: Any, text: str | None
) -> None:
    given = scale.clone() if isinstance(scale, torch.Tensor) else scale
    finding = scaled(monkeypatch, SCALED.replace("KEY", key).replace("(key, scale)", "(key, scale * 1.0)"), given)
    assert finding is None if text is None else finding is not None and finding.detail.startswith(text)


def test_who_is_wrong_there_from_the_start_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    source = SCALED.replace("KEY", "0").replace("self.kept[key]", "1.5")
    assert scaled(monkeypatch, source, 1.5) is None


@pytest.mark.parametrize("crashes", [False, True])
def test_what_does_not_fit_on_a_small_stack_is_a_remark(monkeypatch: pytest.MonkeyPatch, crashes: bool) -> None:
    with against(honest) as session:
        trial = on_trial(session, DOUBLE, is_large=False, known_scales=lambda *_given: (ErrorScale(),))
        usual, loads = session.call, list[bool]()

        def call(slot: Any, *given: Any, form: CallForm) -> Any:
            assert form.team is ThreadTeam.SHALLOW
            if crashes:
                raise RunnerFault(FaultKind.CRASHED, "it ended by SIGSEGV")
            return usual(slot, *given, form=form)

        monkeypatch.setattr(session, "call", call)
        monkeypatch.setattr(Trial, "load_again", lambda _trial: loads.append(True))
        assert on_a_small_stack(trial, [torch.rand(70000, 4)], 9, "there") is None
        assert len(loads) == crashes
        assert [note.partition(":")[0] for note in trial.notes] == ["PROVEN FOR THREADS WITH A LARGE STACK"] * crashes
        assert on_a_small_stack(trial, [torch.rand(300, 4)], 9, "there") is None  # short rows: no call


def test_a_difference_that_the_reference_itself_may_have_is_not_held_against_a_kernel() -> None:
    with against(honest) as session:
        assert after_a_small_change(on_trial(session, BY_A_SAMPLE, scales_on=lambda *_given: None)) is None
