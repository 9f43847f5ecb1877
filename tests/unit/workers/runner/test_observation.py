"""What a candidate's call leaves in the observation."""

import ctypes

import torch

from workers.runner.observation import observe, observe_guarded


def test_operators_are_seen_with_the_elements_of_their_largest_tensor() -> None:
    result, operators = observe(lambda x: torch.exp(x).sum(), [torch.zeros(3, 5)])
    assert float(result) == 15.0
    assert operators == {"exp": 15, "sum": 15}


def test_what_is_written_past_an_allocation_is_told() -> None:
    def model(x: torch.Tensor) -> torch.Tensor:
        y = torch.empty_like(x)
        ctypes.memmove(y.data_ptr(), x.data_ptr(), 4 * x.numel() + 28)
        return y

    with torch.no_grad():
        seen = observe_guarded(model, [torch.zeros(21)[:14]])
    assert seen.elements["empty_like"] == 14
    assert seen.written_outside == "28 bytes past the end of output 0"


def test_a_view_of_a_larger_allocation_and_one_that_grows_are_nothing_to_tell() -> None:
    def model(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.ones(16).mul_(2.0)[: x.numel()], torch.empty(1).resize_(x.numel()).copy_(x)

    with torch.no_grad():
        seen = observe_guarded(model, [torch.zeros(14)])
    assert seen.written_outside is None
    assert torch.equal(seen.result[1], torch.zeros(14))


def test_gradients_are_those_without_guards() -> None:
    x = torch.randn(5, 3, requires_grad=True)
    seen = observe_guarded(lambda given: torch.autograd.grad((given.exp() @ given.t()).sum(), given)[0], [x])
    assert torch.equal(seen.result, torch.autograd.grad((x.exp() @ x.t()).sum(), x)[0])


def test_a_view_of_a_parameter_stays_in_the_parameters_memory() -> None:
    weight = torch.nn.Parameter(torch.ones(14))
    with torch.no_grad():
        seen = observe_guarded(lambda _x: weight.detach(), [torch.zeros(14)])
    assert seen.result.data_ptr() == weight.data_ptr()
