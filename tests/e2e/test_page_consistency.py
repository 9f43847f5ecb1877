"""What pages show agrees with itself: recorded jobs, and lists and kernels of a size that nobody submits here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.e2e.browsing import Service, Visitor, settled, visiting
from tests.e2e.recordings import JOBS, RECORDED, answer, events_behind
from tests.selection import with_full

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(400), pytest.mark.filterwarnings("ignore::ResourceWarning")]
MICROS = {"µs": 1.0, "ms": 1e3, "s": 1e6}
ROUNDING = 0.012
"""Medians are shown with three digits, ratios with two decimals: so far may a ratio of shown medians be off."""


@pytest.fixture
def visitor(browser: Any, service: Service) -> Iterator[Visitor]:
    """A tab that is told what was recorded, and of everything else what the service says."""
    with visiting(browser, service.address, viewport={"width": 1440, "height": 900}) as tab:
        tab.page.route("**/api/v1/**", answer)
        yield tab
        assert tab.complaints == []


def shown_us(text: str) -> float:
    value, unit = text.split()
    return float(value) * MICROS[unit]


def shown_ratio(text: str) -> float:
    found = re.search(r"([\d.]+)×", text)
    assert found, text
    return float(found[1])


def agrees(shown: float, medians: float) -> bool:
    return abs(medians / shown - 1) <= ROUNDING + 0.006 / shown


def test_twenty_jobs_are_recorded() -> None:
    assert len(JOBS) >= 20


@pytest.mark.parametrize("job_id", with_full(JOBS, JOBS[::10]))
def test_every_ratio_is_that_of_the_shown_medians_or_says_why_not(visitor: Visitor, job_id: str) -> None:
    page = visitor.page
    page.goto(f"/jobs/{job_id}")
    card = page.get_by_role("region", name="Best kernel")
    card.wait_for()
    figures = card.locator(".figures > div").all_inner_texts()
    named = {name: value for value, name in (re.split(r"\n+", text, maxsplit=1) for text in figures)}
    own = shown_us(named["median latency"])
    for name in ("eager", "torch.compile"):
        if f"vs {name}" not in named:
            continue
        shown, medians = shown_ratio(named[f"vs {name}"]), shown_us(named[f"{name} median"]) / own
        note = card.locator("[data-note=ratio]")
        reason = note.inner_text() if note.count() else ""
        assert agrees(shown, medians) or f"({name})" in reason, (name, shown, medians, reason)
        told = re.search(rf"([\d.]+)× \({re.escape(name)}\)", reason)
        assert told is None or agrees(float(told[1]), medians), (name, medians, reason)
    _evidence_agrees(page, RECORDED[f"/api/v1/jobs/{job_id}"]["best_candidate_id"], named)


def _evidence_agrees(page: Any, candidate_id: str, named: dict[str, str]) -> None:
    """The same figures as on the job's page, and its table follows from its own medians."""
    page.goto(f"/candidates/{candidate_id}?tab=evidence")
    rows = page.get_by_role("region", name="Latencies").locator("tr[data-variant]")
    rows.first.wait_for()
    own = shown_us(page.locator("tr[data-variant='this kernel'] [data-median]").inner_text())
    assert own == shown_us(named["median latency"])
    best = page.locator(".figures > div", has_text="vs the fastest baseline").inner_text()
    assert shown_ratio(best) == shown_ratio(named["vs the fastest baseline"])
    note = page.locator("[data-note=ratio]")
    for row in rows.all():
        if row.get_attribute("data-variant") == "this kernel":
            continue
        medians = shown_us(row.locator("[data-median]").inner_text()) / own
        assert agrees(shown_ratio(row.locator("[data-of-medians]").inner_text()), medians)
        shown = shown_ratio(row.locator("[data-speedup]").inner_text())
        assert agrees(shown, medians) or note.count() == 1, (shown, medians)


def _many(count: int) -> list[dict[str, Any]]:
    first = RECORDED[f"/api/v1/jobs/{JOBS[0]}"]
    return [
        first
        | {
            "id": f"job-{number:020d}",
            "problem": f"problem {number % 97}",
            "best_speedup": (number * 7919 % 1000) / 100 + 0.1,
            "created_at": f"2026-01-01T{number // 3600 % 24:02d}:{number // 60 % 60:02d}:{number % 60:02d}Z",
        }
        for number in range(count, 0, -1)
    ]


