"""Calls as another caller makes them."""

from __future__ import annotations

import os

import pytest
import torch

from workers.runner.manners import DEFAULT_SEED, VARIABLES, OwnMemory, surroundings
from workers.runner.protocol import Manner


def of_one_piece() -> list[torch.Tensor]:
    """As a runner has them: in one storage, apart from each other."""
    raw = torch.arange(200.0)
    return [raw[10:30].view(4, 5), raw[50:80].view(6, 5).t()]


def test_copies_are_as_large_as_they_are_and_lie_alone() -> None:
    given = of_one_piece()
    own = OwnMemory([{"x": given[0]}, given[1], 3])
    copies = [own.arguments[0]["x"], own.arguments[1]]
    assert own.arguments[2] == 3
    for tensor, copy in zip(given, copies, strict=True):
        assert torch.equal(copy, tensor)
        assert copy.stride() == tensor.stride()
        assert copy.untyped_storage().nbytes() == copy.nbytes
        assert copy.storage_offset() == 0
        assert not copy._is_view()
        assert not copy.requires_grad


def test_what_a_call_writes_is_seen_in_the_arguments() -> None:
    x, y = of_one_piece()
    own = OwnMemory([x, y])
    own.arguments[0].fill_(7.0)
    before = y.clone()
    own.write_back()
    assert torch.equal(x, torch.full((4, 5), 7.0))
    assert torch.equal(y, before)


def test_an_argument_that_was_given_another_shape_is_not_as_it_was() -> None:
    (x, _), before = of_one_piece(), of_one_piece()[0]
    own = OwnMemory([x])
    own.arguments[0].resize_(2, 2)
    own.write_back()
    assert not torch.eq(x, before).any()


def test_tensors_that_have_memory_in_common_stay_where_they_are() -> None:
    raw = torch.arange(40.0)
    given = [raw[:20], raw[10:15], raw[20:30], raw[30:]]
    found = OwnMemory(given).arguments
    assert [copy is tensor for copy, tensor in zip(found, given, strict=True)] == [True, True, False, False]
    twice = raw[:20]
    assert all(one is twice for one in OwnMemory([twice, twice]).arguments)


def test_floats_may_require_gradients_and_are_written_back() -> None:
    x, n = torch.ones(3), torch.arange(3)
    own = OwnMemory([x, n], require_gradients=True)
    assert own.arguments[0].requires_grad
    assert not own.arguments[1].requires_grad
    own.write_back()
    assert not x.requires_grad


@pytest.mark.parametrize("is_set", [True, False])
def test_settings_are_others_within_a_call_and_the_same_afterwards(
    monkeypatch: pytest.MonkeyPatch, *, is_set: bool
) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    if is_set:
        monkeypatch.setenv("OMP_NUM_THREADS", "2")
    torch.manual_seed(5)
    state, before = torch.get_rng_state(), dict(os.environ)
    with surroundings(Manner.SETTINGS):
        assert ("OMP_NUM_THREADS" in os.environ) is not is_set
        assert torch.initial_seed() == DEFAULT_SEED
    assert dict(os.environ) == before
    assert torch.initial_seed() == 5
    assert torch.equal(torch.get_rng_state(), state)


def test_gradients_are_recorded_where_that_is_asked_for() -> None:
    with torch.no_grad():
        with surroundings(Manner.GRADIENTS):
            assert torch.is_grad_enabled()
        with surroundings(Manner.USUAL):
            assert not torch.is_grad_enabled()
