"""What a Coder may answer, and what becomes of it."""

from __future__ import annotations

import json

import pytest

from agents.roles.coder import read_draft
from agents.roles.edits import apply_edits, edit_blocks
from agents.roles.replies import Edit
from services.domain.errors import ReplyError
from tests.unit.agents.some_facts import an_attempt, some_facts

MODULE = "class ModelNew:\n    STEP = 7\n"
START = an_attempt(0)


def block(search: str, replace: str) -> str:
    return f"<<<<<<< SEARCH\n{search}\n=======\n{replace}\n>>>>>>> REPLACE"


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"summary": "x", "source": MODULE}),
        json.dumps({"summary": "x", "source": f"```python\n{MODULE}```"}),
        f"```json\n{json.dumps({'summary': 'x', 'source': MODULE})}\n```",
        f"I widened the loop.\n\n```python\n{MODULE}```\nIt should be faster.",
        f"First this helper:\n```python\nx = 1\n```\nand the whole:\n~~~py\n{MODULE}~~~\n",
        f"```python\nclass ModelNew:\n    STEP = 1\n```\nNo, better:\n```python\n{MODULE}```",
        f'Use `TUNABLES = {{"BLOCK": [1, 2]}}`:\n```\n{MODULE}```',
        MODULE,
    ],
)
def test_a_module_is_found_in_what_a_chat_model_writes(text: str) -> None:
    assert read_draft(text, some_facts()).source.strip() == MODULE.strip()


@pytest.mark.parametrize(
    "text",
    [
        block("    STEP = 0", "    STEP = 7"),
        f"The step was wrong:\n```\n{block('    STEP = 0', '    STEP = 7')}\n```\n",
        block("STEP = 0", "STEP = 7"),
        block("STEP = 0   ", "STEP = 7"),
        json.dumps({"summary": "x", "edits": [{"search": "STEP = 0", "replace": "STEP = 7"}]}),
        json.dumps({"summary": "x", "source": block("STEP = 0", "STEP = 7")}),
    ],
)
def test_edits_change_the_start_point(text: str) -> None:
    assert read_draft(text, some_facts(attempts=(START,), start_point=START)).source == MODULE


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("I cannot do that.", "expected JSON, a fenced Python module or an edit block"),
        ("```python\nx = 1\n```", "expected JSON, a fenced Python module"),
        ("```python\nclass ModelNew(:\n```", "line 1"),
        (block("nowhere", "x"), r"edits\.0\.search: occurs 0 times"),
        (block(" ", "x"), "SEARCH is empty"),
        ("<<<<<<< SEARCH\nSTEP = 0\n", "not complete"),
        (block("STEP = 0", "STEP = ("), "source: line"),
    ],
)
def test_what_gives_no_module_goes_back_with_the_reason(text: str, complaint: str) -> None:
    with pytest.raises(ReplyError, match=complaint):
        read_draft(text, some_facts(attempts=(START,), start_point=START))


def test_edits_without_a_start_point_are_refused() -> None:
    with pytest.raises(ReplyError, match="there is no start point to edit"):
        read_draft(block("a", "b"), some_facts())


def test_a_passage_may_be_indented_otherwise_and_its_replacement_moves_with_it() -> None:
    source = "def f():\n    if x:\n        a()\n        b()\n"
    edit = Edit(search="if x:\n    a()\n", replace="if y:\n    c()\n\n    d()\n")

    assert apply_edits(source, (edit,)) == "def f():\n    if y:\n        c()\n\n        d()\n        b()\n"


def test_a_loose_passage_that_fits_twice_is_refused() -> None:
    with pytest.raises(ReplyError, match="occurs 2 times"):
        apply_edits("if x:\n    a() \nif y:\n        a() \n", (Edit(search="a()\n", replace="b()"),))


def test_several_blocks_are_applied_in_order() -> None:
    edits = edit_blocks(f"{block('a', 'b')}\nthen\n{block('c', '')}")

    assert [(edit.search, edit.replace) for edit in edits] == [("a", "b"), ("c", "")]


def test_a_passage_that_is_not_there_is_answered_with_the_nearest_lines() -> None:
    source = (
        "".join(f"int unrelated{line};\n" for line in range(30)) + "for (int i = 0; i < n; ++i)\n    y[i] = f(x[i]);\n"
    )

    with pytest.raises(ReplyError) as caught:
        apply_edits(source, (Edit(search="for (int i = 0; i < N; i++)\n  y[i] = f(x[i]);", replace=""),))

    assert str(caught.value).endswith(
        "occurs 0 times in the start point, must occur once; nearest are the lines 31 to 32:\n"
        "for (int i = 0; i < n; ++i)\n    y[i] = f(x[i]);"
    )
    with pytest.raises(ReplyError, match=r"must occur once$"):
        apply_edits(source, (Edit(search="@@@@ ####", replace=""),))