@pytest.mark.full
def test_ten_thousand_jobs_are_sorted_and_grouped_without_drawing_them_all(visitor: Visitor) -> None:
    jobs, page = _many(10_000), visitor.page

    def pages(route: Any) -> None:
        asked = parse_qs(urlsplit(route.request.url).query)
        start = int(asked.get("cursor", ["0"])[0])
        end = start + int(asked["limit"][0])
        route.fulfill(json={"items": jobs[start:end], "next_cursor": str(end) if end < len(jobs) else None})

    page.route("**/api/v1/jobs?**", pages)
    page.goto("/")
    page.get_by_text("the newest 200 jobs").wait_for()
    page.get_by_role("button", name="Speedup").click()
    page.wait_for_url("**sort=-speedup*")
    page.get_by_text("10,000 jobs", exact=True).wait_for()
    assert page.get_by_role("cell", name=re.compile("10.1×")).count() > 1
    assert page.locator("[data-row]").count() < 120
    page.keyboard.press("End")
    page.goto("/?sort=-speedup&group=problem")
    page.get_by_text("10,000 jobs", exact=True).wait_for()
    page.get_by_role("button", name="problem 1", exact=True).click()
    assert page.get_by_role("button", name="problem 1", exact=True).get_attribute("aria-expanded") == "false"
    page.get_by_role("button", name="problem 2", exact=True).wait_for()
    assert visitor.violations() == []


def test_a_view_is_saved_and_opened_again(visitor: Visitor) -> None:
    page, jobs = visitor.page, _many(3)
    page.route("**/api/v1/jobs?**", lambda route: route.fulfill(json={"items": jobs, "next_cursor": None}))
    page.goto("/?columns=speedup,strategy&sort=problem")
    page.get_by_role("columnheader", name="Strategy").wait_for()
    page.get_by_role("button", name="Views").click()
    page.get_by_label("Name of the view").fill("by strategy")
    page.get_by_role("button", name="Save").click()
    page.goto("/")
    page.get_by_role("columnheader", name="Model").wait_for()
    page.get_by_role("button", name="Views (1)").click()
    page.get_by_role("menuitem", name="by strategy").click()
    page.wait_for_url("**columns=speedup*")
    page.get_by_role("columnheader", name="Strategy").wait_for()
    assert page.get_by_role("columnheader", name="Model").count() == 0


KEEPS_NOTHING = """for (const name of ["localStorage", "sessionStorage", "indexedDB"])
    Object.defineProperty(window, name, {get() { throw new DOMException("no", "SecurityError") }})"""
"""What a browser does that blocks third-party storage where the page is inside another site's."""
BEST = RECORDED[f"/api/v1/jobs/{JOBS[0]}"]["best_candidate_id"]


def test_a_browser_that_keeps_nothing_still_shows_the_list(visitor: Visitor) -> None:
    page, jobs = visitor.page, _many(3)
    page.route("**/api/v1/jobs?**", lambda route: route.fulfill(json={"items": jobs, "next_cursor": None}))
    page.add_init_script(KEEPS_NOTHING)
    page.goto("/")
    page.get_by_role("button", name="Views").click()
    page.get_by_label("Name of the view").fill("mine")
    page.get_by_role("button", name="Save").click()
    page.get_by_text("This browser keeps nothing for this site").wait_for()
    page.get_by_role("button", name="Views (1)").wait_for()


PAGES: dict[str, str | None] = {
    "/": "Jobs",
    "/submit": "Submit",
    "/leaderboard": "Leaderboard",
    f"/jobs/{JOBS[0]}": None,
    f"/compare?job={JOBS[0]}&job={JOBS[1]}": "Compare",
    **{f"/candidates/{BEST}?tab={tab}": None for tab in ("source", "diff", "gates", "evidence", "profile")},
    "/memory": "Memory",
    "/workers": "Workers",
    "/webhooks": "Webhooks",
    "/team": "Team",
}
"""Pages, each with its heading."""


@pytest.mark.parametrize("address", with_full(PAGES, [*PAGES][::5]))
def test_a_browser_that_keeps_nothing_shows_every_page(visitor: Visitor, address: str) -> None:
    page, kernel = visitor.page, RECORDED[f"/api/v1/candidates/{BEST}"]
    parent = kernel | {"id": kernel["parent_id"], "source": "import torch\n"}  # was not recorded
    page.route(f"**/api/v1/candidates/{parent['id']}", lambda route: route.fulfill(json=parent))
    page.add_init_script(KEEPS_NOTHING)
    page.goto(address)
    settled(page)
    title = page.get_by_role("heading", level=1)
    title.wait_for()
    heading = PAGES[address]
    assert heading is None or heading in title.inner_text()
    assert page.locator("main [role=alert]").all_inner_texts() == []


def test_a_token_lasts_as_long_as_the_page_where_the_browser_keeps_nothing(visitor: Visitor) -> None:
    page = visitor.page
    page.add_init_script(KEEPS_NOTHING)

    def guarded(route: Any) -> None:
        if route.request.headers.get("authorization") == "Bearer kw_typed":
            answer(route)
        else:
            route.fulfill(status=401, json={"type": "about:blank", "title": "Unauthorized", "status": 401})

    page.route("**/api/v1/**", guarded)
    page.goto(f"/jobs/{JOBS[0]}")
    page.get_by_label("Token", exact=False).first.fill("kw_typed")
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("region", name="Best kernel").wait_for()


