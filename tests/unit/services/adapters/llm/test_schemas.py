"""Agents' schemas become strict ones, and replies under them come back in the agents' own form."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agents.roles.replies import (
    CoderReply,
    DraftCritique,
    PlannerReply,
    ProfilerReply,
    RefineCritique,
    Reply,
    parse_reply,
)
from services.adapters.llm.schemas import json_document, restore, strict_schema
from tests.fakes.strictness import strictness_faults

REPLIES = (PlannerReply, CoderReply, DraftCritique, RefineCritique, ProfilerReply)


@pytest.mark.parametrize("kind", REPLIES)
def test_every_agents_schema_is_strict_after_the_transformation(kind: type[Reply]) -> None:
    assert strictness_faults(strict_schema(kind.model_json_schema())) == []


def test_the_untransformed_planner_schema_is_not_strict_so_the_check_can_fail() -> None:
    assert strictness_faults(PlannerReply.model_json_schema()) != []


def test_the_transformation_leaves_its_argument_alone() -> None:
    schema = PlannerReply.model_json_schema()
    before = json.dumps(schema)
    strict_schema(schema)
    assert json.dumps(schema) == before


def test_a_plan_under_the_strict_schema_comes_back_as_the_agents_parser_wants_it() -> None:
    answer: Any = {
        "start_point": None,
        "hypothesis": "vectorise",
        "moves": [{"name": "tile_rows", "parameters": [{"name": "rows", "value": 4}, {"name": "pad", "value": True}]}],
        "expected_gain": None,
        "unable": None,
    }
    plan = parse_reply(PlannerReply, json.dumps(restore(PlannerReply.model_json_schema(), answer)))
    assert plan.moves[0].parameters == {"rows": 4, "pad": True}
    assert plan.expected_gain == 1.0
    assert plan.start_point is None


def test_a_null_list_of_edits_becomes_no_edits() -> None:
    answer: Any = {"summary": "whole module", "source": "import torch", "edits": None}
    reply = parse_reply(CoderReply, json.dumps(restore(CoderReply.model_json_schema(), answer)))
    assert reply.edits == ()
    assert reply.source == "import torch"


def test_a_reply_already_in_the_agents_form_is_not_changed() -> None:
    answer: Any = {"hypothesis": "x", "moves": [{"name": "fuse", "parameters": {"depth": 2}}], "expected_gain": 2.0}
    assert restore(PlannerReply.model_json_schema(), answer) == answer


@pytest.mark.parametrize(
    "answer", [None, 3, "text", [], [[]], {"moves": 3}, {"moves": [{"parameters": [1]}]}, {"a": {}}]
)
def test_a_reply_of_any_wrong_shape_passes_through_for_the_parser_to_refuse(answer: Any) -> None:
    assert restore(PlannerReply.model_json_schema(), answer) == answer


def test_limits_and_enums_and_free_values_survive_as_words_and_types() -> None:
    schema: Any = {
        "type": "object",
        "required": ["level"],
        "properties": {
            "level": {"enum": ["low", "high"]},
            "kind": {"const": "a"},
            "count": {"type": "integer", "minimum": 1, "maximum": 9, "description": "How many."},
            "anything": {},
            "either": {"oneOf": [{"type": "string"}, {"type": "integer"}]},
        },
    }
    strict: Any = strict_schema(schema)
    assert strictness_faults(strict) == []
    assert strict["properties"]["level"] == {"type": "string", "enum": ["low", "high"]}
    assert strict["properties"]["count"]["description"] == "How many. (minimum 1, maximum 9)"
    answer: Any = {"level": "low", "kind": None, "count": 3, "anything": '{"a": [1]}', "either": 4}
    assert restore(schema, answer) == {"level": "low", "count": 3, "anything": {"a": [1]}, "either": 4}


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1}',
        'Sure! Here it is:\n```json\n{"a": 1}\n```\nAnything else?',
        '<think>maybe {"a": 2}?</think>{"a": 1}',
        'use {braces} freely: {"a": 1} and {so on',
    ],
)
def test_the_json_object_is_found_in_fences_prose_and_after_thoughts(text: str) -> None:
    assert json_document(text) == {"a": 1}


def test_the_largest_object_wins_over_examples_in_the_prose() -> None:
    assert json_document('not {"a": 0} but {"a": 1, "b": {"c": 2}}') == {"a": 1, "b": {"c": 2}}


@pytest.mark.parametrize("text", ["", "no braces", "{" * 200_000, '{"a": ' * 50_000])
def test_text_without_an_object_is_refused_quickly(text: str) -> None:
    with pytest.raises(ValueError, match="no JSON object"):
        json_document(text)
