"""Names in a module lead to what is really installed, whatever they are called on the way."""

import pytest

from workers.backends.reached import reached
from workers.referee.built_rules import examine_reached


def said(source: str) -> list[str]:
    return [remark.text for remark in examine_reached(reached(source))]


@pytest.mark.parametrize(
    "source",
    [
        "import torch\ntorch.os.system('true')",
        "import torch as t\nt.nn.functional.torch.os",
        "import kernelwright_rt\nkernelwright_rt._subprocess.run",
        "from kernelwright_rt import locate",
        "import warnings\nwarnings.sys.modules",
        "import torch\nhelper, other = torch.os, 1",
        "import torch\ndef f(helper=torch.os): pass",
        "import torch\ngetattr(torch, 'os').kill",
        "import torch\nfirst = torch\nsecond = first\nsecond.os.kill",
        "import socketserver",
        "import os\nos.nice(3)",
        "import torch\ntorch.testing.assert_close",
    ],
)
def test_a_name_that_leads_somewhere_else_is_refused(source: str) -> None:
    assert said(source)


@pytest.mark.parametrize(
    "source",
    [
        "import torch\nimport torch.nn.functional as F\nF.pad\ntorch.empty_like\ntorch.nn.Module",
        "import os\nos.path.join('a')\nos.cpu_count()",
        "import math, functools, collections.abc\nmath.exp\nfunctools.lru_cache",
        "from torch.utils.cpp_extension import load_inline",
        "import numpy as np\nnp.float32",
        "import nothing_of_this_name\nnothing_of_this_name.f()",
        "import kernelwright_rt\nkernelwright_rt.compile_cpp\nkernelwright_rt.CompileError",
        "class A:\n    os = 1\nA.os",
        "this is no Python",
    ],
)
def test_what_a_kernel_needs_is_permitted(source: str) -> None:
    assert said(source) == []


def test_the_message_says_what_was_written_and_what_it_is() -> None:
    (first, *_) = said("import torch\ntorch.os.system('true')")
    assert first == "`torch.os.system` is `os.system`: it starts processes"
