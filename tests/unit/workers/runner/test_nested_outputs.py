"""A tensor of a kind that cannot be handed over is named, rather than described."""

from __future__ import annotations

import pytest
import torch

from workers.runner.handing_over import describe_output


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_nested_tensor_is_named() -> None:
    nested = torch.nested.nested_tensor([torch.zeros(2), torch.zeros(3)])
    claim = describe_output(nested, [], torch.device("cpu"), None)
    assert (claim.kind, claim.meta) == ("a nested tensor", None)
