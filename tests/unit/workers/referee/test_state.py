"""What the referee knows of a problem, and its device, which others use too and a candidate may have broken."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from services.domain.errors import InfrastructureError
from workers.ipc.placement import TensorDevice
from workers.ipc.tensors import TensorMeta
from workers.referee.comparison.error_scales import is_by_range
from workers.referee.comparison.output_structure import Answer
from workers.referee.comparison.tolerance import ErrorScale, compare, examine, tolerances
from workers.referee.errors import Refused
from workers.referee.inputs.distributions import (
    DEGENERATE,
    EXPANDED_COTANGENTS,
    HUGE,
    HUGEST,
    MINUTE,
    OWN,
    PADDED,
    Distribution,
)
from workers.referee.state import DeviceCare, ReferenceState
from workers.runner.step import GraphUse


class Card(TensorDevice):
    is_gpu = True

    def __init__(self, *, works: bool) -> None:
        super().__init__()
        self.works = works
        self.tried = 0

    def check_health(self) -> None:
        self.tried += 1
        if not self.works:
            raise InfrastructureError("the GPU computes wrongly")


def test_the_cpu_is_neither_held_nor_tried() -> None:
    care = DeviceCare(TensorDevice(), hold=lambda: pytest.fail("held"))
    care.doubtful = True
    assert care.take() == 0.0


def test_a_gpu_is_held_and_tried_only_after_a_breakdown() -> None:
    card = Card(works=True)
    care = DeviceCare(card, hold=lambda: 1.5)
    assert care.take() == 1.5
    assert card.tried == 0
    care.doubtful = True
    care.take()
    care.take()
    assert card.tried == 1


def test_a_gpu_that_fails_the_trial_is_nobody_else_s_to_use() -> None:
    care = DeviceCare(Card(works=False), hold=lambda: 0.0)
    care.doubtful = True
    for _ in range(2):
        with pytest.raises(InfrastructureError, match="computes wrongly"):
            care.take()


@pytest.mark.parametrize("ties", [True, False])
def test_a_value_near_the_middle_of_two_8_bit_numbers_is_many_elements_among_ties_alone(ties: bool) -> None:
    wanted = torch.full((64, 64), 2.0).to(torch.float8_e4m3fn)
    returned = wanted.clone()
    returned[:2] = torch.tensor(2.25).to(torch.float8_e4m3fn)
    state: Any = None  # nothing of the problem is asked for 8 bits

    scale = ReferenceState.with_depth(state, ErrorScale(), wanted, ties=ties)

    assert (examine(returned, wanted, scale, tolerances(None)).mismatch is None) is ties
    returned[0, 0] = torch.tensor(3.0).to(torch.float8_e4m3fn)
    assert examine(returned, wanted, scale, tolerances(None)).mismatch is not None


def test_tensors_that_the_reference_s_gradients_do_not_need_may_be_overwritten() -> None:
    tried = list[GraphUse | None]()

    def expected(arguments: list[Any], use: GraphUse | None = None) -> Answer:
        tried.append(use)
        if use is not None and use.overwritten == (0,):
            raise Refused("modified by an inplace operation", "")
        return Answer.of(arguments[0] * (2.0 if use is not None and use.overwritten_outputs else 1.0))

    state: Any = SimpleNamespace(_overwritable=None, draw=lambda *_given: [torch.ones(3)], expected=expected)
    assert ReferenceState.overwritable(state, 2, 1) == ((1,), ())
    assert ReferenceState.overwritable(state, 2, 1) == ((1,), ())
    assert len(tried) == 4


@pytest.mark.parametrize(("exact", "wanted"), [(True, [0, 0, 1]), (False, [-145, -139, 1])])
def test_who_flushes_subnormal_numbers_is_right_where_nothing_is_computed(exact: bool, wanted: list[int]) -> None:
    """Elsewhere, where float64 says what is right, it does so of them too."""
    given = torch.tensor([-(2.0**-146), 2.0**-140, 1.0])
    state: Any = SimpleNamespace(
        _is_all_exact=exact,
        expected=lambda arguments: Answer.of(arguments[0].frexp().exponent),
        problem=SimpleNamespace(run_double=lambda arguments: [arguments[0].double().frexp().exponent]),
        analysis=SimpleNamespace(operators=(), inputs=(), parameters=(), constants=(), outputs=()),
    )
    (found,) = ReferenceState.otherwise_rounded(state, [given], [given.frexp().exponent])
    assert found[0].tolist() == wanted
    (found,) = ReferenceState.otherwise_rounded(state, [given[2:]], [given[2:].frexp().exponent])
    assert found[0].tolist() == [1]


@pytest.mark.parametrize(
    ("names", "exact", "changes", "wanted"),
    [
        ({"gt", "where"}, {0}, {}, ["neighbouring floats as", "subnormal floats among", "(in tensor 2 alone)"]),
        ({"mul"}, set(), {}, ["(in tensor 2 alone)"]),
        ({"mm"}, set(), {}, []),
        ({"cumsum"}, set(), {}, []),
        ({"grid_sampler"}, set(), {}, []),
        ({"gt", "where"}, {0}, {"is_step": True}, []),
        ({"gt", "where"}, {0}, {"tolerances": {"float32": SimpleNamespace(looser=True)}}, []),
        (set(), set(), {}, []),
    ],
)
def test_which_floats_are_hardly_different_or_not_finite(
    names: set[str], exact: set[int], changes: dict[str, Any], wanted: list[str]
) -> None:
    operators = [
        SimpleNamespace(target=f"aten.{name}.default", arguments=(), keywords=(), outputs=()) for name in names
    ]
    state: Any = SimpleNamespace(
        problem=SimpleNamespace(**({"is_step": False, "tolerances": {}} | changes)),
        names=names,
        analysis=SimpleNamespace(operators=operators, outputs=("y",), inputs=(), parameters=(), constants=()),
        scales=lambda _number, _distribution: (),
        _exact=frozenset(exact),
        _is_all_exact=bool(exact),
        _converts=False,
        _choices={},
    )
    found = ReferenceState._telling_apart(state, [torch.randn(8, 16), torch.randn(8, 16)], is_small=True)
    assert len(found) == len(wanted)
    assert all(one.name.endswith(end) for one, end in zip(found, wanted, strict=True))


def alone(tensors: list[torch.Tensor], *, taken: tuple[str, ...], names: frozenset[str] = frozenset()) -> list[str]:
    """The kinds of values that are tried of one tensor alone, where the reference takes those that begin so."""

    def scales(_number: int, distribution: Distribution) -> tuple[ErrorScale, ...] | None:
        return () if distribution.name.startswith(taken) else None

    state: Any = SimpleNamespace(
        _has_whole_inside=False,
        _converts_or_masks=lambda: False,
        _minute=lambda _tensors: MINUTE,
        names=names,
        scales=scales,
    )
    return [one.name for one in ReferenceState._alone(state, 0, tensors, [HUGE, HUGEST])]


def test_one_tensor_alone_is_as_far_from_the_others_as_the_reference_takes_it() -> None:
    x, labels = torch.randn(64, 8), torch.arange(64)
    found = alone([x, labels, x + 1], taken=("minute", "huge"))
    assert sorted(found) == [
        "hugest (in tensor 1 alone)",
        "hugest (in tensor 2 alone)",
        "minutest (in tensor 1 alone)",
        "minutest (in tensor 2 alone)",
    ]
    assert alone([x, x + 1], taken=("huge ",))[0].startswith("huge (in tensor")
    assert alone([x, x + 1], taken=("wide",)) == []


def test_of_three_tensors_two_are_minute_as_well_and_of_more_some_are_tried() -> None:
    x = torch.randn(64, 8)
    of_three = alone([x, x + 1, x + 2], taken=("minute ",))
    assert sorted(name for name in of_three if "but for" in name) == [
        "minute (but for tensor 1)",
        "minute (but for tensor 2)",
        "minute (but for tensor 3)",
    ]
    assert len(alone([x, x, x, x, x], taken=("minute ",))) == len(of_three)


def test_what_is_alone_anyway_and_remainders_are_not_tried_so() -> None:
    x = torch.randn(64, 8)
    assert alone([x, torch.arange(64)], taken=("minute", "huge")) == []
    assert alone([x, x + 1], taken=("minute", "huge"), names=frozenset({"remainder"})) == []


@pytest.mark.parametrize("function", [torch.argmax, torch.sum])
def test_ties_matter_where_places_are_told(function: Any) -> None:
    state: Any = object.__new__(ReferenceState)
    state.problem = SimpleNamespace(run_double=lambda arguments: [function(arguments[0], dim=-1)])
    assert state.ties_matter([torch.ones(4, 8)]) is (function is torch.argmax)
    state.problem.run_double = lambda _arguments: []
    assert state.ties_matter([torch.ones(4, 8)])


def of_range(run_double: Any, distribution: Distribution = DEGENERATE, outputs: Any = None) -> Any:
    x = torch.full((4, 8), 0.7)
    state: Any = SimpleNamespace(
        problem=SimpleNamespace(tolerances=tolerances(None), run_double=run_double),
        names=frozenset({"sqrt"}),
        draw=lambda _number, _distribution: [x],
        expected=lambda _arguments: SimpleNamespace(tensors=[torch.full((4, 8), 2.0)]),
    )
    made = [torch.full((4, 8), 1e-4)] if outputs is None else outputs
    return ReferenceState._scales_of_range(state, (ErrorScale(),), [x], made, distribution)


def test_rows_of_one_value_are_judged_by_their_range_where_digits_hang_on_a_rounding() -> None:
    (scale,) = of_range(lambda arguments: [arguments[0].double()])
    assert is_by_range(scale)
    wanted, table = torch.full((4, 8), 1e-4), tolerances(None)
    assert compare(torch.zeros(4, 8), wanted, scale, table) is None
    assert compare(torch.full((4, 8), torch.nan), wanted, scale, table) is not None
    assert compare(torch.full((4, 8), 100.0), wanted, scale, table) is not None


def test_nothing_is_known_of_rows_of_one_value_where_float64_gives_what_is_not_finite() -> None:
    assert of_range(lambda arguments: [arguments[0].double() / 0]) is None
    assert of_range(lambda arguments: [arguments[0].double()], PADDED) is None
    assert of_range(lambda arguments: [arguments[0].double()], HUGE) is None  # without a function that is periodic


def with_a_gradient(usual: torch.Tensor) -> Any:
    state: Any = object.__new__(ReferenceState)
    state.problem = SimpleNamespace(gradient_names=("x",))
    state.draw = lambda _number, _distribution: []
    state.expected = lambda _arguments: SimpleNamespace(tensors=[torch.zeros(4), usual])
    return state


def test_a_gradient_has_vanished_that_is_mostly_zero_and_usually_is_not() -> None:
    output, zeros, rand = torch.zeros(4), torch.zeros(8), torch.rand(8) + 1.0
    assert with_a_gradient(rand)._vanishes([output, zeros])
    assert not with_a_gradient(rand)._vanishes([output, rand])
    assert not with_a_gradient(zeros)._vanishes([output, zeros])
    state = with_a_gradient(rand)
    state.problem.gradient_names = ()
    assert not state._vanishes([output, zeros])


@pytest.mark.parametrize("distribution", [OWN, EXPANDED_COTANGENTS])
def test_errors_are_measured_on_arguments_that_lie_as_in_the_calls(distribution: Distribution) -> None:
    asked = list[int]()

    def make_inputs(_number: int, _seed: int, layout: int) -> list[torch.Tensor]:
        asked.append(layout)
        return [torch.rand(4)]

    state: Any = object.__new__(ReferenceState)
    state.problem = SimpleNamespace(make_inputs=make_inputs, limits=None)
    state._metas = {}
    state.expected = lambda _arguments: SimpleNamespace(tensors=[torch.zeros(4)])
    state.fit_scales = lambda *_given: ()
    state.can_judge = lambda *_given: True
    state.metas = lambda _number: [TensorMeta.of(torch.zeros(4))]
    assert state.measured_scales(0, distribution) == ()
    assert asked == [distribution.layout]


def of_a_step(**more: Any) -> Any:
    state: Any = object.__new__(ReferenceState)
    state.problem = SimpleNamespace(
        gradient_names=("`x`",), is_step=True, tolerances={}, limits=None, forward_arguments=lambda given: given[:1]
    )
    state.metas = lambda _number: [TensorMeta.of(torch.ones(4, 8))] * 2
    for name, value in more.items():
        setattr(state, name, value)
    return state


def test_cotangents_stay_where_values_are_about_a_forward() -> None:
    x, cotangent = torch.randn(64, 8), torch.randn(64, 8)
    changed = of_a_step().changed([x, cotangent, 0], DEGENERATE)
    assert not torch.equal(changed[0], x)
    assert torch.equal(changed[1], cotangent)
    assert not torch.equal(of_a_step().changed([x, cotangent, 0], HUGE)[1], cotangent)


def test_how_exact_a_forward_is_does_not_hang_on_gradients() -> None:
    def expected(_arguments: Any, use: GraphUse) -> Any:
        assert use.gradients == ()
        return Answer.of((torch.ones(4, 8), torch.zeros(4, 8)))

    exact, cancelled = ErrorScale(known=True), ErrorScale(known=True, relative=0.1)
    state = of_a_step(expected=expected, scales_on=lambda *_given, **_use: (exact, cancelled))
    assert state.forward_scales([torch.ones(4, 8)], DEGENERATE) == (exact, cancelled)
    state.scales_on = lambda *_given, **_use: (cancelled, exact)
    assert state.forward_scales([torch.ones(4, 8)], DEGENERATE) is None


@pytest.mark.parametrize(
    ("names", "wanted"),
    [
        ({"embedding", "relu"}, True),
        ({"embedding", "relu", "sub"}, False),
        ({"embedding", "relu", "native_layer_norm"}, False),
        ({"embedding", "amax"}, False),
        (set(), False),
    ],
)
def test_indices_may_be_alike_where_kinks_are_of_single_floats(names: set[str], wanted: bool) -> None:
    state: Any = SimpleNamespace(names=names)
    assert ReferenceState._may_repeat_indices(state) is wanted


@pytest.mark.parametrize(
    ("make", "names", "wanted"),
    [
        (lambda: torch.randint(0, 50_000, (8, 640)), {"embedding"}, True),
        (lambda: torch.randint(0, 50_000, (8, 640)), {"index_put"}, False),
        (lambda: torch.randperm(50_000)[:5120], {"embedding"}, False),
    ],
)
def test_indices_repeat_in_steps_where_a_draw_shows_it(make: Any, names: set[str], wanted: bool) -> None:
    state: Any = SimpleNamespace(
        names=names, problem=SimpleNamespace(is_step=True), draw=lambda _number, _distribution: [make()]
    )
    assert ReferenceState._repeats_indices(state, 0) is wanted
