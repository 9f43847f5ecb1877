"""What the API serves to browsers: the UI's build or how to make one, and headers that keep texts from running."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from services.domain.jobs import LOCAL_TEAM
from services.domain.measurements import gain_within
from tests.unit.web.test_app import PROBLEM, Installation, assert_problem
from web.openapi import document

PAGE = {"Accept": "text/html"}


@pytest.fixture
def runtime(tmp_path: Path) -> Path:
    path = tmp_path / "kernelwright_rt.py"
    path.write_text("# the runtime\n")
    return path


@pytest.fixture
def build(tmp_path: Path) -> Path:
    folder = tmp_path / "dist"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html><script type=module src=/assets/a.js></script>")
    (folder / "assets" / "a.js").write_text("export {};")
    return folder


@pytest.fixture
async def built(runtime: Path, build: Path) -> AsyncIterator[Installation]:
    installation = Installation(runtime, ui=build)
    yield installation
    await installation.client.aclose()


async def test_without_a_build_the_root_says_what_to_run(runtime: Path) -> None:
    installation = Installation(runtime)
    answer = await installation.client.get("http://127.0.0.1:8000/", headers=PAGE)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/plain; charset=utf-8")
    assert "make web" in answer.text
    await installation.client.aclose()


@pytest.mark.parametrize("path", ["/", "/jobs/job-1", "/memory?q=x"])
async def test_every_page_of_the_ui_is_its_build_and_may_load_scripts_from_here_only(
    built: Installation, path: str
) -> None:
    answer = await built.client.get(f"http://127.0.0.1:8000{path}", headers=PAGE)
    assert answer.status_code == 200
    assert answer.text.startswith("<!doctype html>")
    policy = dict(part.split(" ", 1) for part in answer.headers["content-security-policy"].split("; "))
    assert (policy["default-src"], policy["script-src"]) == ("'none'", "'self'")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-cache"


async def test_what_the_build_names_by_content_may_be_kept_and_what_is_missing_may_not(built: Installation) -> None:
    kept = await built.client.get("http://127.0.0.1:8000/assets/a.js")
    assert "immutable" in kept.headers["cache-control"]
    missing = await built.client.get("http://127.0.0.1:8000/assets/b.js")
    assert missing.status_code == 404
    assert "immutable" not in missing.headers["cache-control"]


async def test_an_unknown_address_of_the_api_is_never_a_page(built: Installation) -> None:
    assert_problem(await built.client.get("/nowhere", headers=PAGE), 404)
    assert_problem(await built.client.delete("/jobs", headers=PAGE), 405)


@pytest.mark.parametrize("path", ["/..%2f..%2fkernelwright_rt.py", "/%2e%2e/kernelwright_rt.py", "/assets/../../a"])
async def test_nothing_outside_the_build_is_served(built: Installation, path: str) -> None:
    answer = await built.client.get(f"http://127.0.0.1:8000{path}")
    assert "# the runtime" not in answer.text


async def test_a_job_and_what_it_was_asked_for_make_a_new_one(built: Installation) -> None:
    body = {
        "problem": {**PROBLEM, "allow_library": ["matmul"], "objective": "worst"},
        "budget": {"rounds": 4},
        "tags": ["nightly"],
        "seed": 3,
    }
    job_id = str((await built.client.post("/jobs", json=body)).json()["id"])
    spec = (await built.client.get(f"/jobs/{job_id}/spec")).json()
    assert spec["problem"] == {**PROBLEM, "allow_library": ["matmul"], "objective": "worst"}
    again = await built.client.post("/jobs", json=spec)
    assert again.status_code == 201, again.text
    first = await built.jobs.get(LOCAL_TEAM, job_id)
    assert (await built.jobs.get(LOCAL_TEAM, again.json()["id"])).spec == first.spec


async def test_a_listing_is_narrowed_by_words_tags_and_several_statuses(built: Installation) -> None:
    named = await built.submit(problem={**PROBLEM, "name": "row softmax"}, tags=["nightly"])
    other = await built.submit(problem={**PROBLEM, "name": "column sum"}, tags=["nightly", "gpu"])
    await built.client.post(f"/jobs/{other}/cancel")

    async def ids(**wanted: object) -> set[str]:
        page = await built.client.get("/jobs", params=wanted)  # type: ignore[arg-type]
        return {job["id"] for job in page.json()["items"]}

    assert await ids(q="SOFT row") == {named}
    assert await ids(tag=["nightly", "gpu"]) == {other}
    assert await ids(status=["cancelled", "failed"]) == {other}
    assert await ids(status=["cancelled", "queued"]) == {named, other}


async def test_the_listing_shows_how_fast_the_best_is(built: Installation) -> None:
    job_id = await built.submit()
    await built.solve(job_id, "class ModelNew: ...")
    best = (await built.client.get(f"/jobs/{job_id}/best")).json()["report"]["speedup"]
    (listed,) = (await built.client.get("/jobs")).json()["items"]
    assert (listed["best_speedup"], listed["best_ci95"]) == (best["best_baseline"], best["ci95"])
    assert listed["best_gain"] == (None if best["ci95"] is None else gain_within(tuple(best["ci95"])))
    assert (await built.client.get(f"/jobs/{job_id}")).json() == listed


async def test_steps_costs_and_the_log_are_read_at_once(built: Installation) -> None:
    job_id = await built.submit()
    await built.solve(job_id, "class ModelNew: ...", "class ModelNew: pass")
    steps = (await built.client.get(f"/jobs/{job_id}/steps")).json()["items"]
    assert [step["index"] for step in steps] == [0, 1]
    assert (await built.client.get(f"/jobs/{job_id}/steps/1")).json()["step"]["index"] == 1
    assert_problem(await built.client.get(f"/jobs/{job_id}/steps/2"), 404)
    costs = (await built.client.get(f"/jobs/{job_id}/costs")).json()
    assert (costs["by_agent"], costs["total"]["calls"]) == ([], 0)
    log = (await built.client.get(f"/jobs/{job_id}/log", params={"after": 1})).json()["items"]
    assert [event["seq"] for event in log] == [2]
    assert log[0]["kind"] == "job.finished"


def test_the_api_description_refers_to_nothing_it_does_not_hold() -> None:
    text = document()
    named = set(re.findall(r'"#/components/schemas/([^"]+)"', text))
    assert named <= set(json.loads(text)["components"]["schemas"])
