"""Schemas as prompts show them."""

from __future__ import annotations

import json

import pytest

from agents.prompts.schema_text import schema_text
from agents.roles.replies import (
    CoderReply,
    DiagnosedPlannerReply,
    DraftCritique,
    InspectionReply,
    PlannerReply,
    ProfilerReply,
    RefineCritique,
    Reply,
    schema_of,
)
from services.domain.events import JsonValue

REPLIES = (
    PlannerReply,
    DiagnosedPlannerReply,
    CoderReply,
    DraftCritique,
    RefineCritique,
    InspectionReply,
    ProfilerReply,
)


@pytest.mark.parametrize("kind", REPLIES)
def test_the_schema_of_a_prompt_names_every_field_and_is_shorter(kind: type[Reply]) -> None:
    whole = schema_of(kind)
    shown = json.loads(schema_text(whole))

    assert set(shown["properties"]) == set(kind.model_fields)
    assert shown.get("required") == whole.get("required")
    assert len(schema_text(whole)) < 0.8 * len(json.dumps(whole))


def test_a_field_that_is_called_like_a_word_of_the_schema_language_stays() -> None:
    schema: dict[str, JsonValue] = {
        "properties": {"title": {"type": "string", "title": "Title"}, "n": {"anyOf": [{"type": "null"}, {}]}}
    }

    assert json.loads(schema_text(schema)) == {
        "properties": {"title": {"type": "string"}, "n": {"type": ["null", None]}}
    }
