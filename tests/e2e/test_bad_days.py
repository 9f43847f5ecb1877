"""What people and networks do to the web UI: told plainly, nothing executed, nothing lost. The real service."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.e2e.browsing import ENDED_WELL, Service, Visitor, serving, visiting
from tests.e2e.programs import SMALL, run
from tests.e2e.test_web_ui import HOSTILE, sign_in
from tests.selection import with_full

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(400), pytest.mark.filterwarnings("ignore::ResourceWarning")]
MEBIBYTE = 1 << 20
BROKEN_STREAMS = {
    "no decoder": "delete window.TextDecoderStream",
    "no body": "Object.defineProperty(Response.prototype, 'body', {get: () => null})",
}


@pytest.fixture
def visitor(browser: Any, service: Service) -> Iterator[Visitor]:
    with visiting(browser, service.address, viewport={"width": 1280, "height": 900}) as tab:
        yield tab
        assert tab.complaints == []


@pytest.fixture(scope="module")
def hostile(service: Service) -> str:
    """A job with markup in every field that people fill in, and everything that hangs on it."""
    source = f'"""{HOSTILE}"""\n# {HOSTILE}\n{SMALL}'
    problem = {"name": HOSTILE[:200], "source": source, "path": HOSTILE}
    job_id = service.submit(problem=problem, tags=[HOSTILE, "<b>bold</b>"], budget={"rounds": 1})
    service.ended(job_id)
    service.post("/webhooks", url="http://127.0.0.1:9/?q=<img/src=x/onerror=alert(3)>", kinds=["job.finished"])
    service.post("/tokens", name=HOSTILE, scopes=["read"], of_team=True)
    learned = service.items("/experiences", job=job_id)[0]["id"]
    service.post(f"/experiences/{learned}/retract", reason=HOSTILE, actor=HOSTILE[:200])
    return job_id


PAGES = (
    "/",
    "/?q={q}&tag={q}&status={q}",
    "/jobs/{job}",
    "/jobs/{job}/trace",
    "/jobs/{q}",
    "/candidates/{candidate}",
    "/candidates/{candidate}?tab=diff&against=reference",
    "/candidates/{candidate}?tab={q}",
    "/candidates/{q}",
    "/compare?job={job}&job={q}",
    "/submit?from={job}",
    "/memory",
    "/memory?q={q}&kind={q}&family={q}",
    "/memory/{q}",
    "/webhooks",
    "/team",
    "{report}",
)
SOME = ("/", "/jobs/{job}", "/candidates/{candidate}", "{report}")


@pytest.mark.parametrize("page", with_full(PAGES, SOME))
def test_markup_in_any_field_is_shown_and_never_executed(
    service: Service, visitor: Visitor, hostile: str, page: str
) -> None:
    candidate = service.items(f"/jobs/{hostile}/candidates")[0]["id"]
    report = service.post(f"/jobs/{hostile}/shares")["path"] if page == "{report}" else ""
    quoted = "%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E%3Cscript%3Ealert(2)%3C%2Fscript%3E"
    visitor.page.goto(page.format(job=hostile, candidate=candidate, q=quoted, report=report))
    visitor.page.locator("h1, [role=alert], main p").first.wait_for()
    visitor.page.wait_for_function("() => document.querySelectorAll('[aria-label=Loading]').length === 0")
    visitor.page.wait_for_timeout(300)
    assert visitor.page.locator("img[src=x], main b:text-is('bold')").count() == 0
    assert visitor.page.evaluate("() => [...document.scripts].every(one => one.src.startsWith(location.origin))")


def test_a_problem_with_a_megabyte_on_one_line_is_told_and_the_page_goes_on(visitor: Visitor) -> None:
    page = visitor.page
    page.goto("/submit")
    editor = page.locator(".cm-content")
    editor.click()
    page.keyboard.insert_text("x = 1  # " + "a" * (MEBIBYTE - len(SMALL) - 200) + f"\n{SMALL}")
    told = page.locator("[data-check=bad]")
    told.wait_for()
    assert "problem.py:1: the line has 1048" in told.inner_text()
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 1280
    editor.click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(SMALL)
    page.locator("[data-check=good]").wait_for()


@pytest.mark.parametrize("tab", with_full(("source", "diff&against=reference", "gates"), ("source",)))
def test_a_kernel_with_a_megabyte_on_one_line_is_judged_and_shown(
    service: Service, visitor: Visitor, long_line: str, tab: str
) -> None:
    page = visitor.page
    page.goto(f"/candidates/{long_line}?tab={tab}")
    page.locator("h1").wait_for()
    page.locator(".cm-content, section[aria-label^=Gate]").first.wait_for()
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 1280
    page.get_by_role("tab", name="Why believe this number").click()
    page.get_by_role("tab", name="Source").click()
    page.get_by_label("Source of the candidate").wait_for()


@pytest.fixture(scope="module")
def long_line(service: Service) -> str:
    """A candidate that is a megabyte on one line and a model below it."""
    kernel = "x = 1  # " + "a" * (MEBIBYTE - 400) + "\nimport torch\nclass ModelNew(torch.nn.Module):\n    ...\n"
    job_id = service.submit(seed_candidate=kernel, budget={"rounds": 1})
    service.ended(job_id)
    return str(service.items(f"/jobs/{job_id}/candidates")[0]["id"])


def test_more_than_the_server_takes_is_told_with_its_limit(visitor: Visitor) -> None:
    page = visitor.page
    page.goto("/submit")
    page.locator(".cm-content").click()
    page.keyboard.insert_text("# " + "a" * (MEBIBYTE + 1000) + "\n" + SMALL)
    told = page.locator("[data-check=bad], [role=alert]").first
    told.wait_for()
    assert re.search(r"1048576|1 MiB|too (large|long)", told.inner_text()), told.inner_text()[:300]


@pytest.mark.parametrize("hours", [-1, 1])
def test_a_clock_an_hour_off_changes_no_duration(browser: Any, service: Service, hostile: str, hours: int) -> None:
    with visiting(browser, service.address) as tab:
        tab.page.clock.install(time=datetime.now(UTC) + timedelta(hours=hours))
        tab.page.goto(f"/jobs/{hostile}")
        tab.page.get_by_text(re.compile(r"submitted (just now|\d+ (seconds?|minutes?) ago)")).wait_for()
        tab.page.goto("/")
        tab.page.get_by_text(re.compile(r"^(just now|\d+ (seconds?|minutes?) ago)$")).first.wait_for()


@pytest.mark.parametrize("kind", with_full(BROKEN_STREAMS, ("no body",)))
def test_a_browser_without_streams_follows_a_job_to_its_end(browser: Any, service: Service, kind: str) -> None:
    with visiting(browser, service.address) as tab:
        tab.page.add_init_script(BROKEN_STREAMS[kind])
        job_id = service.submit(budget={"rounds": 2})
        tab.page.goto(f"/jobs/{job_id}")
        tab.page.locator("[data-connection=polling]").wait_for()
        tab.page.get_by_text("polling every second").wait_for()
        tab.page.locator(ENDED_WELL).wait_for()
        tab.page.locator("[data-connection=ended]").wait_for(state="attached")
        log = service.items(f"/jobs/{job_id}/log", limit=5000)
        assert tab.page.locator("[data-connection]").get_attribute("data-seq") == str(log[-1]["seq"])
        assert tab.complaints == []


def test_a_lost_connection_is_told_and_the_page_goes_on_without_losing_an_event(browser: Any, service: Service) -> None:
    with visiting(browser, service.address) as tab:
        job_id = service.submit(budget={"rounds": 4})
        tab.page.goto(f"/jobs/{job_id}")
        tab.page.locator("[data-step='1']").wait_for()
        tab.page.context.set_offline(True)
        tab.page.get_by_text("The server cannot be reached").wait_for()
        service.ended(job_id)
        tab.page.context.set_offline(False)
        tab.page.get_by_text("The server cannot be reached").wait_for(state="detached")
        tab.page.locator(ENDED_WELL).wait_for()
        tab.page.locator("[data-connection=ended]").wait_for(state="attached")
        log = service.items(f"/jobs/{job_id}/log", limit=5000)
        assert tab.page.locator("[data-connection]").get_attribute("data-seq") == str(log[-1]["seq"])
        steps = [item.get_attribute("data-step") for item in tab.page.locator("[data-step]").all()]
        assert len(steps) == len(set(steps)) == len(service.items(f"/jobs/{job_id}/steps"))
        assert tab.complaints == []


def test_what_was_typed_survives_a_submission_that_did_not_arrive(visitor: Visitor, service: Service) -> None:
    page, name = visitor.page, f"kept_through_{uuid.uuid4().hex[:8]}"
    page.goto("/submit")
    page.locator(".cm-content").click()
    page.keyboard.insert_text(SMALL)
    page.locator("[data-check=good]").wait_for()
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_label("Rounds").fill("1")
    page.context.set_offline(True)
    page.get_by_role("button", name="Submit", exact=True).click()
    page.get_by_text(re.compile("cannot be reached")).first.wait_for()
    assert page.get_by_label("Name", exact=True).input_value() == name
    page.context.set_offline(False)
    page.get_by_text("Showing the last known state").wait_for(state="detached")
    page.get_by_role("button", name="Submit", exact=True).click()
    page.wait_for_url("**/jobs/job-*")
    same = [job for job in service.items("/jobs", limit=50) if job["problem"] == name]
    assert len(same) == 1


def _token(home: Path, *options: str) -> str:
    made = run("token", "create", "browser", *options, home=home)
    assert made.returncode == 0, made.stderr
    found = re.search(r"kw_\S+", made.stdout)
    assert found is not None, made.stdout
    return found[0]


@pytest.mark.full
def test_a_token_that_ends_while_a_job_is_watched_is_asked_for_and_no_event_is_lost(
    browser: Any, tmp_path: Path
) -> None:
    with serving(tmp_path, KERNELWRIGHT_TOKEN="the-servers") as service, visiting(browser, service.address) as tab:
        first = _token(tmp_path)
        page, as_server = tab.page, {"Authorization": "Bearer the-servers"}
        page.goto("/")
        sign_in(tab, first)
        page.get_by_text("No jobs yet").wait_for()
        body = {"problem": {"name": "silu", "source": SMALL, "path": "silu.py"}, "baselines": ["eager"]}
        api = f"{service.address}/api/v1"
        made = httpx.post(f"{api}/jobs", json={**body, "budget": {"rounds": 4}}, headers=as_server, timeout=30)
        job_id = made.json()["id"]
        page.goto(f"/jobs/{job_id}")
        page.locator("[data-step='0']").wait_for()
        ended = run("token", "revoke", first.split("_")[1], home=tmp_path)
        assert ended.returncode == 0, ended.stderr
        page.get_by_text("Invalid token. Check it and try again.").wait_for()
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            assert [one for one in tab.violations("[role=dialog]") if not one.startswith("landmark-")] == []
        sign_in(tab, "the-servers")
        page.locator(ENDED_WELL).wait_for()
        page.locator("[data-connection=ended]").wait_for(state="attached")
        asked = httpx.get(f"{api}/jobs/{job_id}/log", params={"limit": 5000}, headers=as_server, timeout=30).json()[
            "items"
        ]
        assert page.locator("[data-connection]").get_attribute("data-seq") == str(asked[-1]["seq"])
        assert tab.complaints == []


def test_a_viewer_is_told_plainly_whom_webhooks_are_for(browser: Any, tmp_path: Path) -> None:
    with serving(tmp_path, KERNELWRIGHT_TOKEN="the-servers") as service, visiting(browser, service.address) as tab:
        added = run("user", "add", "bob@x", "--role", "viewer", home=tmp_path)
        assert added.returncode == 0, added.stderr
        tab.page.goto("/webhooks")
        sign_in(tab, _token(tmp_path, "--user", "bob@x", "--scopes", "read"))
        tab.page.get_by_role("heading", name="Webhooks are for the team's admins").wait_for()
        tab.page.locator("[role=dialog]").wait_for(state="detached")
        assert "viewer" in tab.page.locator("main").inner_text()
        assert tab.page.get_by_role("button", name="Create webhook").count() == 0
        assert tab.violations() == []
        assert tab.complaints == []
