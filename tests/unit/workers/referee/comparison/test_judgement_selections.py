"""Places may differ wherever the values there are equal, however many they are."""

from __future__ import annotations

import dataclasses

import torch

from tests.unit.workers.referee.comparison.test_judgement_choices import TopOfRows
from workers.ipc.tensors import TensorMeta
from workers.referee.comparison.call_outputs import Fetched, Output
from workers.referee.comparison.judgement import judged_outputs
from workers.referee.comparison.output_structure import Answer, Selection
from workers.referee.comparison.tolerance import ErrorScale, tolerances


class Sorted(TopOfRows):
    """A reference that gives values and their places."""

    def __init__(self) -> None:
        self.problem = type("Contract", (), {"tolerances": tolerances(None), "gradient_names": ()})()


def is_right(x: torch.Tensor, given: tuple[torch.Tensor, torch.Tensor], *, looked_up: bool, top: int = 64) -> bool:
    values, places = (one[:, :top].contiguous() for one in torch.sort(x, dim=1, stable=True))
    answer = Answer.of((values, places))
    selection = Selection(dim=-1, source=x if looked_up else None, values=0)
    answer = dataclasses.replace(answer, selections={1: selection})
    outputs = [
        Output(kind="tensor", meta=TensorMeta.of(one), alias=None, value=one, strides=one.stride()) for one in given
    ]
    fetched = Fetched(outputs=tuple(outputs), structure={"tuple": [{"tensor": 0}, {"tensor": 1}]}, wall_s=0.0)
    fetched = dataclasses.replace(fetched, structure=answer.shape)
    return judged_outputs(Sorted(), fetched, answer, (ErrorScale(), ErrorScale())).wrong is None


def later_first(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    values, places = torch.sort(x.flip(1), dim=1, stable=True)
    return values, x.shape[1] - 1 - places


def test_equal_values_may_be_in_any_order() -> None:
    x = torch.randint(0, 8, (32, 64)).float()
    values, places = later_first(x)
    for looked_up in (True, False):
        assert is_right(x, (values, places), looked_up=looked_up)
        assert not is_right(x, (values, places.roll(1, 1)), looked_up=looked_up)
        assert not is_right(x, (values, places + 64), looked_up=looked_up)
        assert not is_right(x, (values, places - 64), looked_up=looked_up)


def test_no_place_counts_twice() -> None:
    x = torch.randint(0, 8, (32, 64)).float()
    values, places = later_first(x)
    places[:, 1] = torch.where(values[:, 1] == values[:, 0], places[:, 0], places[:, 1])
    assert not is_right(x, (values, places), looked_up=True)


def test_values_that_are_not_returned_have_to_be_looked_up() -> None:
    x = torch.zeros(4, 64)
    values, places = later_first(x)
    given = values[:, :8].contiguous(), places[:, :8].contiguous()
    assert is_right(x, given, looked_up=True, top=8)
    assert not is_right(x, given, looked_up=False, top=8)
