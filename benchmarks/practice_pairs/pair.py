"""A pair of candidates for one problem that differ by one practice."""

from __future__ import annotations

from dataclasses import dataclass

_MODULE = '''import torch
from kernelwright_rt import compile_cpp

SOURCE = r"""
#include <cmath>
#include <cstdint>
#include <cstring>
#include <immintrin.h>
{code}
"""
LIBRARY = compile_cpp(SOURCE)


class ModelNew(torch.nn.Module):
    def forward(self, {arguments}):
        {call}
        return out
'''


@dataclass(frozen=True, kw_only=True)
class Pair:
    """What verifies a seed: the same problem solved without and with it."""

    seed: str
    """Title of the practice or section, as its file has it."""
    name: str
    problem: str
    """Source of the problem."""
    without: str
    """C++ that does not follow it."""
    with_it: str
    """C++ that does; else the same."""
    arguments: str = "x"
    call: str = "out = torch.empty_like(x); LIBRARY.run(x, out, x.numel())"

    def candidate(self, code: str) -> str:
        """The module around one of the two."""
        return _MODULE.format(code=code.strip(), arguments=self.arguments, call=self.call)


def problem(forward: str, inputs: str, arguments: str = "x") -> str:
    """A problem without parameters: the body of `forward` and what `get_inputs` returns."""
    return (
        "import torch\n\n\nclass Model(torch.nn.Module):\n"
        f"    def forward(self, {arguments}):\n        {forward}\n\n\n"
        f"def get_inputs():\n    return [{inputs}]\n\n\ndef get_init_inputs():\n    return []\n"
    )


__all__ = ["Pair", "problem"]
