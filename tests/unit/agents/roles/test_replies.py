"""Replies are read tolerantly, then judged strictly."""

from __future__ import annotations

import json
import time

import pytest

from agents.roles.coder import check_source, read_draft
from agents.roles.edits import apply_edits
from agents.roles.planner import chosen_start, read_plan
from agents.roles.replies import DraftCritique, Edit, PlannerReply, json_text, parse_reply, schema_of, unknown_keys
from services.domain.errors import ReplyError
from tests.unit.agents.some_facts import an_attempt, some_facts

PLAN = {"hypothesis": "fuse", "moves": [{"name": "fuse", "parameters": {"width": 8}}]}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(PLAN),
        f"\n\n  {json.dumps(PLAN)}  \n",
        f"Here is my plan:\n```json\n{json.dumps(PLAN, indent=1)}\n```\nGood luck!",
        f"```\n{json.dumps(PLAN)}\n```",
        f"I considered {{many}} things. {json.dumps(PLAN)} That is {{all}}.",
        f'First {{"a": 1}}, then {json.dumps(PLAN)}',
    ],
)
def test_a_plan_is_found_in_what_a_chat_model_writes(text: str) -> None:
    reply = parse_reply(PlannerReply, text)

    assert reply.hypothesis == "fuse"
    assert reply.moves[0].parameters == {"width": 8}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("no JSON here", "Invalid JSON"),
        ("[1, 2]", "reply: Input should be an object"),
        ('{"hypothesis": ""}', "hypothesis"),
        ('{"hypothesis": "x", "expected_gain": -1}', "expected_gain"),
        ('{"hypothesis": "x", "moves": [{"name": 5}]}', "moves.0.name"),
    ],
)
def test_a_reply_that_does_not_fit_says_where(text: str, complaint: str) -> None:
    with pytest.raises(ReplyError, match=complaint):
        parse_reply(PlannerReply, text)


@pytest.mark.parametrize(
    ("said", "gain"),
    [(2, 2.0), ("2x", 2.0), ("~1.5×", 1.5), ("30%", 1.3), ("3 times", 3.0), ("1.25x faster", 1.25), (5000, 1000.0)],
)
def test_an_expected_gain_is_read_as_models_write_it(said: object, gain: float) -> None:
    assert parse_reply(PlannerReply, json.dumps({**PLAN, "expected_gain": said})).expected_gain == pytest.approx(gain)


def test_small_faults_do_not_cost_a_round() -> None:
    text = json.dumps({**PLAN, "hypothesis": "h" * 5000, "confidence": 0.9, "notes": "x"})

    assert len(parse_reply(PlannerReply, text).hypothesis) == 2000
    assert unknown_keys(PlannerReply, text) == ("confidence", "notes")
    assert schema_of(PlannerReply)["additionalProperties"] is False, "models are asked for nothing else"
    draft = read_draft(json.dumps({"summary": "s" * 900, "source": "class ModelNew: ..."}), some_facts())
    assert len(draft.summary) == 500
    with pytest.raises(ReplyError, match=r"give either source or edits \(there is no field code\)"):
        read_draft(json.dumps({"summary": "x", "code": "class ModelNew: ..."}), some_facts())


@pytest.mark.parametrize("opening", ["<think>", ""])
def test_what_a_model_thought_aloud_is_neither_summary_nor_answer(opening: str) -> None:
    thought = f'{opening}Maybe {{"hypothesis": "a much longer and rejected idea, which is wrong"}}? No.</think>\n'
    module = "class ModelNew: ..."

    assert parse_reply(PlannerReply, thought + json.dumps(PLAN)).hypothesis == "fuse"
    draft = read_draft(f"{thought}Wider vectors.\n```python\n{module}\n```", some_facts())
    assert (draft.summary, draft.source.strip()) == ("Wider vectors.", module)


def test_a_block_that_shows_how_the_kernel_is_called_is_not_the_kernel() -> None:
    module = "class ModelNew:\n    pass\n"
    text = f"Wider vectors.\n```python\n{module}```\nUse it so:\n```python\nmodel = kernels.ModelNew(4)\n```\n"

    assert read_draft(text, some_facts()).source == module


def test_a_fence_that_was_cut_off_is_named() -> None:
    with pytest.raises(ReplyError, match=r"without a closed fence of Python \(the first fence is at line 2\)"):
        read_draft("Wider vectors.\n```python\nclass ModelNew:\n", some_facts())


def test_hostile_text_is_read_in_bounded_time() -> None:
    began = time.process_time()
    for text in ("{" * 200_000, '{"a":' * 50_000, "```" * 100_000, "[" * 100_000):
        with pytest.raises(ReplyError):
            parse_reply(DraftCritique, text)
    assert time.process_time() - began < 10


def test_source_code_in_a_fence_is_not_taken_for_the_answer() -> None:
    text = f'```python\nx = {{"a": 1}}\n```\n{json.dumps(PLAN)}'

    assert json.loads(json_text(text)) == PLAN


def test_a_planner_may_name_another_candidate_but_no_stranger() -> None:
    first, second = an_attempt(0), an_attempt(1)
    facts = some_facts(attempts=(first, second), start_point=second)

    reply = read_plan(json.dumps({**PLAN, "start_point": first.candidate_id}), facts)

    assert chosen_start(reply, facts) == first
    assert chosen_start(read_plan(json.dumps(PLAN), facts), facts) == second
    with pytest.raises(ReplyError, match="no candidate 'cand-x'"):
        read_plan(json.dumps({**PLAN, "start_point": "cand-x"}), facts)


def test_edits_apply_where_their_passage_is_unique() -> None:
    source = "a = 1\nb = 2\nb = 2\n"

    assert apply_edits(source, (Edit(search="a = 1", replace="a = 3"),)) == "a = 3\nb = 2\nb = 2\n"
    with pytest.raises(ReplyError, match=r"edits\.0\.search: occurs 2 times"):
        apply_edits(source, (Edit(search="b = 2", replace=""),))
    with pytest.raises(ReplyError, match=r"edits\.1\.search: occurs 0 times"):
        apply_edits(source, (Edit(search="a = 1", replace=""), Edit(search="c", replace="")))


@pytest.mark.parametrize(
    ("reply", "complaint"),
    [
        ({"summary": "x"}, "either source or edits"),
        ({"summary": "x", "source": "class ModelNew: ...", "edits": [{"search": "a", "replace": "b"}]}, "either"),
        ({"summary": "x", "edits": [{"search": "a", "replace": "b"}]}, "no start point"),
        ({"summary": "x", "source": "class Model: ..."}, "does not define ModelNew"),
        ({"summary": "x", "source": "class ModelNew:\n  def"}, "line 2"),
        ({"summary": "x", "source": "class ModelNew: ...\0"}, "source"),
        ({"summary": "x", "source": "(" * 5000 + "\nclass ModelNew: ..."}, "source"),
    ],
)
def test_a_draft_that_is_no_candidate_goes_back(reply: dict[str, object], complaint: str) -> None:
    with pytest.raises(ReplyError, match=complaint):
        read_draft(json.dumps(reply), some_facts())


@pytest.mark.parametrize(
    "source", ["class ModelNew: ...", "ModelNew = object", "if True:\n    class ModelNew: ...", "def ModelNew(): ..."]
)
def test_a_module_may_define_its_model_in_several_ways(source: str) -> None:
    check_source(source)
