"""Arguments lie in memory as the problem made them: in shared blocks, changed draws and timed calls, at other sizes."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
import torch

from workers.ipc.placement import TensorDevice
from workers.ipc.tensors import Block, TensorMeta, arranged, put, relaid
from workers.referee.boundary.slots import Slot
from workers.referee.inputs.distributions import DISTRIBUTIONS, NOT_FINITE, WHOLE, drawn
from workers.referee.inputs.fresh_values import FreshValues
from workers.referee.inputs.resize import cut_along

Draw = Callable[[], list[torch.Tensor]]


def overlapping() -> list[torch.Tensor]:
    whole = torch.randn(3000)
    return [whole[:2000], whole[1000:]]


def twice() -> list[torch.Tensor]:
    one = torch.randn(64, 96)
    return [one, one]


LAYOUTS: dict[str, Draw] = {
    "expanded mask": lambda: [torch.randn(2, 4, 64, 64), torch.ones(64, 64).triu(1).bool().expand(2, 4, 64, 64)],
    "expanded numbers": lambda: [torch.randn(600, 512), torch.randn(1, 512).expand(600, 512)],
    "expanded positions": lambda: [torch.randn(64, 32), torch.arange(32).expand(64, 32)],
    "expanded scalar": lambda: [torch.randn(5, 5), torch.tensor(2.0).expand(5, 5)],
    "transposed": lambda: [torch.randn(500, 600).t(), torch.randn(600, 500)],
    "turned": lambda: [torch.randn(5, 67, 9).permute(2, 0, 1)],
    "halves": lambda: list(torch.randn(300, 2048).chunk(2, dim=-1)),
    "columns": lambda: [torch.randn(400, 512), torch.randint(0, 10, (400, 2))[:, 0]],
    "channels last": lambda: [torch.randn(4, 8, 32, 32).to(memory_format=torch.channels_last)],
    "windows": lambda: [torch.randn(4000).unfold(0, 4, 2), torch.randn(7)],
    "overlapping": overlapping,
    "twice": twice,
    "complex": lambda: [torch.randn(33, 65, dtype=torch.complex64).t()],
}  # fmt: skip
EVERY = pytest.mark.parametrize("draw", LAYOUTS.values(), ids=LAYOUTS.keys())


def alike(one: list[torch.Tensor], other: list[torch.Tensor] | tuple[torch.Tensor, ...]) -> bool:
    return all(torch.equal(a.nan_to_num(7), b.nan_to_num(7)) for a, b in zip(one, other, strict=True))


@EVERY
def test_a_block_holds_tensors_as_they_lie(draw: Draw) -> None:
    given = draw()
    block = Block.allocate(arranged(given))
    block.write(given)
    assert alike(given, block.tensors)
    assert [one.stride() for one in block.tensors] == [one.stride() for one in given]


def test_dense_tensors_are_described_by_shape_and_dtype_alone() -> None:
    assert arranged([torch.ones(2, 3), torch.ones(4)]) == [
        TensorMeta(dtype="float32", shape=(2, 3)),
        TensorMeta(dtype="float32", shape=(4,)),
    ]


@EVERY
def test_copies_lie_as_the_originals_and_share_what_those_share(draw: Draw) -> None:
    given = draw()
    copies = relaid(given, given)
    assert alike(given, copies)
    assert [one.stride() for one in copies] == [one.stride() for one in given]
    if len({tensor.untyped_storage().data_ptr() for tensor in given}) == 1:
        copied, places = ([one.data_ptr() - tensors[0].data_ptr() for one in tensors] for tensors in (copies, given))
        assert copied == places


@EVERY
@pytest.mark.parametrize("distribution", [*DISTRIBUTIONS, *WHOLE, NOT_FINITE], ids=lambda one: one.name)
def test_changed_values_lie_as_the_problems_own(draw: Draw, distribution: object) -> None:
    given = draw()
    assert [one.stride() for one in drawn(given, distribution)] == [one.stride() for one in given]  # type: ignore[arg-type]


@EVERY
def test_timed_calls_get_the_values_that_the_referee_knows(draw: Draw) -> None:
    values, slot = FreshValues([draw() for _ in range(3)], draw), Slot(0, draw(), [], TensorDevice())
    kept = [tensor.clone() for tensor in values.pool[0]]
    for _ in range(20):
        known = values.next(fresh=False).tensors
        slot.write(known)
        assert alike(known, slot.inputs.tensors)
        apart = values.separate()
        slot.write(apart)
        assert alike(apart, slot.inputs.tensors)
    if not values.always_drawn:
        assert alike(kept, values.pool[0]), "a call's values are none of the pool's"
    slot.close()


def test_tensors_that_overlap_are_never_mixed_one_by_one() -> None:
    def draw() -> list[torch.Tensor]:
        one = torch.randn(600, 512)
        return [one, one]

    assert FreshValues([draw(), draw()], draw).mixable == [False, False]


@pytest.mark.parametrize("last", [False, True])
def test_other_sizes_keep_what_is_repeated_and_the_order_of_dimensions(last: bool) -> None:
    mask = LAYOUTS["expanded mask"]()
    cut = cut_along(mask, last=last, generator=random.Random(1)) or []
    if cut:
        assert cut[1].stride()[:2] == mask[1].stride()[:2]
    image = cut_along(LAYOUTS["channels last"](), last=True, generator=random.Random(1)) or []
    assert image[0].is_contiguous(memory_format=torch.channels_last)


def test_of_repeated_values_the_first_counts() -> None:
    place = torch.zeros(1, 3).expand(2, 3)
    put(place, torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    assert place.tolist() == [[1.0, 2.0, 3.0]] * 2
