"""What reading a problem finds wrong, and what of it agents see."""

from __future__ import annotations

import pytest

from services.domain.errors import ProblemError
from services.domain.problems import Problem
from services.problems.lint import lint_problem, public_source

GOOD = """\
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, size: int):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(size))

    def forward(self, x):
        return x * self.scale


def get_inputs():
    return [torch.randn(4, 8)]


def get_init_inputs():
    return [8]
"""


def problem(source: str) -> Problem:
    return Problem(name="it", source=source, path="dir/it.py")


def fault(source: str) -> ProblemError:
    with pytest.raises(ProblemError) as caught:
        lint_problem(problem(source))
    assert caught.value.path == "dir/it.py"
    assert caught.value.remedy
    assert "\n" not in str(caught.value)
    return caught.value


def test_a_problem_in_kernelbench_form_passes() -> None:
    lint_problem(problem(GOOD))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("nn.Module", "torch.nn.Module"),
        ("import torch.nn as nn", "from torch import nn"),
        ("class Model(nn.Module)", "class Base(nn.Module): pass\nclass Model(Base)"),
        ("def forward(self, x)", "def forward(self, *inputs, **options)"),
        ("def forward(self, x)", "def forward(self, x, mask=None)"),
        ("def get_inputs()", "def get_inputs(size=4)"),
        ("return [8]", "values = [8]\n    return values"),
        ("def get_inputs", "TOLERANCE = {torch.float32: (1e-4, 1e-5), 'float16': [1e-2, 1e-2]}\ndef get_inputs"),
        ("def get_inputs", "LIBRARY = ['matmul']\nBACKWARD = False\nINPUT_SETS = []\ndef get_inputs"),
        ("def get_inputs", "BACKWARD = True\ndef get_inputs"),
        ("def get_inputs", "BACKWARD: bool = True\ndef get_inputs"),
        ("import torch\n", '"""A raw \\d string."""\nimport torch\n'),
    ],
)
def test_other_ways_of_writing_it_pass_too(old: str, new: str) -> None:
    assert old in GOOD
    lint_problem(problem(GOOD.replace(old, new, 1)))


@pytest.mark.parametrize(
    ("old", "new", "reason", "line"),
    [
        ("def forward(self, x):", "def forward(self, x:", "syntax error", 10),
        ("class Model", "class Net", "no class Model", None),
        ("def forward", "def run", "no forward", 5),
        ("(nn.Module)", "", "not an nn.Module", 5),
        ("(nn.Module)", "(dict)", "not an nn.Module", 5),
        ("import torch.nn as nn\n", "\n", "`nn` is used but never imported", 5),
        ("def get_inputs", "def inputs", "no function get_inputs()", None),
        ("def get_init_inputs", "def init_inputs", "no function get_init_inputs()", None),
        ("def get_inputs()", "def get_inputs(size)", "get_inputs takes arguments", 14),
        ("def get_init_inputs()", "async def get_init_inputs()", "async", 18),
        ("def forward(self, x)", "def forward(self, x, y)", "takes 2 inputs but get_inputs returns 1", 10),
        ("def forward(self, x)", "def forward(self)", "takes 0 inputs but get_inputs returns 1", 10),
        ("return [8]", "return []", "takes 1 inputs but get_init_inputs returns 0", 6),
        ("class Model(nn.Module):", "def Model():", "Model is a function", None),
        ("def get_inputs", "TOLERANCE = 1e-3\ndef get_inputs", "TOLERANCE is not a dict", 14),
        ("def get_inputs", "TOLERANCE = {torch.float32: 1e-3}\ndef get_inputs", "not (atol, rtol)", 14),
        ("def get_inputs", "TOLERANCE = {32: (1e-3, 0)}\ndef get_inputs", "not a dtype", 14),
        ("def get_inputs", "INPUT_SETS = 3\ndef get_inputs", "INPUT_SETS is not a list", 14),
        ("def get_inputs", "INPUT_SETS = [(4, 8)]\ndef get_inputs", "not a function", 14),
        ("def get_inputs", "INPUT_SETS = [nowhere]\ndef get_inputs", "`nowhere`, which is not defined", 14),
        ("def get_inputs", "LIBRARY = 'matmul'\ndef get_inputs", "LIBRARY is not a list", 14),
        ("def get_inputs", "LIBRARY = [1]\ndef get_inputs", "entry of LIBRARY", 14),
        ("def get_inputs", "BACKWARD = 'yes'\ndef get_inputs", "BACKWARD is not", 14),
        ("def get_inputs", "BACKWARD = 1\ndef get_inputs", "BACKWARD is not", 14),
        ("def get_inputs", "BACKWARD = torch.is_grad_enabled()\ndef get_inputs", "BACKWARD is not", 14),
        ("def get_inputs", "if True:\n    HELD_OUT = []\ndef get_inputs", "not a plain top-level", 15),
        ("def get_inputs", "HELD_OUT = []\nHELD_OUT += [1]\ndef get_inputs", "more than once", 15),
        ("return [8]", "return [8]\nreturn 3", "'return' outside function", 20),
    ],
)
def test_a_fault_is_named_with_its_line_and_remedy(old: str, new: str, reason: str, line: int | None) -> None:
    assert old in GOOD
    source = GOOD.replace(old, new, 1)
    if "def Model" in new:
        source = "def Model():\n    return 1\n\n\n" + GOOD.replace("class Model", "class Net")
        line = 1
    found = fault(source)
    assert reason in found.reason
    assert found.line == line


