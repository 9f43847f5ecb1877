"""A design of the adversary's is put into its frame exactly, and told what is wrong where it does not fit."""

from __future__ import annotations

from pathlib import Path

import pytest

from services.domain.python_source import parsed
from tests.adversary.designs import ROOT, designs, read

KINDS = ("cheats", "honest", "open")
HEADER = "# problem: softmax\n# about: leaves the maximum out\n"
CPP = '\ncpp = r"""\nextern "C" void run(const float* x, float* y, int64_t n) {}\n"""\n'
FORWARD = "\n\ndef forward(self, x):\n    return x\n"


def written(folder: Path, text: str) -> Path:
    path = folder / "family" / "cheats" / "one.py"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return path


def test_every_design_is_a_candidate_and_the_same_one_each_time() -> None:
    found = [design for kind in KINDS for design in designs(kind)]
    assert len(found) == len([path for kind in KINDS for path in ROOT.glob(f"*/{kind}/*.py")]) > 0
    for design in found:
        parsed(design.source)
        assert "\nimport torch\n" in design.source, design.id
        assert design.source.count("\nclass ModelNew(") == 1, design.id
        assert "    def __init__(self" not in design.source or "super().__init__()" in design.source, design.id
        assert design.source == read(ROOT / design.family / design.kind / f"{design.name}.py", design.kind).source


def test_a_design_gets_its_frame(tmp_path: Path) -> None:
    header = HEADER + "# imports: torch, numpy, kernelwright_rt\n# given: statistics\n# forward: elements\n"
    state = "\n\nkept = {}\n\n\ndef __init__(self, n):\n    self.n = n\n"
    given = (ROOT / "given" / "statistics.cpp").read_text()
    framed = f'''{HEADER}import torch
import numpy
import kernelwright_rt

lib = kernelwright_rt.compile_cpp(r"""
#include <cmath>
#include <cstdint>
#include <cstring>
{given}extern "C" void run(const float* x, float* y, int64_t n) {{}}
""")


kept = {{}}


class ModelNew(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.n = n

    def forward(self, x):
        y = torch.empty_like(x)
        lib.run(x, y, x.numel())
        return y
'''
    assert read(written(tmp_path, header + CPP + state), "cheats").source == framed


def test_includes_of_its_own_are_all_it_gets_and_come_first(tmp_path: Path) -> None:
    cpp = CPP.replace("extern", "#include <map>\nextern")
    source = read(written(tmp_path, f"{HEADER}# given: exponential\n{cpp}{FORWARD}"), "cheats").source
    assert 'compile_cpp(r"""\n#include <map>\nstatic inline float ex(' in source
    assert source.count("#include") == 1


def test_python_that_is_given_comes_before_its_own(tmp_path: Path) -> None:
    given = (ROOT / "given" / "gate.py").read_text()
    source = read(written(tmp_path, f"{HEADER}# given: gate\n{CPP}\n\nkept = {{}}\n{FORWARD}"), "cheats").source
    assert f"{given}\n\nkept = {{}}\n" in source


def test_a_whole_candidate_stays_as_it_is(tmp_path: Path) -> None:
    text = HEADER + "import torch\n\n\nclass ModelNew(torch.nn.Module):\n    pass\n"
    assert read(written(tmp_path, text), "cheats").source == text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("# problem: softmax\n" + CPP + FORWARD, "# about: …"),
        (HEADER, "after the header, write `cpp"),
        (HEADER + CPP.replace("r", "", 1) + FORWARD, "after the header, write `cpp"),
        (HEADER + CPP, "either `def forward"),
        (HEADER + "# forward: rows\n" + CPP + FORWARD, "either `def forward"),
        (HEADER + "# forward: row\n" + CPP, "`# forward: row` is unknown, write one of elements, row_sums, rows"),
        (HEADER + "# given: softmax\n" + CPP + FORWARD, "`# given: softmax` is unknown, write one of exponential, "),
        (HEADER + CPP + FORWARD + "\n\nlate = 1\n", "write `late = 1` before the first function that takes `self`"),
        (HEADER + CPP + "\n\nclass ModelNew(torch.nn.Module):\n    pass\n", "leave out `class ModelNew`"),
    ],
)
def test_what_is_no_design_is_named_with_what_to_do(tmp_path: Path, text: str, words: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(ValueError, match=r"one\.py: ") as told:
        read(path, "cheats")
    assert str(path) in str(told.value)
    assert words in str(told.value)
