"""Every list has one form; what it replaced is answered for one release."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.web.test_app import Installation

DOCUMENT = json.loads((Path(__file__).parents[3] / "docs" / "openapi.json").read_text())
NO_LISTS = {"memory_effects"}
"""Answers that are neither a list nor one document: figures by name."""


def answered(operation: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The schemas of an operation's successful JSON answers, with references followed."""
    for status, response in operation["responses"].items():
        schema = response.get("content", {}).get("application/json", {}).get("schema", {})
        if status.startswith("2") and schema:
            name = schema.get("$ref", "").rpartition("/")[2]
            yield DOCUMENT["components"]["schemas"][name] if name else schema


def test_no_answer_is_a_bare_array() -> None:
    for path, operations in DOCUMENT["paths"].items():
        for operation in operations.values():
            for schema in answered(operation):
                assert schema.get("type") != "array", path


def test_every_list_has_its_entries_and_a_cursor() -> None:
    lists = [
        (operation["operationId"], schema)
        for operations in DOCUMENT["paths"].values()
        for operation in operations.values()
        for schema in answered(operation)
        if operation["operationId"].startswith("list_") or "next_cursor" in schema.get("properties", {})
    ]
    assert len(lists) > 20
    for name, schema in lists:
        assert {"items", "next_cursor"} <= set(schema["properties"]), name


def test_a_cursor_that_is_given_back_is_a_text_wherever_one_is_taken() -> None:
    for operations in DOCUMENT["paths"].values():
        for operation in operations.values():
            for parameter in operation.get("parameters", []):
                if parameter["name"] == "cursor":
                    assert "string" in json.dumps(parameter["schema"]), operation["operationId"]


@pytest.fixture
async def here(tmp_path: Path) -> Installation:
    return Installation(tmp_path)


@pytest.mark.parametrize("path", ["/webhooks", "/problems", "/workers", "/nodes", "/experiences/shares", "/quotas"])
async def test_who_asks_for_bare_lists_gets_an_array(here: Installation, path: str) -> None:
    enveloped = (await here.client.get(path)).json()
    assert enveloped["next_cursor"] is None
    bare = await here.client.get(path, headers={"Kernelwright-Lists": "bare"})
    assert bare.json() == enveloped["items"]
    assert bare.headers["content-length"] == str(len(bare.content)) or "content-encoding" in bare.headers


async def test_pages_have_their_old_fields_beside_the_new_ones(here: Installation) -> None:
    jobs = (await here.client.get("/jobs", headers={"Kernelwright-Lists": "bare"})).json()
    assert jobs["jobs"] == jobs["items"]
    requests = (await here.client.get("/requests")).json()
    assert requests["requests"] == requests["items"] == []


async def test_single_documents_and_errors_stay_as_they_are(here: Installation) -> None:
    asked = {"Kernelwright-Lists": "bare"}
    assert (await here.client.get("/me", headers=asked)).json()["team"] == "local"
    assert (await here.client.get("/jobs/job-nowhere", headers=asked)).status_code == 404