def test_null_bytes_are_named_with_their_line() -> None:
    found = fault(GOOD.replace("[8]", "[8\0]"))
    assert "null bytes" in found.reason
    assert found.line == 19


def test_text_that_is_not_unicode_is_refused() -> None:
    assert "Unicode" in fault(GOOD + "# \ud800").reason


def test_a_file_over_a_mebibyte_is_refused() -> None:
    assert "bytes" in fault(GOOD + "#\n" * (1 << 19)).reason


def test_a_line_of_a_million_characters_is_refused_with_its_number() -> None:
    found = fault(GOOD + "x = '" + "a" * 1_000_000 + "'\n")
    assert "characters" in found.reason
    assert found.line == 20


@pytest.mark.parametrize(
    "deep",
    [
        "x = " + "(" * 5000 + ")" * 5000,
        "x = " + "-" * 50_000 + "1",
        "x = " + "+".join(["1"] * 40_000),
        "if x: pass\n" + "elif x: pass\n" * 3000,
        "class Deep(" + ".".join(["a"] * 3000) + "): pass\nModel = Deep",
    ],
    ids=["parentheses", "signs", "sum", "elif", "dots"],
)
def test_code_nested_too_deep_for_the_parser_is_an_ordinary_refusal(deep: str) -> None:
    try:
        lint_problem(problem(GOOD + deep))
    except ProblemError as error:
        assert error.remedy  # noqa: PT017


HELD_OUT = """\

# The sizes nobody should tune for.
SECRET = (7, 1023)
SHARED = 3


def make_odd():  # held back
    return [torch.randn(*SECRET, SHARED)]


def _scaled(size):
    return [torch.randn(size)]


@torch.no_grad()
def make_scaled():
    return _scaled(17)


HELD_OUT = [
    make_odd,  # the odd one
    make_scaled,
]


def uses_shared():
    return SHARED


INPUT_SETS = [uses_shared]
"""


def test_the_public_text_has_neither_held_out_nor_what_only_it_uses() -> None:
    lint_problem(problem(GOOD + HELD_OUT))
    public = public_source(problem(GOOD + HELD_OUT))
    for secret in ("HELD_OUT", "SECRET", "1023", "make_odd", "_scaled", "17", "no_grad", "nobody", "held back"):
        assert secret not in public
    assert "SHARED = 3" in public
    assert "INPUT_SETS = [uses_shared]" in public
    lint_problem(problem(public))


