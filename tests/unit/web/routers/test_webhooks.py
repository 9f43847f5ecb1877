"""Webhooks over the REST API."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from services.adapters.webhooks.sender import check_address
from services.teams.webhooks import MOST_WEBHOOKS, WebhookService
from tests.doubles import InMemoryWebhookStore
from tests.unit.web.test_app import Installation, assert_problem

URL = "https://example.com/hook"


@pytest.fixture
def here(tmp_path: Path) -> Installation:
    runtime = tmp_path / "kernelwright_rt.py"
    runtime.write_text("")
    found = Installation(runtime)
    store = InMemoryWebhookStore(found.database)
    service = WebhookService(store, partial(check_address, private_hosts=False), found.database.clock)
    found.client._transport.app.state.services = replace(found.services, webhooks=service)  # type: ignore[attr-defined]
    return found


async def a_webhook(here: Installation, **body: object) -> dict[str, str]:
    made = await here.client.post("/webhooks", json={"url": URL, **body})
    assert made.status_code == 201, made.text
    found: dict[str, str] = made.json()
    return found


async def test_a_secret_is_told_once(here: Installation) -> None:
    made = await a_webhook(here)
    assert made["secret"].startswith("whsec_")
    listed = await here.client.get("/webhooks")
    assert listed.json()["items"] == [{name: value for name, value in made.items() if name != "secret"}]
    assert made["secret"] not in listed.text


async def test_a_jobs_end_is_in_the_log_and_can_be_sent_again(here: Installation) -> None:
    hook = await a_webhook(here)
    job_id = await here.submit()
    await here.solve(job_id, "class ModelNew: ...\n")
    (told,) = (await here.client.get(f"/webhooks/{hook['id']}/deliveries")).json()["items"]
    assert (told["kind"], told["job_id"], told["status"]) == ("job.finished", job_id, "pending")
    again = await here.client.post(f"/webhooks/{hook['id']}/deliveries/{told['id']}/resend")
    assert (again.status_code, again.json()["id"]) == (202, told["id"])
    tried = await here.client.post(f"/webhooks/{hook['id']}/test")
    assert (tried.status_code, tried.json()["kind"]) == (202, "webhook.test")
    assert len((await here.client.get(f"/webhooks/{hook['id']}/deliveries")).json()["items"]) == 2


async def test_a_webhook_is_switched_off_and_removed(here: Installation) -> None:
    hook = await a_webhook(here, kinds=["job.status", "job.finished"])
    off = await here.client.patch(f"/webhooks/{hook['id']}", json={"enabled": False})
    assert (off.json()["enabled"], off.json()["kinds"]) == (False, ["job.status", "job.finished"])
    assert (await here.client.delete(f"/webhooks/{hook['id']}")).status_code == 204
    assert_problem(await here.client.delete(f"/webhooks/{hook['id']}"), 404)
    assert_problem(await here.client.get(f"/webhooks/{hook['id']}/deliveries"), 404)


@pytest.mark.parametrize(
    "body",
    [
        {"url": "http://127.0.0.1:8000/api/v1/jobs"},
        {"url": "file:///etc/passwd"},
        {"url": ""},
        {"url": URL, "kinds": []},
        {"url": URL, "kinds": ["agent.delta"]},
        {"url": URL, "kinds": ["no.such"]},
        {"url": URL, "secret": "mine"},
        {"url": URL, "conditions": {"statuses": ["happy"]}},
        {"url": URL, "conditions": {"min_speedup": -1}},
        {"url": URL, "conditions": {"min_speedup": "fast"}},
        {"url": URL, "conditions": {"tags": [""]}},
        {"url": URL, "conditions": {"when": "always"}},
        {"url": URL, "kinds": ["job.status"], "conditions": {"first_place": True}},
        {},
    ],
)
async def test_bad_input_is_refused_with_the_reason(here: Installation, body: dict[str, object]) -> None:
    assert_problem(await here.client.post("/webhooks", json=body), 422)


async def test_a_team_has_a_bounded_number_of_webhooks(here: Installation) -> None:
    for _ in range(MOST_WEBHOOKS):
        await a_webhook(here)
    refused = assert_problem(await here.client.post("/webhooks", json={"url": URL}), 422)
    assert "remove one first" in refused["detail"]


async def test_conditions_are_stored_shown_and_obeyed(here: Installation) -> None:
    given = {"statuses": ["no_gain"], "min_speedup": 1.5, "faster": False, "first_place": False, "tags": ["nightly"]}
    made = await here.client.post("/webhooks", json={"url": URL, "conditions": given})
    assert made.status_code == 201, made.text
    (listed,) = (await here.client.get("/webhooks")).json()["items"]
    assert listed["conditions"] == made.json()["conditions"] == given


async def test_a_condition_that_its_events_never_tell_is_refused_with_what_to_do(here: Installation) -> None:
    body = {"url": URL, "kinds": ["job.finished", "job.notice"], "conditions": {"min_speedup": 2}}
    refused = assert_problem(await here.client.post("/webhooks", json=body), 422)
    assert refused["detail"].endswith("leave out job.notice or min_speedup")
