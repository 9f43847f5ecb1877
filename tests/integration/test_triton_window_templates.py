"""Convolutions, pools, norms, losses and scans of the Triton playbook are right in Triton's interpreter."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.selection import collected, with_full

pytestmark = pytest.mark.integration

LIMITS = {"float32": 3e-6, "float16": 6e-4}
"""Relative errors: bfloat16 is left to a GPU, where the interpreter is wrong."""


def layer(
    name: str, text: str, shapes: list[tuple[int, ...]], dtypes: str = "float32 float16"
) -> Iterator[dict[str, Any]]:
    """A case for each type: a layer of `torch.nn` on one argument of several shapes."""
    init = f"self.layer = torch.nn.{text}"
    for dtype in dtypes.split():
        yield {
            "name": f"{name}_{dtype}", "forward": "self.layer(a)", "init": init, "dtype": dtype,
            "shapes": [[shape] for shape in shapes],
        }  # fmt: skip


def formula(name: str, text: str, shapes: list[list[tuple[int, ...]]], *draws: str) -> Iterator[dict[str, Any]]:
    """A case of float32: an expression of several arguments."""
    yield {"name": f"{name}_float32", "forward": text, "dtype": "float32", "shapes": shapes, "draws": draws}


EPILOGUE = [
    [(2, 5, 7, 6), (6, 5, 3, 3), (6, 1, 1), (2, 1, 7, 6)],
    [(1, 5, 4, 6), (6, 5, 3, 3), (6, 1, 1), (1, 1, 4, 6)],
]
LABELS = "torch.randint(0, 51, shape)"
CASES = [
    *layer("conv2d", "Conv2d(17, 21, (3, 2), stride=(2, 1), padding=(1, 2))", [(2, 17, 9, 7), (1, 17, 5, 11)]),
    *layer("first", "Conv2d(3, 5, 5, stride=2, padding=2, bias=False)", [(2, 3, 11, 13)]),
    *layer("same", "Conv2d(3, 5, 3, padding='same', dilation=2)", [(2, 3, 9, 8), (0, 3, 9, 8)], "float32"),
    *layer("conv1d", "Conv1d(16, 4, 3, stride=3, dilation=4, groups=2)", [(2, 16, 31)], "float32"),
    *layer("conv3d", "Conv3d(3, 4, (1, 3, 2), padding=1)", [(2, 3, 4, 5, 6)], "float32"),
    *layer(
        "transposed",
        "ConvTranspose2d(18, 6, 3, stride=(2, 3), padding=1, output_padding=1, dilation=(2, 1), groups=2)",
        [(2, 18, 4, 5), (1, 18, 1, 3)], "float32",
    ),
    *layer("scattered", "ConvTranspose1d(3, 4, 2, stride=4, dilation=2)", [(2, 3, 7)], "float32"),
    *layer("transposed_3d", "ConvTranspose3d(16, 3, 3, stride=2, padding=1)", [(1, 16, 2, 3, 3)], "float32"),
    *layer("depthwise", "Conv2d(3, 6, (3, 5), padding=(1, 2), groups=3)", [(2, 3, 13, 17), (1, 3, 2, 103)], "float32"),
    *layer("depthwise_3d", "Conv3d(2, 2, 3, stride=(1, 2, 1), groups=2)", [(1, 2, 5, 9, 7)], "float32"),
    *layer("large_filter", "Conv2d(1, 1, 15, padding=7)", [(1, 1, 5, 6)], "float32"),
    *layer(
        "separable", "Sequential(torch.nn.Conv2d(3, 3, 3, padding=1, groups=3), torch.nn.Conv2d(3, 18, 1))",
        [(2, 3, 7, 9)], "float32",
    ),
    *layer("max_2d", "MaxPool2d(4, 1, 1)", [(2, 3, 13, 17), (1, 1, 2, 3)]),
    *layer("max_3d", "MaxPool3d(3, 2, 1, 3)", [(1, 2, 7, 9, 11)], "float32"),
    *layer("max_1d", "MaxPool1d(8, 1, 4, 3)", [(2, 3, 37)], "float32"),
    *layer("average_2d", "AvgPool2d((3, 4), (2, 3), (1, 2), ceil_mode=True)", [(2, 3, 13, 17)]),
    *layer("uncounted", "AvgPool2d(3, 2, 1, count_include_pad=False)", [(2, 3, 12, 17)], "float32"),
    *layer("divided", "AvgPool2d(3, 1, divisor_override=7)", [(2, 3, 5, 6)], "float32"),
    *layer("average_3d", "AvgPool3d(3, 2, 1)", [(2, 2, 7, 9, 11)], "float32"),
    *layer("group", "GroupNorm(2, 6)", [(1, 6, 83, 83), (1, 6, 3, 5)], "float32"),
    *layer("instance", "InstanceNorm2d(1, affine=True)", [(2, 1, 131, 129)], "float32"),
    *layer("whole", "LayerNorm((3, 80, 81))", [(1, 3, 80, 81)], "float32"),
    *layer("short", "LayerNorm(31)", [(3, 31)]),
    *layer("rectified", "Sequential(torch.nn.Conv2d(17, 5, 3), torch.nn.GELU())", [(2, 17, 7, 6)]),
    *formula("residual", "F.relu(F.conv2d(a, b, padding=1)) * c + d", EPILOGUE),
    *formula("entropy", "F.cross_entropy(a, b)", [[(37, 51), (37,)], [(1, 51), (1,)]], "", LABELS),
    *formula("summed", "F.cross_entropy(a, b, reduction='sum', ignore_index=7)", [[(9, 51), (9,)]], "", LABELS),
    *formula("single", "F.cross_entropy(a, b, reduction='none')", [[(2, 51, 3, 4), (2, 3, 4)]], "", LABELS),
    *formula("sum", "torch.cumsum(a, 1)", [[(11, 4099)], [(1, 7)], [(3, 0)]]),
    *formula("down", "torch.cumsum(a, 0)", [[(11, 70)], [(1, 7)]]),
    *formula("product", "torch.cumprod(a, -1)", [[(3, 300)]], "torch.rand(shape) + 0.5"),
    *formula("reverse", "torch.cumsum(a.flip(1), 1).flip(1)", [[(5, 3001)], [(3, 50)]]),
    *formula("masked", "torch.cumsum(a * b, 1)", [[(5, 301), (5, 301)]], "", "torch.rand(shape) > 0.5"),
    *formula(
        "exclusive", "torch.cat((torch.zeros_like(a[:, :1]), torch.cumsum(a[:, :-1], 1)), 1)", [[(5, 301)], [(3, 2)]]
    ),
]  # fmt: skip


SELECTED = (
    "first_float16", "conv1d_float32", "transposed_float32", "max_2d_float16", "entropy_float32", "sum_float32",
)  # fmt: skip
"""Two or three of each kind of template: `make test-full` runs all."""


@pytest.fixture(scope="module")
def outcomes(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, list[dict[str, Any]]]:
    """What the kernels of the collected cases did, from one process of the interpreter."""
    folder, cases = tmp_path_factory.mktemp("kernels"), collected(request, "case")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.integration.triton_interpreted", json.dumps(cases), str(folder)],
        env={**os.environ, "TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, list[dict[str, Any]]] = {}
    for line in done.stdout.splitlines():
        one = json.loads(line)
        found.setdefault(one["case"], []).append(one)
    return found


@pytest.mark.parametrize(
    "case", with_full(CASES, [case for case in CASES if case["name"] in SELECTED]), ids=lambda case: case["name"]
)
def test_every_kernel_agrees_with_pytorch(case: dict[str, Any], outcomes: dict[str, list[dict[str, Any]]]) -> None:
    found = outcomes.get(case["name"], [])
    limit = LIMITS[case["dtype"]]

    assert len(found) >= len(case["shapes"])
    assert [one for one in found if one["problem"] or not one["error"] <= limit] == []
