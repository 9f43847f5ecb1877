"""The web UI in Chromium before the real service: the first hour of a newcomer, and what may go wrong in it."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.e2e.browsing import ENDED_WELL, STICKS_OUT, Service, Visitor, serving, settled, visiting
from tests.e2e.programs import SMALL, WELL
from tests.receiver import receiving
from tests.selection import with_full

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(400), pytest.mark.filterwarnings("ignore::ResourceWarning")]
WIDTHS = {"phone": (320, 720), "laptop": (1280, 800), "4k": (3840, 2160)}
HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>\"'`${7*7}"


@pytest.fixture(scope="module")
def solved(service: Service) -> str:
    """A job that has ended well."""
    job_id = service.submit(budget={"rounds": 3}, tags=["nightly"])
    assert service.ended(job_id)["status"] in WELL
    return job_id


@pytest.fixture(scope="module")
def other(service: Service, solved: str) -> str:
    """A second job that has ended, with other settings."""
    job_id = service.submit(budget={"rounds": 1}, seed=7, strategy="value_driven")
    service.ended(job_id)
    return job_id


@pytest.fixture
def visitor(browser: Any, service: Service) -> Iterator[Visitor]:
    with visiting(browser, service.address, viewport={"width": 1280, "height": 900}) as tab:
        yield tab
        assert tab.complaints == []


def test_the_first_hour(service: Service, solved: str, visitor: Visitor, tmp_path: Path) -> None:
    page = visitor.page
    _submit_after_a_mistake(page)
    job_id = _watch_until_solved(page)
    _look_at_the_kernel(page)
    _take_the_bundle(page, job_id, tmp_path)
    experience = _find_what_was_learned(page)
    _take_it_back(page)
    assert service.get(f"/experiences/{experience}")["retracted"] is True
    _cancel_another(service, page)


def _submit_after_a_mistake(page: Any) -> None:
    page.goto("/")
    page.get_by_role("link", name="Submit a problem").click()
    editor = page.locator(".cm-content")
    editor.click()
    page.keyboard.insert_text(SMALL.replace("def forward(self, x):", "def forward(self, x, y):"))
    told = page.locator("[data-check=bad]")
    told.wait_for()
    assert re.search(r"problem\.py:\d+", told.inner_text())
    assert page.locator(".cm-fault").count() == 1
    editor.click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(SMALL)
    page.locator("[data-check=good]").wait_for()
    page.get_by_label("Name", exact=True).fill("silu by hand")
    page.get_by_label("torch.compile").uncheck()
    page.get_by_label("Rounds").fill("3")
    page.get_by_role("button", name="Submit", exact=True).click()


def _watch_until_solved(page: Any) -> str:
    page.wait_for_url("**/jobs/job-*")
    page.locator("[data-connection=live]").wait_for()
    page.locator("li.now[data-step]").first.wait_for()  # a round is seen while it is under way
    page.locator(ENDED_WELL).wait_for()
    page.locator("[data-best]").wait_for()
    page.locator("[data-connection=ended]").wait_for(state="attached")
    assert page.locator(".grid-body [data-candidate]").count() >= 3
    return str(page.url.rpartition("/")[2])


def _look_at_the_kernel(page: Any) -> None:
    page.locator("[data-best]").click()
    page.wait_for_url("**/candidates/*")
    page.locator(".cm-content", has_text="import").wait_for()
    page.get_by_role("tab", name="Changes").click()
    page.get_by_role("combobox", name="Compare with").click()
    page.get_by_role("option", name="Reference").click()
    page.locator(".cm-changedLine, .cm-insertedLine, .cm-deletedChunk").first.wait_for()
    page.get_by_role("tab", name="Gates").click()
    page.get_by_role("region", name="Gate correctness").wait_for()
    page.get_by_role("tab", name="Why believe this number").click()
    page.get_by_text("95 % interval of that ratio").wait_for()
    page.get_by_role("tab", name="Profile").click()
    page.get_by_role("heading", name="Speed of light").wait_for()
    page.get_by_role("tab", name="Machine code").click()
    page.get_by_label("Machine code of the candidate").wait_for()
    with page.expect_download() as expected:
        page.get_by_role("tabpanel").get_by_role("button", name="Download").click()
    assert "<kernel_0" in Path(expected.value.path()).read_text()


def _take_the_bundle(page: Any, job_id: str, folder: Path) -> None:
    with page.expect_download() as expected:
        page.get_by_role("button", name="Evidence bundle").click()
    archive = folder / "bundle.zip"
    expected.value.save_as(archive)
    with zipfile.ZipFile(archive) as opened:
        assert {f"{job_id}/kernel.py", f"{job_id}/report.json"} <= set(opened.namelist())


def _find_what_was_learned(page: Any) -> str:
    page.get_by_role("navigation").get_by_role("link", name="Memory").click()
    page.get_by_role("combobox", name="Kind").click()
    page.get_by_role("option", name="trace").click()
    page.wait_for_url("**kind=trace*")
    page.get_by_role("region", name="Experiences").get_by_role("link").first.click()
    page.wait_for_url("**/memory/exp-*")
    page.get_by_role("heading", name="Content").wait_for()
    return str(page.url.rpartition("/")[2])


def _take_it_back(page: Any) -> None:
    page.get_by_role("button", name="Retract").click()
    page.get_by_label("Reason").fill("it was measured on a busy machine")
    page.get_by_role("dialog").get_by_role("button", name="Retract").click()
    page.get_by_text("all credit it gave was reversed").wait_for()
    page.get_by_role("navigation").get_by_role("link", name="Memory").click()
    page.get_by_text("it was measured on a busy machine").wait_for()


def _cancel_another(service: Service, page: Any) -> None:
    job_id = service.submit(budget={"rounds": 1000})
    page.goto("/jobs?status=running")  # as people guess it
    page.wait_for_url("**/?status=running")
    page.locator(f'a[href="/jobs/{job_id}"]').click()
    page.get_by_role("button", name="Cancel").click()
    page.locator("[data-status=cancelled]").wait_for()
    assert service.get(f"/jobs/{job_id}")["status"] == "cancelled"
    page.get_by_role("paragraph").filter(has_text="Cancelled by user").wait_for()
    shown = page.locator("main").inner_text()
    assert not re.search(r"working…|Evaluating…|in progress| yet", shown), shown


@pytest.mark.full
def test_a_page_recovers_by_itself_when_the_service_is_killed_and_comes_back(browser: Any, tmp_path: Path) -> None:
    with serving(tmp_path) as service, visiting(browser, service.address) as tab:
        job_id = service.submit(budget={"rounds": 4})
        tab.page.goto(f"/jobs/{job_id}")
        tab.page.locator("[data-step='1']").wait_for()
        service.kill()
        tab.page.get_by_text("The server cannot be reached").wait_for()
        service.start()
        tab.page.locator(ENDED_WELL).wait_for()
        tab.page.get_by_text("The server cannot be reached").wait_for(state="detached")
        tab.page.locator("[data-connection=ended]").wait_for(state="attached")
        log = service.items(f"/jobs/{job_id}/log", limit=5000)
        assert tab.page.locator("[data-connection]").get_attribute("data-seq") == str(log[-1]["seq"])
        assert [event["seq"] for event in log] == list(range(1, len(log) + 1))
        rounds = [int(item.get_attribute("data-step")) for item in tab.page.locator("[data-step]").all()]
        recorded = [step["index"] for step in service.items(f"/jobs/{job_id}/steps")]
        assert sorted(rounds) == recorded
        assert tab.complaints == []


PAGES = {
    "jobs": "/",
    "submit": "/submit",
    "job": "/jobs/{job}",
    "trace": "/jobs/{job}/trace",
    "playground": "/jobs/{job}/playground?round=2&call=2",
    "compare": "/compare?job={job}&job={other}",
    "leaderboard": "/leaderboard",
    "source": "/candidates/{best}",
    "diff": "/candidates/{best}?tab=diff&against=reference",
    "gates": "/candidates/{best}?tab=gates",
    "evidence": "/candidates/{best}?tab=evidence",
    "profile": "/candidates/{best}?tab=profile",
    "machine code": "/candidates/{best}?tab=machine",
    "memory": "/memory",
    "experience": "/memory/{experience}",
    "workers": "/workers",
    "webhooks": "/webhooks",
    "team": "/team",
    "report": "{report}",
    "nowhere": "/no/such/page",
    "no job": "/jobs/job-none",
}
SOME = ("jobs", "submit", "job", "gates", "memory", "team")
"""Pages whose looks `make test` asks of; `make test-full` of all."""


def _address(service: Service, name: str, job_id: str, other: str) -> str:
    experiences = service.items("/experiences", job=job_id)
    used = next((one for one in experiences if one["worth"]), experiences[0])
    best = service.get(f"/jobs/{job_id}")["best_candidate_id"]
    report = service.post(f"/jobs/{job_id}/shares")["path"] if name == "report" else None
    return PAGES[name].format(job=job_id, other=other, best=best, experience=used["id"], report=report)


@pytest.mark.parametrize("name", with_full(PAGES, SOME))
def test_every_page_is_accessible_and_fits_its_window_in_light_and_dark(
    browser: Any, service: Service, solved: str, other: str, name: str
) -> None:
    with visiting(browser, service.address) as tab:
        tab.page.goto(_address(service, name, solved, other))
        for scheme in ("light", "dark"):
            tab.page.emulate_media(color_scheme=scheme)
            for width, (across, down) in WIDTHS.items():
                tab.page.set_viewport_size({"width": across, "height": down})
                settled(tab.page)
                wide: int = tab.page.evaluate("() => document.documentElement.scrollWidth")
                assert wide <= across, f"{wide} px wide on a {width}: {tab.page.evaluate(STICKS_OUT)}"
                if width != "4k":
                    assert tab.violations() == [], f"{width}, {scheme}"
        assert tab.complaints == []


def test_nothing_that_a_name_or_a_text_holds_is_executed(service: Service, visitor: Visitor) -> None:
    source = f'"""{HOSTILE}"""\n' + "x = 1  # " + "a" * 99_000 + "\n" + SMALL
    problem = {"name": HOSTILE, "source": source, "path": HOSTILE}
    job_id = service.submit(problem=problem, tags=[HOSTILE], budget={"rounds": 1})
    service.ended(job_id)
    for path in ("/", f"/jobs/{job_id}", f"/jobs/{job_id}/trace", f"/submit?from={job_id}"):
        visitor.page.goto(path)
        settled(visitor.page)
        assert visitor.page.locator("img[src=x]").count() == 0
    visitor.page.goto("/")
    visitor.page.get_by_role("link", name=HOSTILE).first.wait_for()


def test_an_experiences_provenance_is_drawn_and_read_as_a_table(
    service: Service, solved: str, visitor: Visitor
) -> None:
    page = visitor.page
    made = service.items("/experiences", job=solved)
    # One that a later round had in its context, or started from, has something on both sides.
    graphs = {one["id"]: service.get(f"/experiences/{one['id']}/provenance") for one in made}
    used, found = next((name, one) for name, one in graphs.items() if any(node["layer"] > 0 for node in one["nodes"]))
    assert {node["kind"] for node in found["nodes"]} == {"experience", "candidate", "job"}
    page.goto(f"/memory/{used}")
    page.get_by_role("heading", name="Lineage").scroll_into_view_if_needed()
    page.locator(f"[data-thing='{used}']").wait_for()
    summary = page.get_by_text("Show as table")
    summary.focus()
    page.keyboard.press("Enter")
    table = page.get_by_role("region", name="Provenance as a table")
    assert table.locator("tbody tr").count() == len(found["nodes"])
    assert visitor.violations() == []
    kernel = next(node for node in found["nodes"] if node["kind"] == "candidate")
    link = table.locator(f"a[href='/candidates/{kernel['id']}']")
    link.focus()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/candidates/{kernel['id']}")


def test_keys_alone_lead_from_search_to_a_job(solved: str, visitor: Visitor) -> None:
    page = visitor.page
    page.goto("/")
    page.locator("[data-row]").first.wait_for()
    page.keyboard.press("/")
    page.keyboard.type("nightly")
    page.wait_for_url("**q=nightly*")
    page.wait_for_function("() => document.querySelectorAll('[data-row]').length === 1")
    page.evaluate("() => document.activeElement.blur()")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/jobs/{solved}")
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Page, action or job").wait_for()
    page.keyboard.type("workers")
    page.keyboard.press("Enter")
    page.wait_for_url("**/workers")


def test_a_report_is_shared_by_a_link_until_it_is_revoked(
    browser: Any, service: Service, solved: str, visitor: Visitor, tmp_path: Path
) -> None:
    page = visitor.page
    page.goto(f"/jobs/{solved}")
    page.get_by_role("button", name="Report").click()
    with page.expect_download() as expected:
        page.get_by_role("menuitem", name="Download HTML").click()
    expected.value.save_as(tmp_path / "report.html")
    assert "Why believe this number" in (tmp_path / "report.html").read_text()
    page.get_by_role("button", name="Report").click()
    page.get_by_role("menuitem", name="Share by link").click()
    page.get_by_role("button", name="Create link").click()
    address = page.get_by_label("Link (shown only once)").input_value()
    page.get_by_role("button", name="Revoke").first.wait_for()
    # The library's dialog has a <header> of its own, which axe takes for a second banner of the page.
    assert [one for one in visitor.violations("[role=dialog]") if not one.startswith("landmark-")] == []
    with visiting(browser, service.address) as stranger:
        stranger.page.goto(address)
        stranger.page.get_by_role("heading", name="Why believe this number").wait_for()
        assert stranger.page.locator("svg").count() == 2
        page.get_by_role("button", name="Revoke").first.click()
        page.get_by_text("Link revoked").wait_for()
        stranger.page.reload()
        stranger.page.get_by_role("heading", name="Link not available").wait_for()
        assert stranger.complaints == []


def test_an_address_is_told_of_a_job_and_the_log_says_so(service: Service, solved: str, visitor: Visitor) -> None:
    page = visitor.page
    page.goto("/webhooks")
    with receiving() as receiver:
        page.get_by_label("URL").fill(f"{receiver.address}/hook")
        page.get_by_role("button", name="Create webhook").click()
        secret = page.get_by_role("textbox", name="Secret").input_value()
        told = page.get_by_role("region", name=f"Webhook {receiver.address}/hook")
        told.get_by_role("button", name="Send test").click()
        told.locator("[data-delivery=delivered]").wait_for()
        assert receiver.came[0].verified(secret)["type"] == "webhook.test"
    assert visitor.violations() == []
    page.reload()
    told.locator("[data-delivery=delivered]").wait_for()
    assert secret not in page.content()


def test_a_job_that_is_deleted_while_it_is_open_is_told_plainly(
    service: Service, solved: str, visitor: Visitor
) -> None:
    job_id = service.submit(budget={"rounds": 1}, tags=["short-lived"])
    service.ended(job_id)
    page = visitor.page
    page.goto(f"/jobs/{job_id}")
    page.locator("[data-best], [data-candidate]").first.wait_for()
    assert httpx.delete(f"{service.address}/api/v1/jobs/{job_id}", timeout=30).is_success
    page.wait_for_timeout(2_500)  # what was just asked for is not asked for again at once
    page.evaluate("() => window.dispatchEvent(new Event('visibilitychange'))")  # as when its tab is looked at again
    page.get_by_text("This job was deleted while you had it open").wait_for()
    page.get_by_role("link", name="Back to jobs").click()
    page.locator(f'a[href="/jobs/{solved}"]').wait_for()
    assert page.locator(f'a[href="/jobs/{job_id}"]').count() == 0


def test_a_filter_is_in_the_address_and_survives_reloading(service: Service, solved: str, visitor: Visitor) -> None:
    page = visitor.page
    page.goto(f"/?status={service.ended(solved)['status']}&tag=nightly")
    page.locator(f'a[href="/jobs/{solved}"]').wait_for()
    page.goto("/?status=failed&tag=nightly")
    page.get_by_text("No matching jobs").wait_for()
    page.reload()
    page.get_by_text("No matching jobs").wait_for()
    page.get_by_role("button", name="Clear filters").click()
    page.locator(f'a[href="/jobs/{solved}"]').wait_for()


def test_a_retry_starts_from_what_was_asked_for_before(service: Service, solved: str, visitor: Visitor) -> None:
    page = visitor.page
    page.goto(f"/jobs/{solved}")
    page.get_by_role("link", name="Retry with changes").click()
    page.locator("[data-check=good]").wait_for()
    page.get_by_label("Rounds").fill("1")
    page.get_by_role("button", name="Submit", exact=True).click()
    page.wait_for_url(re.compile(rf"/jobs/(?!{solved})job-"))
    again = page.url.rpartition("/")[2]
    before, after = service.get(f"/jobs/{solved}/spec"), service.get(f"/jobs/{again}/spec")
    assert after["problem"] == before["problem"]
    assert (after["budget"]["rounds"], after["tags"]) == (1, ["nightly"])


def test_a_clock_that_is_an_hour_off_is_not_believed(browser: Any, service: Service, solved: str) -> None:
    with visiting(browser, service.address) as tab:
        tab.page.clock.install(time="2031-05-05T12:00:00Z")
        tab.page.goto(f"/jobs/{solved}")
        tab.page.get_by_text(re.compile(r"submitted (just now|\d+ (seconds?|minutes?) ago)")).wait_for()


def sign_in(tab: Visitor, token: str) -> None:
    tab.page.get_by_role("textbox", name="Token").fill(token)
    tab.page.get_by_role("button", name="Sign in", exact=True).click()


def test_a_token_is_asked_for_and_a_wrong_one_is_told(browser: Any, tmp_path: Path) -> None:
    with serving(tmp_path, KERNELWRIGHT_TOKEN="let-me-in") as service, visiting(browser, service.address) as tab:
        tab.page.goto("/")
        sign_in(tab, "wrong")
        tab.page.get_by_text("Invalid token. Check it and try again.").wait_for()
        sign_in(tab, "let-me-in")
        tab.page.get_by_text("No jobs yet").wait_for()
        tab.page.get_by_role("dialog").wait_for(state="detached")  # it fades, and its head counts as a second banner
        assert tab.violations() == []


def test_the_api_reference_is_shown_without_any_other_host(service: Service, visitor: Visitor) -> None:
    visitor.page.goto("/docs")
    visitor.page.get_by_text("/api/v1/jobs", exact=True).first.wait_for()


def test_a_line_of_the_source_leads_to_its_instructions(service: Service, solved: str, visitor: Visitor) -> None:
    page = visitor.page
    kernels = [one for one in service.items(f"/jobs/{solved}/candidates") if one["origin"] != "compiler"]
    page.goto(f"/candidates/{kernels[-1]['id']}?tab=machine")
    page.get_by_label("Source of the candidate, linked").wait_for()
    told = page.locator("[data-linked]")
    instruction = page.get_by_label("Machine code of the candidate").locator(".cm-line", has_text="mov").last
    instruction.click()
    page.wait_for_function("() => document.querySelector('[data-linked]').dataset.linked !== ''")
    assert re.search(r"Line \d+: \d+ instructions?\.", told.inner_text())
    assert page.locator(".linked").first.locator(".cm-chosen").count() == 1


def test_a_recorded_prompt_is_sent_again_and_its_kernel_judged_apart_from_the_job(
    service: Service, solved: str, visitor: Visitor
) -> None:
    page = visitor.page
    steps = service.items(f"/jobs/{solved}/steps")
    index = next(step["index"] for step in steps if step["calls"] and step["candidate_id"])
    kernel = service.get(f"/candidates/{service.get(f'/jobs/{solved}')['best_candidate_id']}")["source"]
    usage = {"calls": 1, "input_tokens": 10, "cached_tokens": 0, "output_tokens": 20, "dollars": None}
    reply = {"text": "as asked", "model": "openai:x", "usage": usage, "seconds": 1.5, "stop_reason": "stop"}
    sent: list[Any] = []

    def answer(route: Any) -> None:
        sent.append(route.request.post_data_json)
        route.fulfill(json=reply | {"fault": None, "source": kernel})

    page.route("**/replay", answer)
    page.goto(f"/jobs/{solved}/trace?step={index + 1}")
    page.get_by_role("link", name="Open in playground").first.click()
    page.get_by_text("which does not answer prompts").wait_for()
    assert page.get_by_role("button", name="Send").is_disabled()
    page.get_by_label("user", exact=True).last.fill("Shorter, please.")
    page.get_by_role("combobox", name="Model").fill("openai:x")
    page.get_by_role("button", name="Send").click()
    page.get_by_role("heading", name="Reply").wait_for()
    assert sent[0]["model"] == "openai:x"
    assert sent[0]["messages"][-1]["content"] == "Shorter, please."
    page.get_by_role("button", name="Judge this kernel").click()
    page.get_by_role("link", name="Evaluation").wait_for()
    page.get_by_text(re.compile("accepted|suspicious|rejected")).wait_for()
    assert service.items(f"/jobs/{solved}/steps") == steps
    page.unroute("**/replay")
    page.get_by_role("combobox", name="Model").fill("no-such-model")
    page.get_by_role("button", name="Send").click()
    page.get_by_text("unknown model 'no-such-model'").wait_for()


def test_the_form_starts_with_the_default_strategy_and_explains_it(visitor: Visitor) -> None:
    page = visitor.page
    page.goto("/submit")
    page.locator("[data-strategy=greedy]").wait_for()
    page.get_by_role("button", name="Advanced options").click()
    assert page.get_by_label("Beam").input_value() == "1"
    assert page.get_by_label("Priority").input_value() == "0"


def test_a_page_of_nothing_names_what_was_not_found(visitor: Visitor) -> None:
    page = visitor.page
    page.goto("/jobs/job-none")
    page.get_by_role("heading", name="Job not found").wait_for()
    page.get_by_text("No job with id job-none").wait_for()
    page.get_by_role("link", name="Back to jobs").click()
    page.get_by_role("heading", name="Jobs", exact=True).wait_for()


def test_scripts_come_from_the_server_alone(service: Service) -> None:
    answer = httpx.get(service.address, timeout=10)
    policy = answer.headers["content-security-policy"]
    assert "script-src 'self'" in policy
    assert "'unsafe-inline'" not in policy.partition("script-src")[2].partition(";")[0]
    assert not re.search(r"<script(?![^>]*\bsrc=)", answer.text)
    asset = re.search(r'src="(/assets/[^"]+\.js)"', answer.text)
    assert asset is not None
    kept = httpx.get(service.address + asset[1], timeout=10).headers["cache-control"]
    assert "immutable" in kept
