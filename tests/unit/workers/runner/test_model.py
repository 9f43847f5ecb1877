"""Which of the reference's parameters and buffers a candidate's model is given."""

import torch

from workers.runner.model import copy_state, matching, state_of


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
