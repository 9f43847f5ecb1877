"""Puts around a design what every candidate has, so that the design's file holds its attack and nothing else.

README.md says how a design is written. `FRAME` is what is put around it.
"""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import indent

FRAME = '''{imports}

lib = kernelwright_rt.compile_cpp(r"""
{includes}{given}{cpp}""")


{helpers}class ModelNew(torch.nn.Module):
{methods}'''
IMPORTS = "kernelwright_rt, torch"
INCLUDES = "#include <cmath>\n#include <cstdint>\n#include <cstring>\n"
FORWARDS = {
    "elements": """def forward(self, x):
    y = torch.empty_like(x)
    lib.run(x, y, x.numel())
    return y
""",
    "rows": """def forward(self, x):
    y = torch.empty_like(x)
    lib.run(x, y, x.shape[0], x.shape[1])
    return y
""",
    "row_sums": """def forward(self, x):
    y = torch.empty(x.shape[0])
    lib.run(x, y, x.shape[0], x.shape[1])
    return y
""",
}
GIVEN_PYTHON = {path.stem: path.read_text() for path in Path(__file__).parent.glob("given/*.py")}
GIVEN = dict.fromkeys(GIVEN_PYTHON, "") | {
    path.stem: path.read_text() for path in Path(__file__).parent.glob("given/*.cpp")
}
"""The C++ of each name; empty for one of Python alone."""

DESIGN = re.compile(
    r"(?P<header>(?:#[^\n]*\n)+)\n*"
    r'cpp = r"""\n(?P<includes>(?:#include[^\n]*\n)*)(?P<cpp>.*?)"""\n*'
    r"(?P<python>.*)",
    re.DOTALL,
)
FOR_THE_FRAME = re.compile(r"^# (imports|given|forward): *(.*)\n", re.MULTILINE)
OWN_CPP = re.compile(r"^cpp = ", re.MULTILINE)
MODEL = re.compile(r"^class ModelNew\b", re.MULTILINE)
METHOD = re.compile(r"^def \w+\(self\b", re.MULTILINE)
FORWARD = re.compile(r"^def forward\(self\b", re.MULTILINE)
NO_METHOD = re.compile(r"^(?!def \w+\(self\b)\S.*", re.MULTILINE)
INIT = re.compile(r"^def __init__\([^\n]*\):\n", re.MULTILINE)


def rendered(text: str) -> str:
    """The candidate that a design's text stands for. Raises `ValueError` that says what to change in the text."""
    if not OWN_CPP.search(text) and MODEL.search(text):
        return text
    design = DESIGN.fullmatch(text)
    if design is None:
        raise ValueError('after the header, write `cpp = r"""…"""`, or a whole candidate with `class ModelNew`')
    told = dict(FOR_THE_FRAME.findall(design["header"]))
    helpers, methods = _python(design["python"], told.get("forward"))
    given = _names(told.get("given", ""))
    return FOR_THE_FRAME.sub("", design["header"]) + FRAME.format(
        imports="\n".join(f"import {name}" for name in _names(told.get("imports", IMPORTS))),
        includes=design["includes"] or INCLUDES,
        given="".join(_one_of(GIVEN, "given", name) for name in given),
        cpp=design["cpp"],
        helpers="".join(f"{GIVEN_PYTHON[name]}\n\n" for name in given if name in GIVEN_PYTHON) + helpers,
        methods=indent(INIT.sub(r"\g<0>    super().__init__()\n", methods), "    "),
    )


def _python(text: str, forward: str | None) -> tuple[str, str]:
    """What stands before the model, and its methods: from the first function on that takes `self`."""
    if MODEL.search(text):
        raise ValueError("leave out `class ModelNew`, or write a whole candidate without `cpp = …`")
    first = METHOD.search(text)
    start = first.start() if first else len(text)
    helpers, methods = text[:start], text[start:]
    stray = NO_METHOD.search(methods)
    if stray:
        raise ValueError(f"write `{stray[0]}` before the first function that takes `self`")
    if (forward is None) == (FORWARD.search(methods) is None):
        raise ValueError("write either `def forward(self, …)` or `# forward: NAME` in the header")
    if forward is not None:
        methods += "\n\n" * bool(methods) + _one_of(FORWARDS, "forward", forward)
    return helpers, methods.replace("\n\n\n", "\n\n")


def _one_of(known: dict[str, str], header: str, name: str) -> str:
    if name not in known:
        raise ValueError(f"`# {header}: {name}` is unknown, write one of {', '.join(sorted(known))}")
    return known[name]


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
