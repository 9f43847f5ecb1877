"""Which of the reference's parameters and buffers a candidate's model is given."""

import weakref

import torch

from workers.runner.model import (
    assign_state,
    by_keyword,
    copied,
    copy_state,
    matching,
    state_of,
    take_place,
    turned_over,
)
from workers.runner.step import DENSE, ModelStep, StepPlan


class Frequencies(torch.nn.Module):
    """What a reference keeps: a table that is not saved, before a scale that is."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("inverse", torch.arange(4.0), persistent=False)
        self.register_buffer("scale", torch.arange(8.0))


class Own(torch.nn.Module):
    """A candidate's scale under a name of its own, and a table of another shape."""

    def __init__(self, *, saved: bool, size: int = 3) -> None:
        super().__init__()
        self.register_buffer("table", torch.full((size,), 7.0), persistent=saved)
        self.register_buffer("factors", torch.zeros(8))


def _given(model: torch.nn.Module) -> dict[str, str] | None:
    names, tensors = zip(*state_of(Frequencies()), strict=True)
    return copy_state(model, names, tensors)


def test_buffers_that_are_not_saved_come_last() -> None:
    assert [name for name, _ in state_of(Frequencies())] == ["scale", "inverse"]
    nested = torch.nn.Sequential(Frequencies(), torch.nn.Linear(2, 2))
    assert [name for name, _ in state_of(nested)] == ["1.weight", "1.bias", "0.scale", "0.inverse"]


def test_a_buffer_that_is_not_saved_needs_no_counterpart_on_either_side() -> None:
    model = Own(saved=False)
    assert _given(model) == {"scale": "factors"}
    assert torch.equal(model.get_buffer("factors"), torch.arange(8.0))
    assert torch.equal(model.get_buffer("table"), torch.full((3,), 7.0))


def test_one_of_the_same_shape_under_another_name_is_left_alone() -> None:
    model = Own(saved=False, size=4)
    assert _given(model) == {"scale": "factors"}
    assert torch.equal(model.get_buffer("table"), torch.full((4,), 7.0))


def test_one_of_the_same_name_and_shape_is_given_values() -> None:
    model = Frequencies()
    model.get_buffer("inverse").zero_()
    assert _given(model) == {"scale": "scale", "inverse": "inverse"}
    assert torch.equal(model.get_buffer("inverse"), torch.arange(4.0))


def test_one_that_is_saved_needs_a_counterpart() -> None:
    model = Own(saved=True)
    assert _given(model) is None
    assert torch.equal(model.get_buffer("factors"), torch.zeros(8))


class Layer(torch.nn.Module):
    """Parameters of the given names and shapes."""

    def __init__(self, **shapes: tuple[int, ...]) -> None:
        super().__init__()
        for name, shape in shapes.items():
            self.register_parameter(name, torch.nn.Parameter(torch.zeros(shape)))


def _matching(model: torch.nn.Module, **shapes: tuple[int, ...]) -> tuple[dict[str, str], tuple[str, ...]]:
    return matching(model, list(shapes), [torch.ones(shape) for shape in shapes.values()])


def test_what_is_kept_in_another_shape_is_named() -> None:
    own_names, missing = _matching(Layer(weight=(3, 2), bias=(3,)), weight=(2, 3), bias=(3,))
    assert own_names == {"bias": "bias"}
    assert missing == ("weight",)


def test_what_is_left_out_altogether_is_not_missing() -> None:
    assert _matching(Layer(scale=(3,)), weight=(2, 3), bias=(3,)) == ({"bias": "scale"}, ())


def test_what_a_model_has_beyond_the_reference_s_is_its_own_business() -> None:
    model = Layer(weight=(2, 3), bias=(3,), packed=(16,))
    assert _matching(model, weight=(2, 3), bias=(3,)) == ({"weight": "weight", "bias": "bias"}, ())


def test_a_count_of_batches_cannot_be_kept_in_another_shape() -> None:
    tensors = [torch.ones(3), torch.tensor(0)]
    assert matching(Layer(weight=(3,), packed=(16,)), ["weight", "batches"], tensors) == ({"weight": "weight"}, ())


