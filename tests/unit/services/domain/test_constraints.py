"""What a problem's author promises of the arguments, read from the problem's text."""

from __future__ import annotations

from typing import Any

import pytest

from services.domain.constraints import (
    ConstraintError,
    check_names,
    line_of,
    of_source,
    parse,
    sentences,
    written,
)
from services.domain.python_source import parsed

FULL = {
    "x": {"shape": {0: "multiple of 64", -1: "even", 1: "fixed"}, "range": (0.0, 1.0)},
    "y": {"range": [0, None]},
    "z": {"shape": "fixed", "range": (None, 2.5)},
    "mask": "fixed",
}


def test_each_promise_is_a_sentence() -> None:
    assert sentences(parse(FULL)) == (
        "dimension 0 of `x` is a multiple of 64 by the problem",
        "dimension -1 of `x` is even by the problem",
        "dimension 1 of `x` is fixed by the problem",
        "values of `x` lie between 0 and 1 by the problem",
        "values of `y` are 0 or more by the problem",
        "the shape of `z` is fixed by the problem",
        "values of `z` are 2.5 or less by the problem",
        "`mask` is fixed by the problem",
    )


def test_dimensions_count_from_either_end() -> None:
    x, y, z, _ = parse(FULL)
    assert [x.step(dimension, 3) for dimension in range(3)] == [64, 0, 2]
    assert [x.step(dimension, 2) for dimension in range(2)] == [64, 0]
    assert (y.step(0, 1), z.step(0, 1)) == (1, 0)
    assert parse({"x": {"shape": {0: "even", -1: "multiple of 3"}}})[0].step(0, 1) == 6


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ([], "not a dict"),
        ({1: "fixed"}, "no parameter's name: 1"),
        ({"x": "free"}, "neither"),
        ({"x": {}}, "neither"),
        ({"x": {"size": 3}}, "neither"),
        ({"x": {"shape": {}}}, "dict of dimensions"),
        ({"x": {"shape": {"0": "even"}}}, "no dimension: '0'"),
        ({"x": {"shape": {True: "even"}}}, "no dimension: True"),
        ({"x": {"shape": {0: "odd"}}}, "dimension 0 of `x`"),
        ({"x": {"shape": {0: "multiple of 0"}}}, "dimension 0 of `x`"),
        ({"x": {"shape": {0: "multiple of 9999999"}}}, "dimension 0 of `x`"),
        ({"x": {"shape": {0: 64}}}, "dimension 0 of `x`"),
        ({"x": {"range": (0.0,)}}, "not two numbers"),
        ({"x": {"range": (0.0, True)}}, "not two numbers"),
        ({"x": {"range": (0.0, float("inf"))}}, "not two numbers"),
        ({"x": {"range": (None, None)}}, "has no end"),
        ({"x": {"range": (1, 0)}}, "ends before it begins"),
        ({f"x{number}": "fixed" for number in range(65)}, "64 are allowed"),
    ],
)
def test_what_states_nothing_is_refused(value: Any, told: str) -> None:
    with pytest.raises(ConstraintError, match=told):
        parse(value)


def test_the_line_is_read_from_the_text() -> None:
    found, line = of_source('import torch\n\nCONSTRAINTS = {"x": "fixed"}\n')
    assert ([one.name for one in found], line) == (["x"], 3)
    assert of_source('CONSTRAINTS: dict = {"x": "fixed"}\n')[0] == found
    assert of_source(written(found))[0] == found
    assert of_source(written(parse(FULL)))[0] == parse(FULL)
    assert of_source("import torch\n") == ((), None)
    assert of_source("CONSTRAINTS = {\n") == ((), None)
    assert line_of(parsed("x = 1\nprint(CONSTRAINTS)\n")) == 2


@pytest.mark.parametrize(
    "source",
    [
        'CONSTRAINTS = {"x": "fixed"}\nCONSTRAINTS["y"] = "fixed"\n',
        'CONSTRAINTS = dict(x="fixed")\n',
        'if True:\n    CONSTRAINTS = {"x": "fixed"}\n',
        'def f():\n    global CONSTRAINTS\n    CONSTRAINTS = {"x": "fixed"}\n',
        "print(CONSTRAINTS)\n",
    ],
)
def test_what_is_not_written_out_is_refused(source: str) -> None:
    with pytest.raises(ConstraintError):
        of_source(source)


def test_only_parameters_are_named() -> None:
    found = parse({"x": "fixed", "maks": "fixed"})
    check_names(found, ("x", "maks"))
    with pytest.raises(ConstraintError, match=r"`maks`, which is no parameter of Model.forward \(`x`, `mask`\)"):
        check_names(found, ("x", "mask"))
