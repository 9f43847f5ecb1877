"""Which of the reference's parameters and buffers a candidate's model is given."""

import torch

from workers.runner.model import copy_state, state_of


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
