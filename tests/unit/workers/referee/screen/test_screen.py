import pytest

from workers.referee.screen.rules import Remark
from workers.referee.screen.screen import screen

KERNEL = """
import torch
import kernelwright_rt
lib = kernelwright_rt.compile_cpp('extern "C" void run(const float* x, float* y, int64_t n) { y[0] = x[0]; }')
"""
MODEL = """
class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        lib.run(x, y, x.numel())
        return y
"""
NOTHING: frozenset[str] = frozenset()


LAYER = f"""{KERNEL}
class ModelNew(torch.nn.Module):
    def __init__(self):
        self.fc = torch.nn.Linear(3, 3)

    def forward(self, x):
        BODY
        return x
"""
FORK = """import torch
import kernelwright_rt
lib = kernelwright_rt.compile_cpp('''
#include <unistd.h>
void f() { fork(); }
''')
"""


def forward(body: str) -> str:
    return LAYER.replace("BODY", body).replace("return x", "return lib.run(x)")


def texts(remarks: list[Remark]) -> str:
    return "\n".join(str(remark) for remark in remarks)


def test_a_plain_kernel_breaks_no_rule() -> None:
    assert screen(KERNEL + MODEL, NOTHING) == []


WRAPPED = {
    "a second class of the name": """class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x, 0)

class ModelNew(ModelNew):
    def forward(self, x):
        return super().forward(lib.run(x))
""",
    "the same, the forbidden one last": """class ModelNew(torch.nn.Module):
    def forward(self, x):
        return lib.run(x)

if True:
    class ModelNew(torch.nn.Module):
        def forward(self, x):
            return torch.softmax(x, 0)
""",
    "a base class": """class Hidden(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x, 0)

class ModelNew(Hidden):
    def forward(self, x):
        return super().forward(lib.run(x))
""",
    "a helper behind another of its name": """class One:
    def act(self, x):
        return torch.softmax(x, 0)

class Two:
    def act(self, x):
        return x

class ModelNew(torch.nn.Module):
    def forward(self, x):
        return One().act(lib.run(x))
""",
    "a layer of a base class": """class Hidden(torch.nn.Module):
    def __init__(self):
        self.act = torch.nn.Softmax(0)

class ModelNew(Hidden):
    def forward(self, x):
        return self.act(lib.run(x))
""",
}


@pytest.mark.parametrize("source", WRAPPED.values(), ids=WRAPPED)
def test_nothing_of_the_same_name_hides_what_is_called(source: str) -> None:
    assert "does the work by a library call" in texts(screen(KERNEL + source, NOTHING))


def test_every_definition_of_the_model_needs_a_forward() -> None:
    assert "no forward" in texts(screen(f"{KERNEL}class ModelNew(torch.nn.Module):\n    pass\n{MODEL}", NOTHING))


def test_a_banned_word_in_a_comment_or_docstring_is_no_offence() -> None:
    source = f'"""Never calls gc.collect() or eval."""\n{KERNEL}# torch.softmax, os._exit(0)\n{MODEL}'
    assert screen(source, NOTHING) == []


def test_a_banned_call_in_a_cpp_comment_or_string_is_no_offence() -> None:
    source = KERNEL.replace("y[0] = x[0];", "/* fork() */ // system(1)\\n") + MODEL
    assert screen(source, NOTHING) == []


def test_a_missing_model_is_named_with_a_line() -> None:
    assert texts(screen("import torch\n", NOTHING)) == "line 1: the module defines no class ModelNew"


def test_a_syntax_error_is_named_with_its_line() -> None:
    remarks = screen("import torch\ndef f(:\n", NOTHING)
    assert remarks[0].line == 2
    assert remarks[0].hard


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("import gc", "gc"),
        ("import ctypes", "ctypes"),
        ("from subprocess import run", "subprocess"),
        ("import socket as s", "socket"),
        ("import workers.runner.session", "workers"),
        ("from os import _exit", "os._exit"),
        ("import sys\nx = sys.modules['workers']", "sys.modules"),
        ("import time\ntime.perf_counter = lambda: 0.0", "time.perf_counter"),
        ("torch.Tensor.sum = None", "torch.Tensor.sum"),
        ("exec('x = 1')", "exec"),
        ("f = eval('1')", "eval"),
        ("x = (lambda: 0).__globals__", "__globals__"),
        ("x = getattr(torch, 'soft' + 'max')", "getattr"),
        ("x = getattr(torch, 'compile')", "torch.compile"),
        ("from torch.utils._python_dispatch import TorchDispatchMode", "_python_dispatch"),
    ],
)
def test_a_trick_at_module_level_is_evidence(statement: str, reason: str) -> None:
    remarks = screen(KERNEL + statement + MODEL, NOTHING)
    assert remarks
    assert remarks[0].hard
    assert reason in texts(remarks)