def test_the_public_text_keeps_line_numbers() -> None:
    whole = (GOOD + HELD_OUT).split("\n")
    public = public_source(problem(GOOD + HELD_OUT)).split("\n")
    assert len(public) == len(whole)
    assert public.index("INPUT_SETS = [uses_shared]") == whole.index("INPUT_SETS = [uses_shared]")


def test_a_helper_that_the_model_uses_too_stays() -> None:
    source = GOOD.replace("return [torch.randn(4, 8)]", "return make(4)") + (
        "def make(size):\n    return [torch.randn(size, 8)]\n\n\nHELD_OUT = [lambda: make(5)]\n"
    )
    public = public_source(problem(source))
    assert "def make(size)" in public
    assert "HELD_OUT" not in public


def test_a_problem_without_held_out_is_its_own_public_text() -> None:
    assert public_source(problem(GOOD)) == GOOD


def test_held_out_beside_other_code_on_one_line_cannot_be_cut() -> None:
    with pytest.raises(ProblemError, match="shares a line"):
        public_source(problem(GOOD + "HELD_OUT = []; y = 1\n"))


def test_other_code_cannot_read_held_out() -> None:
    assert "more than once" in fault(GOOD + "HELD_OUT = []\nINPUT_SETS = HELD_OUT\n").reason


@pytest.mark.parametrize(
    ("addition", "reason", "line"),
    [
        ('OBJECTIVE = "fastest"', "'fastest' is no objective", True),
        ("OBJECTIVE = 3", "OBJECTIVE is not a text", True),
        ('OBJECTIVE = "set:odd"', "the objective names the input set 'odd', and there are get_inputs", True),
        ("SHAPES = [[4], [-1]]", "entry 1 of SHAPES has '-1', which is no size", True),
        ('SHAPES = "shapes.json"', "which only the command line reads", True),
        ("SHAPES = list(range(4))", "SHAPES is not a list written out", True),
    ],
)
def test_what_is_no_objective_or_no_list_of_shapes_is_refused_with_its_line(
    addition: str, reason: str, line: bool
) -> None:
    source = f"{GOOD}\n{addition}\n"
    with pytest.raises(ProblemError) as caught:
        lint_problem(Problem(name="p", source=source))
    assert reason in str(caught.value)
    assert (caught.value.line is not None) is line


def test_a_jobs_own_objective_is_checked_too() -> None:
    lint_problem(Problem(name="p", source=GOOD, objective="geometric_mean:get_inputs=2"))
    with pytest.raises(ProblemError, match="'best' is no objective"):
        lint_problem(Problem(name="p", source=GOOD, objective="best"))


def test_sizes_that_are_held_out_are_cut_from_the_text_that_agents_see() -> None:
    source = f'{GOOD}\nSHAPES = [[4]]\nHELD_OUT = [{{"rows": 777}}, [5]]\n'
    lint_problem(Problem(name="p", source=source))
    assert "777" not in public_source(Problem(name="p", source=source))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('CONSTRAINTS = {"y": "fixed"}', "`y`, which is no parameter of Model.forward (`x`)"),
        ('CONSTRAINTS = {"x": {"shape": {0: "odd"}}}', "dimension 0 of `x` is not"),
        ("CONSTRAINTS = make()", "not written out"),
        ('if True:\n    CONSTRAINTS = {"x": "fixed"}', "not one assignment"),
    ],
)
def test_constraints_that_cannot_be_read_are_refused_with_their_line(line: str, reason: str) -> None:
    found = fault(f"{GOOD}\n{line}\n")
    assert reason in str(found)
    assert found.line == GOOD.count("\n") + 1 + line.count("\n") + 1


def test_constraints_of_parameters_pass() -> None:
    line = 'CONSTRAINTS = {"x": {"shape": {0: "multiple of 4"}, "range": (None, 9)}}'
    lint_problem(problem(f"{GOOD}\n{line}\n"))
    lint_problem(
        problem(f"{GOOD}\n{line}\n".replace("(self, x)", "(self, x, mask=None)").replace('"x": {', '"mask": {'))
    )