def test_a_kernel_of_a_hundred_thousand_lines_is_read_and_left_again(visitor: Visitor) -> None:
    best = RECORDED[f"/api/v1/jobs/{JOBS[0]}"]["best_candidate_id"]
    lines = "".join(f"    x[{number}] += {number}.0f;\n" for number in range(100_000))
    source = 'SOURCE = r"""\n#include <math.h>\nextern "C" void k(float* x) {\n' + lines + '}\n"""\n'
    huge = RECORDED[f"/api/v1/candidates/{best}"] | {"source": source}
    page = visitor.page
    page.route(f"**/api/v1/candidates/{best}", lambda route: route.fulfill(json=huge))
    page.goto(f"/candidates/{best}")
    page.locator(".cm-content", has_text="#include").wait_for()
    assert page.locator(".cm-line").count() < 500
    page.get_by_role("tab", name="Gates").click()
    page.get_by_role("region", name="Gate correctness").wait_for()


def test_charts_are_drawn_in_a_browser_without_webgl(visitor: Visitor) -> None:
    page = visitor.page
    page.add_init_script(
        "const given = HTMLCanvasElement.prototype.getContext;"
        "HTMLCanvasElement.prototype.getContext = function (kind, ...more) {"
        "  return kind.includes('gl') ? null : given.call(this, kind, ...more) }"
    )
    page.goto(f"/jobs/{JOBS[0]}")
    page.get_by_role("region", name="Speedup over time").locator("canvas").wait_for()
    roofline = page.get_by_role("region", name="Roofline")
    roofline.scroll_into_view_if_needed()  # charts are drawn when they come into sight
    roofline.locator("canvas").wait_for()
    page.locator(".react-flow__node").first.wait_for()


def test_a_stream_that_a_proxy_holds_back_is_polled_instead(visitor: Visitor) -> None:
    page, log = visitor.page, RECORDED[f"/api/v1/jobs/{JOBS[0]}/log"]
    known = [log[:-1]]
    page.route(f"**/jobs/{JOBS[0]}/log?**", lambda route: route.fulfill(json=events_behind(route, known[0])))
    page.route(f"**/jobs/{JOBS[0]}/events", lambda route: None)  # neither head nor body ever comes through
    page.goto(f"/jobs/{JOBS[0]}")
    page.locator("[data-connection=polling]").wait_for()
    known[0] = log
    page.locator("[data-connection=ended]").wait_for(state="attached")
    assert page.locator("[data-connection]").get_attribute("data-seq") == str(log[-1]["seq"])


HOLDS_BODIES = """const given = window.fetch
const held = signal => new ReadableStream({
    start: body => signal.addEventListener("abort", () => body.error(signal.reason))
})
window.fetch = (path, options) => String(path).endsWith("/events")
    ? Promise.resolve(new Response(held(options.signal), {headers: {"Content-Type": "text/event-stream"}}))
    : given(path, options)"""
"""As a proxy that buffers: the head of a stream comes, its body does not until somebody gives up."""


def test_a_stream_whose_head_comes_and_whose_body_is_held_back_is_polled_and_never_called_live(
    visitor: Visitor,
) -> None:
    page, log = visitor.page, RECORDED[f"/api/v1/jobs/{JOBS[0]}/log"]
    known = [log[:-1]]
    seen: list[str | None] = []
    page.route(f"**/jobs/{JOBS[0]}/log?**", lambda route: route.fulfill(json=events_behind(route, known[0])))
    page.add_init_script(HOLDS_BODIES)
    page.goto(f"/jobs/{JOBS[0]}")
    connection = page.locator("[data-connection]")
    connection.wait_for(state="attached")
    while not seen or seen[-1] != "polling":
        seen.append(connection.get_attribute("data-connection"))
        page.wait_for_timeout(200)
        assert len(seen) < 150, seen
    assert "live" not in seen
    known[0] = log
    page.locator("[data-connection=ended]").wait_for(state="attached")
    assert connection.get_attribute("data-seq") == str(log[-1]["seq"])


def test_tables_are_lists_on_a_phone(visitor: Visitor) -> None:
    page = visitor.page
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"/candidates/{RECORDED[f'/api/v1/jobs/{JOBS[0]}']['best_candidate_id']}?tab=evidence")
    latencies = page.get_by_role("region", name="Latencies")
    latencies.locator("tr[data-variant]").first.wait_for()
    assert latencies.evaluate("one => one.scrollWidth <= one.clientWidth")
    assert latencies.locator("[data-median]").first.get_attribute("data-name") == "Median"
    page.get_by_role("tab", name="Why believe this number").wait_for()
    assert page.get_by_role("tab", selected=True).evaluate("one => one.getBoundingClientRect().right <= 390")
    page.goto(f"/jobs/{JOBS[0]}")
    candidates = page.get_by_role("table", name="Candidates")
    candidates.locator("[data-candidate]").first.wait_for()
    assert candidates.evaluate("one => one.scrollWidth <= one.clientWidth")
    assert visitor.violations() == []