@pytest.mark.parametrize(
    "body",
    [
        "x = torch.softmax(x, -1)",
        "x = x.softmax(-1)",
        "x = torch.nn.functional.gelu(x)",
        "x = x @ x",
        "x = torch.matmul(x, x)",
        "x = (x + 1).cumsum(0)",
        "x = torch.linalg.vector_norm(x)",
    ],
)
def test_a_library_operator_on_the_hot_path_is_evidence(body: str) -> None:
    remarks = screen(forward(body), NOTHING)
    assert [remark.hard for remark in remarks] == [True]
    assert "library" in remarks[0].text


def test_a_library_operator_reached_through_a_function_is_found() -> None:
    source = f"{KERNEL}\ndef work(x):\n    return torch.softmax(x, 0)\n" + MODEL.replace("return y", "return work(y)")
    assert "torch.softmax" in texts(screen(source, NOTHING))


def test_a_layer_called_on_the_hot_path_is_found() -> None:
    assert "torch.nn.Linear" in texts(screen(LAYER.replace("BODY", "x = self.fc(x)"), NOTHING))


def test_a_layer_that_only_holds_parameters_is_allowed() -> None:
    assert screen(LAYER.replace("BODY", "lib.run(x, self.fc.weight, self.fc.bias)"), NOTHING) == []


def test_a_kernel_named_like_an_operator_is_allowed() -> None:
    source = KERNEL.replace("run(", "softmax(") + MODEL.replace("lib.run", "lib.softmax")
    assert screen(source, NOTHING) == []


def test_allowed_library_operators_are_allowed() -> None:
    source = forward("x = torch.matmul(x, x) @ x")
    assert screen(source, frozenset({"matmul"})) == []


def test_a_try_on_the_hot_path_is_evidence_and_elsewhere_is_not() -> None:
    tried = "try:\n            lib.run(x)\n        except Exception:\n            pass"
    assert "try" in texts(screen(forward(tried), NOTHING))
    assert screen(f"try:\n    import math\nexcept ImportError:\n    math = None\n{KERNEL}{MODEL}", NOTHING) == []


def test_a_module_without_a_kernel_is_evidence() -> None:
    source = "import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return x + 1\n"
    assert "no kernel of its own" in texts(screen(source, NOTHING))


def test_a_process_started_from_cpp_is_evidence_with_its_line() -> None:
    remarks = screen(FORK + MODEL, NOTHING)
    assert (remarks[0].line, remarks[0].hard) == (5, True)


def test_a_source_that_is_nested_too_deeply_is_refused_not_crashed_on() -> None:
    assert screen("x = " + "(" * 5000 + ")" * 5000, NOTHING)[0].hard


@pytest.mark.parametrize(
    ("extra", "call"),
    [
        ("name = 'run'", "getattr(lib, name)(x, y, x.numel())"),
        ("", "getattr(lib, f'run_{x.shape[0]}')(x, y)"),
        ("", "getattr(x, 'num' + 'el')()"),
        ("def launch(handle, name, *args):\n    getattr(handle, name)(*args)", "launch(lib, 'run', x, y)"),
        ("import functools\n@functools.lru_cache\ndef built():\n    return lib", "built().softmax(x, y)"),
        ("KERNELS = {'a': lib.run, 'b': lib.tanh}", "KERNELS['a'](x, y)"),
        ("HANDLES = [lib]", "[h.softmax(x, y) for h in HANDLES]"),
        ("HANDLES = [lib]", "HANDLES[0].norm(x, y)"),
        ("", "sizes = [3, 1]; sizes.sort(); lib.run(x, y, sizes[0])"),
        ("", "lib.run(torch.nn.functional.pad(x, (0, 1)), y, 1)"),
        ("from types import SimpleNamespace\nconfig = SimpleNamespace(block=4)", "lib.run(x, y, config.block)"),
        ("import dataclasses\n@dataclasses.dataclass\nclass Plan:\n    rows: int", "lib.run(x, y, Plan(1).rows)"),
        ("SOURCE = f'for (int i = 0; i < {3}; ++i) y[i] = 1;'", "assert x.is_contiguous(); lib.run(x, y, 1)"),
    ],
)
def test_idioms_of_honest_code_break_no_rule(extra: str, call: str) -> None:
    source = KERNEL + extra + MODEL.replace("lib.run(x, y, x.numel())", call)
    assert texts(screen(source, NOTHING)) == ""


