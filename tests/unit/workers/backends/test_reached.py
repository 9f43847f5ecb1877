"""Names in a module lead to what is really installed, whatever they are called on the way."""

import pytest

from workers.backends.reached import reached
from workers.referee.screen.binary_rules import examine_reached


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
        "import torch\n(t,) = (torch,)\nfor name in ('os',): getattr(t, name).kill",
        "import torch\ndef f(t=torch, name='os'): getattr(t, name).kill",
        "import torch\nfirst = torch\nsecond = first\nsecond.os.kill",
        "import socketserver",
        "import os\nos.nice(3)",
        "import torch\ntorch.testing.assert_close",
        "import operator\noperator.attrgetter('a')",
        "from operator import *\nattrgetter('a')",
        "import functools, torch\nfunctools.reduce(f, ('a',), torch)",
        "import sys\nsys.stdout.buffer.raw",
        "import sys\nf(sys.stdout)",
        "import sys\ndef print(file): file.buffer\nprint(file=sys.stdout)",
        "import torch\nmatch torch:\n  case object(os=system): pass",
        "import torch\nclass A:\n  t = torch",
        "class A:\n  import torch as t",
        "import torch\nclass A:\n  if True:\n    t = torch",
        "import torch\nA.t = b = torch",
        "import torch\nf(t := torch)",
        "import torch\ndef f(): return torch.nn",
        "import torch\nfor one in (torch,): pass",
        "import torch\nf(getattr(torch, 'nn'))",
        "import torch\nf(*[torch])",
        "import torch\nm = torch if f else 3",
        "import torch\nm = f and torch",
        "import candidate\ncandidate.torch",
        "__package__ = 'torch'\nfrom . import os",
        "import numpy\nnumpy.ctypeslib.load_library('libc.so.6', '/lib')",
        "import numpy\nnumpy.testing.runstring('1', {})",
        "import torch\ntorch.utils.collect_env.run('ls')",
        "import torch\ntorch.utils.benchmark.Timer('1')",
        "import typing\ntyping.get_type_hints(f)",
        "import functools\nfunctools.singledispatch(f)",
        "import string\nstring.Formatter()",
        "import timeit\ntimeit.timeit('1')",
        "import enum\nenum.global_enum(A)",
        "import dataclasses\ndataclasses.make_dataclass('A', ['b'])",
        "import logging\nlogging.FileHandler('a')",
        "import os\nos.path.exists('/etc/os-release')",
        "import os\nos.path.expandvars('$HOME')",
        "from os.path import expanduser\nexpanduser('~')",
        "import platform\nplatform.uname()",
        "import sys\nsys.stdout.isatty()",
        "import torch\n" + "\n".join(f"torch.a{number}" for number in range(2100)) + "\ntorch.os",
        "import torch\n" + "\n".join(f"t = torch.a{number}" for number in range(9)) + "\nt = torch.os\nt.kill",
    ],
)
def test_a_name_that_leads_somewhere_else_is_refused(source: str) -> None:
    assert said(source)


@pytest.mark.parametrize(
    "source",
    [
        "import torch\nimport torch.nn.functional as F\nF.pad\ntorch.empty_like\ntorch.nn.Module",
        "import os\nos.path.join('a')\nos.path.splitext('a.b')\nos.cpu_count()",
        "import math, functools, collections.abc\nmath.exp\nfunctools.lru_cache",
        "from torch.utils.cpp_extension import load_inline",
        "import numpy as np\nnp.float32",
        "import nothing_of_this_name\nnothing_of_this_name.f()",
        "import torch\nif hasattr(torch, 'xpu'): pass\ngetattr(torch, 'float8_e4m3fn', None)",
        "try:\n  import triton\nexcept ImportError:\n  triton = None\nuse = triton is not None\nif not triton: pass",
        "import torch\nimport torch.nn.functional as F\nnn = torch.nn\ndef f(x, F=F, *, nn=nn): return F.pad(x)",
        "import operator, functools, typing\nfunctools.reduce(operator.mul, (1, 2))\ntyping.Optional[int]",
        "import sys\nprint('a', file=sys.stderr)\nsys.stderr.write('a')\nsys.version_info.major\nsys.version.split()",
        "from dataclasses import dataclass, field\nfrom enum import Enum\nimport json\njson.dumps({})",
        "import numpy as np\nnp.asarray\nnp.linalg.norm\nnp.ndarray",
        "import torch\nfrom torch.autograd import Function\ntorch.nn.init.ones_",
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