def test_a_change_in_place_advances_the_version_counter_and_keeps_the_memory() -> None:
    model = Layer(weight=(2, 3))
    parameter = model.get_parameter("weight")
    version, address = parameter._version, parameter.data_ptr()
    assert copy_state(model, ["weight"], [torch.ones(2, 3)]) == {"weight": "weight"}
    assert parameter._version > version
    assert parameter.data_ptr() == address
    assert bool((parameter == 1).all())


def test_only_what_has_other_values_changes_where_that_is_asked_for() -> None:
    model = torch.nn.Linear(3, 2)
    versions = model.weight._version, model.bias._version
    given = [model.weight.detach().clone(), torch.ones(2)]
    assert copy_state(model, ["weight", "bias"], given, only_others=True) is not None
    assert (model.weight._version, model.bias._version) == (versions[0], versions[1] + 1)
    assert torch.equal(model.bias, torch.ones(2))


def test_other_tensors_take_the_place_of_those_that_are_saved() -> None:
    model = Frequencies()
    scale, inverse = model.get_buffer("scale"), model.get_buffer("inverse")
    assert assign_state(model, ["scale", "inverse"], [torch.ones(8), torch.ones(4)]) is not None
    assert model.get_buffer("scale") is not scale
    assert model.get_buffer("inverse") is inverse
    assert all(torch.equal(tensor, torch.ones_like(tensor)) for _, tensor in state_of(model))
    assert assign_state(torch.nn.Linear(3, 2), ["weight", "bias"], [torch.ones(5), torch.ones(2)]) is None


def test_a_copy_has_versions_that_the_model_has_not_had() -> None:
    model = torch.nn.BatchNorm1d(3)
    model.get_buffer("running_mean").add_(1.0).add_(1.0)
    other = copied([model])
    most = max(tensor._version for _, tensor in state_of(model))
    assert all(tensor._version > most for _, tensor in state_of(other))
    assert all(
        torch.equal(*pair) for pair in zip(model.state_dict().values(), other.state_dict().values(), strict=True)
    )


def test_a_copy_outlives_its_model() -> None:
    models: list[torch.nn.Module] = [torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)]
    models[1].itself, gone = [models[1]], weakref.ref(models[1])  # type: ignore[assignment]
    values = models[1].get_parameter("weight").detach().clone()
    other = copied(models)
    assert gone() is None
    assert len(models) == 1
    assert torch.equal(other.get_parameter("weight"), values)


class Difference(torch.nn.Module):
    """Of two arguments."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """The first less the second."""
        return x - y


def test_arguments_are_passed_by_the_names_that_are_given() -> None:
    one, other = torch.ones(2, requires_grad=True), torch.zeros(2)
    assert torch.equal(by_keyword(Difference(), ["y", "x"])(one, other), -torch.ones(2))
    step = ModelStep(Difference(), StepPlan(inputs=(0,), parameters=(), outputs=(0,)))
    result, gradients = by_keyword(step, ["y", "x"])(one, other, torch.ones(2), DENSE)
    assert torch.equal(result, -torch.ones(2))
    assert torch.equal(gradients[0], -torch.ones(2))


def test_a_model_is_in_its_other_mode_for_a_while_and_its_parts_are_as_before_then() -> None:
    model = torch.nn.Sequential(torch.nn.BatchNorm1d(3), torch.nn.Dropout().eval())
    with turned_over(model):
        assert [part.training for part in model.modules()] == [False, False, False]
    assert [part.training for part in model.modules()] == [True, True, False]


def test_a_model_takes_anothers_place_and_keeps_its_versions() -> None:
    model, gone = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
    versions, places = [tensor._version for _, tensor in state_of(model)], [t.data_ptr() for _, t in state_of(gone)]
    take_place(model, gone)
    assert [tensor.data_ptr() for _, tensor in state_of(model)] == places
    assert [tensor._version for _, tensor in state_of(model)] == versions
