"""Outputs as the runner describes them: what cannot be handed over is named, and what the model holds is noticed."""

from __future__ import annotations

import pytest
import torch

from workers.runner.outputs import describe_output, keeps_outputs, overwrite, shared_with


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_nested_tensor_is_named() -> None:
    nested = torch.nested.nested_tensor([torch.zeros(2), torch.zeros(3)])
    claim = describe_output(nested, [], torch.device("cpu"), None)
    assert (claim.kind, claim.meta) == ("a nested tensor", None)


def test_what_lies_behind_a_repeated_argument_does_not_lie_in_it() -> None:
    whole = torch.zeros(12)
    repeated = whole[:4].expand(3, 4)
    places = [describe_output(whole[at : at + 4], [repeated], torch.device("cpu"), None).alias for at in (0, 3, 4, 8)]
    assert places == [0, 0, None, None]


def test_what_a_mode_of_torch_makes_of_an_output_is_told() -> None:
    with torch.inference_mode():
        made = torch.zeros(2)
    graph = torch.zeros(2, requires_grad=True) + 1
    for item, records, mode in (
        (made, False, "an inference tensor"),
        (made, True, "an inference tensor"),
        (graph, False, "a tensor that requires gradients"),
        (graph, True, None),
        (graph.detach(), False, None),
    ):
        assert describe_output(item, [], torch.device("cpu"), None, records=records).mode == mode


def test_an_argument_that_a_model_returns_is_not_kept_by_it() -> None:
    given = torch.ones(8)
    assert keeps_outputs(lambda x: x, [given])
    assert not keeps_outputs(lambda x: x, [given], [given])


def test_a_model_that_lets_go_of_its_outputs_keeps_nothing() -> None:
    assert not keeps_outputs(lambda x: (x + 1, {"sum": x.sum()}, None), [torch.zeros(8)])


def test_a_model_that_writes_into_memory_of_its_own_keeps_it() -> None:
    own = torch.zeros(4, 8)
    assert keeps_outputs(lambda x: own[0].copy_(x), [torch.ones(8)])


def test_one_output_of_several_is_enough() -> None:
    kept: list[torch.Tensor] = []

    def model(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        kept.append(x * 2)
        return x + 1, kept[-1]

    assert keeps_outputs(model, [torch.ones(8)])


def test_outputs_are_written_over_unless_they_are_somebody_elses() -> None:
    given, numbers, flags = torch.ones(4), torch.arange(3), torch.zeros(2, dtype=torch.bool)
    items = [torch.ones(2), numbers, flags, given, torch.ones(1).expand(3)]
    claims = [
        describe_output(item, [given], torch.device("cpu"), shared_with(item, items[:index], []))
        for index, item in enumerate(items)
    ]
    overwrite(items, claims)
    assert items[0].isnan().all()
    assert numbers.tolist() == [-1, -1, -1]
    assert flags.tolist() == [True, True]
    assert given.tolist() == [1.0] * 4
    assert items[4].tolist() == [1.0] * 3
