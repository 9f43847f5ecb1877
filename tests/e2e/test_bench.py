"""`kernelwright bench`: one problem that has a template and one that has none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.programs import SMALL, WELL, run

pytestmark = pytest.mark.e2e

CONVOLUTION = """import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution = torch.nn.Conv2d(3, 8, 3)

    def forward(self, x):
        return self.convolution(x)


def get_inputs():
    return [torch.randn(4, 3, 64, 64)]


def get_init_inputs():
    return []
"""


def test_what_has_no_template_is_unsolved_and_no_error_and_the_rest_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "problems"
    folder.mkdir()
    (folder / "a_convolution.py").write_text(CONVOLUTION)
    (folder / "scaled_silu.py").write_text(SMALL)

    done = run("bench", folder, "--rounds", "2", "--json", home=tmp_path / "home")

    assert done.returncode == 1, "not every problem has a kernel"
    document = json.loads(done.stdout)
    convolution, silu = document["problems"]
    assert (convolution["status"], convolution["accepted"], convolution["kernel_path"]) == ("unsolved", False, None)
    assert convolution["message"].startswith("no template for aten.conv")
    assert convolution["message"].endswith(": configure a chat model")
    assert silu["status"] in WELL
    assert (silu["accepted"], silu["rounds"]) == (True, 2)
    assert Path(silu["kernel_path"]).is_file()
    assert document["accepted"] == 1
    assert document["geometric_mean"]["eager"] == pytest.approx(silu["speedup"]["eager"])
    assert "[1/2] a_convolution" in done.stderr
    assert "[2/2] scaled_silu" in done.stderr
