"""Numbers that a source names as sizes."""

import pytest

from workers.referee.inputs.named_sizes import named_sizes


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("float buffer[4096];", [4096]),
        ("if n <= 0x1000u and m < 17:", [17, 4096]),
        ("float e[1 << 17], f[32 * 1024]; // 1.5e30", [17, 32, 1024, 32768, 131072]),
        ("x1024 = 3; y = 0.4096; z = 2e5", []),
        ("int64_t most = 1 << 40; n = 99999999;", [40]),
    ],
)
def test_whole_numbers_are_read_alone_and_as_products_and_shifts(source: str, expected: list[int]) -> None:
    assert named_sizes(source) == expected