@pytest.mark.parametrize(
    "body",
    [
        "try:\n            lib.run(x)\n        finally:\n            x = None",
        "try:\n            lib.run(x)\n        except TypeError as error:\n            raise ValueError() from error",
    ],
)
def test_a_try_that_hides_nothing_is_allowed(body: str) -> None:
    assert screen(forward(body), NOTHING) == []


def test_a_model_may_set_its_own_attributes_by_name() -> None:
    source = LAYER.replace("self.fc = torch.nn.Linear(3, 3)", "setattr(self, 'a' + 'b', 1)").replace(
        "BODY", "lib.run(x)"
    )
    assert screen(source, NOTHING) == []
    assert screen(source.replace("setattr(self", "setattr(torch"), NOTHING)[0].hard


@pytest.mark.parametrize(
    "statement",
    [
        "import time",
        "def f(x):\n    return getattr(x, ''.join(['soft', 'max']))",
        "kernel = kernelwright_rt.compile_cpp('auto t = std::chrono::steady_clock::now(); f(t);')",
    ],
)
def test_what_honest_code_hardly_needs_is_a_hint(statement: str) -> None:
    remarks = screen(KERNEL + statement + MODEL, NOTHING)
    assert [remark.hard for remark in remarks] == [False]


PLAN = """
import dataclasses
from dataclasses import dataclass, fields

@dataclass(frozen=True)
class Plan:
    rows: int = 4
    unroll: int = 2

    def lanes(self):
        return self.rows * self.unroll

plan = Plan()
"""


@pytest.mark.parametrize(
    "statement",
    [
        "key = '_'.join(['ro', 'ws'])\nx = getattr(plan, key)",
        "def f(settings):\n    return {one.name: getattr(settings, one.name) for one in fields(settings)}",
        "def f(settings):\n    return [getattr(settings, n) for n in ('rows', 'unroll')]",
        "NAMES = ('rows', 'unroll')\ndef f(settings):\n    return [getattr(settings, n) for n in NAMES]",
        "for tried in (Plan(1), Plan(2, 3)):\n    text = ''.join(getattr(tried, n.lower()) for n in ['ROWS'])",
        "for one in dataclasses.fields(Plan):\n    print(getattr(Plan(), one.name))",
    ],
)
def test_names_that_are_written_out_and_objects_of_own_dataclasses_hide_nothing(statement: str) -> None:
    assert texts(screen(KERNEL + PLAN + statement + MODEL, NOTHING)) == ""


@pytest.mark.parametrize(
    "statement",
    [
        "def f(plan):\n    return getattr(plan, ''.join(['soft', 'max']))",
        "def f(x, key):\n    plan = x\n    return getattr(plan, key)",
        "def f(x, key):\n    for plan in x:\n        getattr(plan, key)",
        "def f(x, key):\n    with x as plan:\n        getattr(plan, key)",
        "def f(x, key):\n    match x:\n        case plan:\n            getattr(plan, key)",
        "def f(x, key):\n    (plan, other) = x, 1\n    getattr(plan, key)",
        "def f(Plan, key):\n    getattr(plan, key)",
        "from torch import *\ndef f(key):\n    getattr(plan, key)",
        "def f(key):\n    getattr(getattr(plan, key), key)",
        "def f(x, keys):\n    NAMES = ('rows',)\n    NAMES += keys\n    for key in NAMES: getattr(x, key)",
        "NAMES = ['rows']\ndef f(x):\n    for key in NAMES: getattr(x, key)",
        "def f(x):\n    key = ''.join(['soft', 'max'])\n    for key in ('rows',): getattr(x, key)",
        "def f(x):\n  for one in fields(plan):\n    one.name = ''.join(['soft', 'max'])\n    getattr(x, one.name)",
        "def f(x, one):\n    for one in fields(plan): pass\n    getattr(x, one.name)",
        "def f(x, fields):\n    for one in fields(plan): getattr(x, one.name)",
        "@dataclass\nclass A:\n  __annotations__ = {N: int}\ndef f(x):\n  for o in fields(A): getattr(x, o.name)",
        "class Made:\n    def set(self, n, v):\n        setattr(self, n, v)\ndef f(key):\n    getattr(plan, key)",
        "@dataclass\nclass B(torch.nn.Module):\n    rows: int\nb = B(1)\ndef f(key):\n    getattr(b, key)",
        "@dataclass\nclass C:\n  def __new__(cls, x): return x\nc = C(1)\ndef f(key): getattr(c, key)",
        "@dataclass\nclass D:\n  def __getattr__(self, n): return 1\nd = D(1)\ndef f(key): getattr(d, key)",
        "def f(x):\n    for key in key: getattr(x, key)",
        "def other(c): return torch.nn\n@other\nclass E:\n    rows: int\ne = E(1)\ndef f(key):\n    getattr(e, key)",
    ],
)
def test_a_computed_name_on_anything_else_is_a_hint(statement: str) -> None:
    assert "`getattr` with a computed name" in texts(screen(KERNEL + PLAN + statement + MODEL, NOTHING))


