"""Requests of manual models, batches of evaluations and training data over the REST API."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agents.roles.external_replies import check_answer
from services.jobs.requests import RequestService
from services.jobs.trajectories import TrajectoryService
from tests.contracts.test_request_store import a_request
from tests.doubles import InMemoryMemoryRecords, InMemoryRequestStore, a_job, a_problem
from tests.unit.web.test_app import PROBLEM, Installation

MODULE = "import torch\n\n\nclass ModelNew(torch.nn.Module):\n    pass\n"


class RequestInstallation(Installation):
    """An installation with requests and training data."""

    def __init__(self, runtime: Path) -> None:
        super().__init__(runtime)
        self.requests = InMemoryRequestStore(self.database)
        service = RequestService(self.requests, check_answer, self.database.clock)
        training = TrajectoryService(self.services.jobs, InMemoryMemoryRecords(self.database))
        complete = replace(self.services, requests=service, trajectories=training)
        self.client._transport.app.state.services = complete  # type: ignore[attr-defined]


@pytest.fixture
def installation(tmp_path: Path) -> RequestInstallation:
    runtime = tmp_path / "kernelwright_rt.py"
    runtime.write_text("")
    return RequestInstallation(runtime)


async def an_open_request(installation: RequestInstallation) -> str:
    await installation.jobs.create(a_job())
    return (await installation.requests.open(a_request(), 60)).id


async def answer(installation: RequestInstallation, request_id: str, given: Any) -> Any:
    return await installation.client.post(f"/requests/{request_id}/answer", json={"answer": given, "by": "me"})


async def test_a_request_is_listed_shown_and_answered(installation: RequestInstallation) -> None:
    request_id = await an_open_request(installation)
    (listed,) = (await installation.client.get("/requests", params={"role": "coder"})).json()["items"]
    shown = (await installation.client.get(f"/requests/{listed['id']}")).json()
    assert (shown["id"], shown["reply"]) == (request_id, None)
    assert shown["messages"][0]["content"] == "Write it."
    answered = await answer(installation, request_id, {"summary": "mine", "source": MODULE})
    assert answered.status_code == 200, answered.text
    assert answered.json()["answered_by"] == "me"
    assert (await installation.client.get("/requests")).json()["items"] == []


async def test_a_coder_may_send_its_module_as_text(installation: RequestInstallation) -> None:
    assert (await answer(installation, await an_open_request(installation), MODULE)).status_code == 200


async def test_a_field_that_nobody_asked_for_costs_no_round(installation: RequestInstallation) -> None:
    given = {"summary": "x", "source": MODULE, "colour": 1}
    assert (await answer(installation, await an_open_request(installation), given)).status_code == 200


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"summary": "nothing"}, "give either source or edits"),
        ({"summary": "x", "source": "class Other: ..."}, "does not define ModelNew"),
        ("Certainly! I would fuse the loops.", "expected JSON, a fenced Python module"),
        ({"summary": "x", "edits": [{"search": "not there", "replace": "y"}]}, "occurs 0 times"),
    ],
)
async def test_an_answer_that_does_not_fit_is_refused_and_the_request_stays_open(
    installation: RequestInstallation, given: Any, complaint: str
) -> None:
    request_id = await an_open_request(installation)
    refused = await answer(installation, request_id, given)
    assert refused.status_code == 422
    assert complaint in refused.json()["detail"]
    assert "stays open" in refused.json()["detail"]
    assert len((await installation.client.get("/requests")).json()["items"]) == 1


async def test_a_second_answer_and_an_unknown_request_are_refused(installation: RequestInstallation) -> None:
    request_id = await an_open_request(installation)
    await answer(installation, request_id, MODULE)
    assert (await answer(installation, request_id, MODULE + "# more\n")).status_code == 409
    assert (await answer(installation, "req-none", MODULE)).status_code == 404


async def test_a_batch_with_one_mistake_queues_nothing(installation: RequestInstallation) -> None:
    right = {"problem": PROBLEM, "candidate": MODULE}
    refused = await installation.client.post(
        "/evaluations/batch", json={"evaluations": [right, {**right, "backend": "no"}]}
    )
    assert refused.status_code == 422
    assert installation.database.jobs == {}


async def test_a_batch_is_waited_for_and_tells_rewards(installation: RequestInstallation) -> None:
    right = {"problem": {**PROBLEM, "source": a_problem().source}, "candidate": MODULE, "idempotency_key": "once"}
    queued = await installation.client.post("/evaluations/batch", json={"evaluations": [right, right]})
    assert queued.status_code == 202, queued.text
    assert (queued.json()["pending"], len(installation.database.jobs)) == (2, 1)
    ids = {item["id"] for item in queued.json()["items"]}
    (job_id,) = ids
    await installation.jobs.request("local", job_id, "cancel")
    ended = (await installation.client.get("/evaluations", params={"id": [job_id], "wait_s": 5})).json()
    assert (ended["pending"], ended["items"][0]["reward"]) == (0, None)
    assert (await installation.client.get("/evaluations", params={"id": ["job-none"]})).status_code == 404


async def test_training_data_comes_as_json_lines(installation: RequestInstallation) -> None:
    answered = await installation.client.get("/trajectories", params={"format": "sft"})
    assert (answered.status_code, answered.text) == (200, "")
    assert answered.headers["content-type"].startswith("application/x-ndjson")
    assert (await installation.client.get("/trajectories", params={"format": "poem"})).status_code == 422
