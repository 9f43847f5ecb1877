"""Triton's machine code without a GPU: compiled from a run of the forward, its lines those of the module."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from services.domain.profiles import Disassembly
from services.ports.devices import BuildResult
from services.ports.sandboxes import Sandbox
from workers.backends.dry_run import one_place_per_asm
from workers.backends.triton import InterpretedTritonBackend
from workers.sandboxes.process import ProcessSandbox

pytest.importorskip("triton", reason="Triton is not installed: pip install triton")

PROBLEM = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.silu(x)

def get_inputs():
    return [torch.randn({size})]

def get_init_inputs():
    return []
"""
SILU = """import torch
import triton
import triton.language as tl


@triton.jit
def scaled(v, by: tl.constexpr):
    return v * by


{tuned}@triton.jit
def silu_kernel(x, y, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + at, mask=at < n)
    tl.store(y + at, scaled(v * tl.sigmoid(v), 1.0), mask=at < n)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        with torch.cuda.device(x.device):
            silu_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(){size})
        return y
"""
PLAIN = SILU.format(tuned="", size=", B=1024")


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    made = ProcessSandbox(preload=["workers.backends.collect"])
    yield made
    made.close()


def listed(sandbox: Sandbox, folder: Path, source: str, size: str = "4096, 4096") -> Disassembly:
    built = BuildResult(
        ok=True, messages="", artefacts=(), seconds=0.0, module=source, problem=PROBLEM.format(size=size)
    )
    return InterpretedTritonBackend(sandbox, folder).listing(built)


def marked(text: str, instruction: str) -> set[int]:
    """Lines that an instruction is tied to."""
    found, line = set(), 0
    for said in text.splitlines():
        line = int(said.removeprefix("; line ")) if said.startswith("; line ") else line
        if instruction in said:
            found.add(line)
    return found


def line_of(source: str, text: str) -> int:
    return next(number for number, said in enumerate(source.splitlines(), 1) if text in said)


def test_loads_and_stores_are_tied_to_the_modules_lines_in_sass_and_ptx(sandbox: Sandbox, tmp_path: Path) -> None:
    found = listed(sandbox, tmp_path, PLAIN)
    assert (found.form, found.functions, found.note, found.whole_module) == ("sass", ("silu_kernel",), "", True)
    load, store = line_of(PLAIN, "tl.load"), line_of(PLAIN, "tl.store")
    assert marked(found.text, "LDG") == {load}
    assert marked(found.text, "STG") == {store}
    assert marked(found.text, "MUFU") == {store}  # the exponential is inlined from Triton's own files
    assert marked(found.ptx, "ld.global") == {load}
    assert marked(found.ptx, "st.global") == {store}
    assert ".debug" not in found.ptx


def test_a_candidate_with_parameters_and_buffers_is_compiled_too(sandbox: Sandbox, tmp_path: Path) -> None:
    made = (
        "class ModelNew(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.linear = torch.nn.Linear(4096, 4096)\n"
        '        self.register_buffer("by", torch.ones(4096))\n'
    )
    source = PLAIN.replace("class ModelNew(torch.nn.Module):\n", made)
    source = source.replace("silu_kernel[(", "x = self.linear(x) * self.by\n            silu_kernel[(")
    found = listed(sandbox, tmp_path, source)
    assert (found.form, found.functions, found.note) == ("sass", ("silu_kernel",), "")


def test_kernels_are_compiled_for_what_the_problems_inputs_are(sandbox: Sandbox, tmp_path: Path) -> None:
    assert "LDG.E.128" in listed(sandbox, tmp_path, PLAIN).text
    assert "LDG.E.128" not in listed(sandbox, tmp_path, PLAIN, size="4095, 4097").text


def test_of_several_configurations_the_first_is_shown_and_said_to_be(sandbox: Sandbox, tmp_path: Path) -> None:
    configs = '@triton.autotune(configs=[triton.Config({"B": b}) for b in (512, 2048)], key=["n"])\n'
    found = listed(sandbox, tmp_path, SILU.format(tuned=configs, size=""))
    assert found.functions == ("silu_kernel",)
    assert "among 2 configurations: this is the first" in found.note


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (PLAIN.replace("B=1024)", "B=x[0, 0].item())"), "without a GPU, and"),
        (PLAIN.replace("        y = torch", "        return x * x.sigmoid()\n        y = torch"), "no Triton kernel"),
        ("import os\nos._exit(3)\n", "could not be run without a GPU"),
        ("raise SystemExit('bye')\n", "SystemExit: bye"),
        (
            PLAIN.replace("        y = torch", "        torch.cuda.get_device_properties(0)\n        y = torch"),
            "GPU, and",
        ),
    ],
)
def test_what_cannot_be_compiled_without_a_gpu_is_a_note(
    sandbox: Sandbox, tmp_path: Path, source: str, told: str
) -> None:
    found = listed(sandbox, tmp_path, source)
    assert (found.form, found.text, found.ptx) == ("none", "", "")
    assert told in found.note


def test_a_candidate_that_was_not_accepted_is_not_run_again(sandbox: Sandbox, tmp_path: Path) -> None:
    built = BuildResult(ok=True, messages="", artefacts=(), seconds=0.0, module=PLAIN)
    assert "accepted candidates" in InterpretedTritonBackend(sandbox, tmp_path).listing(built).note


def test_inline_assembly_has_one_place() -> None:
    ptx = (
        "\t.loc\t1 6 9\n\t// begin inline asm\n\t.loc\t1 7 9\n\tmov.u32 %r1, 0x0;\n\t// end inline asm\n\t.loc\t1 8 1\n"
    )
    assert one_place_per_asm(ptx).count(".loc") == 2
    assert "1 7 9" not in one_place_per_asm(ptx)