@pytest.mark.parametrize(("name", "reason"), [("__globals__", "cannot see"), ("as_subclass", "other than a tensor")])
def test_a_name_that_is_written_out_is_judged_as_an_attribute(name: str, reason: str) -> None:
    statement = f"def f(x):\n    for name in ('shape', '{name}'): getattr(x, name)"
    assert reason in texts(screen(KERNEL + statement + MODEL, NOTHING))


@pytest.mark.parametrize(
    "statement",
    [
        "import os\nmode = os.getenv('MODE')",
        "import pathlib\ntext = pathlib.Path('/proc/self/maps').read_text()",
        'kernel = kernelwright_rt.compile_cpp(\'void f() { auto* p = fopen("/proc/self/maps", "r"); }\')',
        "kernel = kernelwright_rt.compile_cpp('void f() { std::ifstream in(\"/tmp/x\"); }')",
        "import builtins",
        "f = torch.__dict__['softmax']",
    ],
)
def test_looking_for_files_and_settings_is_evidence(statement: str) -> None:
    assert screen(KERNEL + statement + MODEL, NOTHING)[0].hard


AUTOGRAD = f"""{KERNEL}
from torch.autograd.function import once_differentiable

class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.set_materialize_grads(False)
        y, mask = torch.empty_like(x), torch.empty_like(x)
        lib.run(x, y, x.numel())
        ctx.mark_non_differentiable(mask)
        ctx.save_for_backward(x, weight)
        return y, mask

    @staticmethod
    @once_differentiable
    def backward(ctx, grad, _):
        x, weight = ctx.saved_tensors
        if not ctx.needs_input_grad[0]:
            return None, None
        dx = torch.empty_like(x)
        lib.run(grad.contiguous(), dx, x.numel())
        BODY
        return dx, None


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return Scale.apply(x, self.weight)[0]
"""


def test_an_autograd_function_breaks_no_rule_where_gradients_are_judged() -> None:
    assert screen(AUTOGRAD.replace("BODY", "pass"), NOTHING, backward=True) == []


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("dx = torch.autograd.grad(x, weight, grad)[0]", "has PyTorch derive the gradient"),
        ("with torch.enable_grad(): dx = x * weight", "has PyTorch derive the gradient"),
        ("dx = torch.func.vjp(torch.sin, x)[1](grad)[0]", "has PyTorch derive the gradient"),
        ("dx.register_hook(print)", "runs code outside forward and backward"),
        ("dx = grad @ weight", "the library's matrix product"),
        ("dx = torch.nn.functional.softmax(grad, -1)", "does the work by a library call"),
        ("from torch.utils.checkpoint import checkpoint", "has PyTorch derive the gradient"),
    ],
)
def test_a_backward_is_on_the_hot_path_where_gradients_are_judged(body: str, said: str) -> None:
    source = AUTOGRAD.replace("BODY", body)
    assert said in texts(screen(source, NOTHING, backward=True))
    assert screen(source, NOTHING) == [], "where only the forward is judged, nobody runs the backward"


@pytest.mark.parametrize("asked", ["__file__", "kernelwright_rt.__file__", "x.filename"])
def test_where_a_module_lies_is_a_hint(asked: str) -> None:
    (remark,) = screen(KERNEL + MODEL.replace("return y", f"return y if {asked} else x"), NOTHING)
    assert not remark.hard
    assert "reveals where a module lies" in remark.text
