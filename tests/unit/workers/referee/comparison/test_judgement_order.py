"""An output lies in memory as the reference's does, or in row-major order."""

import pytest
import torch

from workers.referee.comparison.judgement import is_turned

ROWS = torch.zeros(256, 512)
LAST = torch.zeros(2, 64, 32, 32).contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize(
    ("given", "wanted", "turned"),
    [
        (ROWS, ROWS, False),
        (torch.zeros(256, 640)[:, :512], ROWS, False),
        (torch.zeros(512, 256).t(), ROWS, True),
        (torch.zeros(512, 256).t(), torch.zeros(512, 256).t(), False),
        (ROWS, torch.zeros(512, 256).t(), False),
        (LAST, torch.zeros(2, 64, 32, 32), True),
        (LAST, LAST, False),
        (torch.zeros(2, 64, 32, 32), LAST, False),
        (torch.zeros(8, 4).t(), torch.zeros(4, 8), False),
        (torch.zeros(1, 65536), torch.zeros(1, 65536), False),
        (torch.zeros(65536, 1).t(), torch.zeros(1, 65536), False),
        (ROWS.expand(3, 256, 512), ROWS.expand(3, 256, 512), False),
    ],
)
def test_whose_order_an_output_has(given: torch.Tensor, wanted: torch.Tensor, turned: bool) -> None:
    assert is_turned(given.stride(), wanted) is turned
