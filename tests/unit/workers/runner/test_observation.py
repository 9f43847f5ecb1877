"""What a candidate's call leaves in the observation."""

import torch

from workers.runner.observation import observe


def test_operators_are_seen_with_the_elements_of_their_largest_tensor() -> None:
    result, operators = observe(lambda x: torch.exp(x).sum(), [torch.zeros(3, 5)])
    assert float(result) == 15.0
    assert operators == {"exp": 15, "sum": 15}
