"""Every ratio on every page is that of the shown medians, or the page says why not; nothing on a page is left out."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.browsing import Service, Visitor, settled, visiting
from tests.e2e.recordings import JOBS, RECORDED, answer, job
from tests.e2e.shown_ratios import ShownRatio, reason_of, reasoned, shown_ratios
from tests.selection import with_full

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(400), pytest.mark.filterwarnings("ignore::ResourceWarning")]
ROUNDING = 0.01
"""Medians are shown with three digits: ratios of what is shown may be off by so much."""
BASELINES = {"eager": "eager", "compile": "torch.compile", "compile_max": "max-autotune"}
NAMED = {
    "vs the fastest baseline": "best_baseline",
    "Speedup": "best_baseline",
    "vs eager": "eager",
    "× eager": "eager",
    "vs torch.compile": "compile",
    "× compile": "compile",
    "vs the seed": "seed",
}
"""Figures that the name beside them says what they are of."""
SUITES = ("first", "second")
SUMMARIES = {"geometric mean", "Geometric mean", "Ratio"}


@pytest.fixture
def visitor(browser: Any, service: Service) -> Iterator[Visitor]:
    """A tab that is told the recorded jobs, and that each is of one of two suites."""
    listed = [job(name) | {"tags": [SUITES[number % 2]]} for number, name in enumerate(JOBS)]
    with visiting(browser, service.address, viewport={"width": 1440, "height": 6000}) as tab:
        tab.page.route("**/api/v1/**", answer)
        tab.page.route("**/api/v1/jobs?**", lambda route: route.fulfill(json={"items": listed, "next_cursor": None}))
        yield tab
        assert tab.complaints == []


def _candidates(job_id: str) -> dict[str, dict[str, Any]]:
    return {one["id"]: one for one in RECORDED[f"/api/v1/jobs/{job_id}/candidates"]}


OWNERS = {name: one for job_id in JOBS for name, one in _candidates(job_id).items()}
OWNERS |= {job_id: OWNERS[job(job_id)["best_candidate_id"]] for job_id in JOBS}
"""Whose a ratio can be: a candidate, or a job's best."""


def _of_medians(measured: dict[str, Any]) -> dict[str, float]:
    own, medians = measured["median_us"], measured["baselines_us"] or {}
    return {name: us / own for name, us in medians.items() if own and us}


def _differing(measured: dict[str, Any]) -> dict[str, float]:
    """Baselines over which the speedup is not the ratio of the medians, with what those give."""
    shown = measured["speedup"] or {}
    plain = _of_medians(measured)
    return {name: plain[name] for name in plain if shown.get(name) and abs(plain[name] / shown[name] - 1) > ROUNDING}


def _figures(one: ShownRatio, measured: dict[str, Any]) -> list[float]:
    """What a ratio may be: by its name where that says, else any figure of its owner."""
    speedup = measured["speedup"] or {}
    shapes = [shape["speedup"] for shape in (measured.get("report") or {}).get("shapes", [])]
    if one.region == "Latency per shape":
        return [figure for shape in shapes for figure in (shape["best_baseline"], *(shape["ci95"] or ()))]
    if one.kind == "fell":
        return [
            each["speedup"]["best_baseline"] for each in _candidates(measured["job_id"]).values() if each["speedup"]
        ]
    bounds = list(speedup.get("ci95") or ())
    if one.name == "95 % interval":
        return bounds
    if one.name == "Ratio of medians":
        return list(_of_medians(measured).values())
    if one.name in NAMED and one.region != "Latencies":
        return [speedup[NAMED[one.name]]]
    return [*bounds, *(value for key, value in speedup.items() if value and not key.endswith("ci95"))]


def _agrees(page: Any, itself: str) -> list[ShownRatio]:
    """Check every ratio of a page that belongs to a job or a candidate; `itself` owns those of no row."""
    found = [one for one in shown_ratios(page) if one.name not in SUMMARIES and (one.value, one.digits) != (1, 0)]
    for one in found:
        owner = one.owner or itself
        assert owner in OWNERS, f"nobody's: {one}"
        measured = RECORDED.get(f"/api/v1/candidates/{owner}") or OWNERS[owner]
        assert any(one.is_of(figure) for figure in _figures(one, measured) if figure is not None), (
            one,
            _figures(one, measured),
        )
    return found


@pytest.mark.parametrize("job_id", with_full(JOBS, JOBS[::10]))
def test_a_job_shows_no_ratio_that_its_medians_contradict(visitor: Visitor, job_id: str) -> None:
    page = visitor.page
    page.goto(f"/jobs/{job_id}")
    page.get_by_role("region", name="Best kernel").wait_for()
    page.locator(".react-flow__node").first.wait_for()
    settled(page)
    found = _agrees(page, job_id)
    listed = {one.owner for one in found if one.region == "Candidates"}
    measured = {name for name, one in _candidates(job_id).items() if (one["speedup"] or {}).get("best_baseline")}
    assert listed == measured
    assert {one.owner for one in found} >= {job(job_id)["best_candidate_id"]}
    table = page.get_by_role("table", name="Candidates").locator("xpath=..").locator("[data-note=ratio]")
    assert table.count() == int(any(map(_differing, _candidates(job_id).values())))
    told = reasoned(reason_of(page))
    best = _differing(OWNERS[job_id])
    expected = {
        BASELINES[name]: pytest.approx(ratio, abs=0.051 if ratio >= 10 else 0.0051) for name, ratio in best.items()
    }
    assert told == expected


@pytest.mark.parametrize("job_id", with_full(JOBS, JOBS[::10]))
def test_a_kernel_shows_no_ratio_that_its_medians_contradict(visitor: Visitor, job_id: str) -> None:
    page, best = visitor.page, job(job_id)["best_candidate_id"]
    page.goto(f"/candidates/{best}?tab=evidence")
    page.get_by_role("region", name="Latencies").wait_for()
    settled(page)
    found = _agrees(page, best)
    assert {"vs the fastest baseline", "95 % interval", "Speedup", "Ratio of medians"} <= {one.name for one in found}
    told = reasoned(reason_of(page))
    assert set(told) == {BASELINES[name] for name in _differing(OWNERS[best])}


def test_the_list_of_jobs_shows_each_jobs_own_figure(visitor: Visitor) -> None:
    page = visitor.page
    page.goto("/?group=problem")
    page.locator("[data-row]").first.wait_for()
    settled(page)
    heads = [one for one in shown_ratios(page) if "best" in one.text]
    assert len(heads) == len({job(name)["problem"] for name in JOBS})
    best = {
        problem: max(job(name)["best_speedup"] for name in JOBS if job(name)["problem"] == problem)
        for problem in {job(name)["problem"] for name in JOBS}
    }
    for head in heads:
        assert any(head.is_of(figure) for problem, figure in best.items() if problem in head.row), head
    page.goto("/")
    page.locator("[data-row]").first.wait_for()
    settled(page)
    assert {one.owner for one in _agrees(page, "")} == set(JOBS)


def test_the_leaderboard_ranks_by_the_figures_that_jobs_show(visitor: Visitor) -> None:
    page = visitor.page
    page.goto("/leaderboard")
    page.get_by_role("region", name="Results by problem").wait_for()
    settled(page)
    assert {one.owner for one in _agrees(page, "")} == set(JOBS)
    _summaries_follow(page, JOBS)


def test_a_suite_beside_another_shows_the_ratio_of_the_two_figures_beside_it(visitor: Visitor) -> None:
    page = visitor.page
    page.goto(f"/leaderboard?tag={SUITES[0]}&beside={SUITES[1]}")
    rows = page.get_by_role("region", name="Two suites compared").locator("tbody tr")
    rows.first.wait_for()
    settled(page)
    _agrees(page, "")
    _summaries_follow(page, JOBS[0::2])
    pairs = 0
    for row in rows.all():
        one, other, ratio = (text.rstrip("×") for text in row.locator("td.figure").all_inner_texts())
        if "–" in (one, other):
            assert ratio == "–"
            continue
        pairs += 1
        assert float(ratio) == pytest.approx(float(one) / float(other), rel=ROUNDING, abs=0.0051)
        links = [link.get_attribute("href") for link in row.locator("a").all()]
        assert all(link and link.rpartition("/")[2] in JOBS for link in links)
    assert pairs


def _summaries_follow(page: Any, jobs: list[str]) -> None:
    """The geometric means are those of the jobs that the page shows."""
    means = [one for one in shown_ratios(page) if one.name.lower() == "geometric mean"]
    families = {(job(name)["analysis"] or {}).get("family") for name in jobs}
    groups = [jobs, *([one for one in jobs if job(one)["analysis"]["family"] == family] for family in families)]
    expected = [math.exp(sum(math.log(job(one)["best_speedup"]) for one in group) / len(group)) for group in groups]
    assert len(means) == len(expected)
    assert means[0].is_of(expected[0])
    assert all(any(mean.is_of(figure) for figure in expected) for mean in means)


@pytest.mark.parametrize("chosen", [JOBS[:10], JOBS[10:]], ids=["first ten", "last ten"])
def test_compared_jobs_show_their_own_figures(visitor: Visitor, chosen: list[str]) -> None:
    page = visitor.page
    page.goto("/compare?" + "&".join(f"job={one}" for one in chosen))
    page.get_by_role("region", name="Progress").locator("canvas").wait_for()
    settled(page)
    found = [one for one in shown_ratios(page) if (one.value, one.digits) != (1, 0)]
    label = [one for one in found if one.kind == "label"]
    assert len(label) == len(chosen)
    for one, job_id in zip(label, chosen, strict=True):
        assert one.is_of(job(job_id)["best_speedup"]), (one, job_id)
    rows = [one for one in found if one.kind == "text"]
    assert {one.owner for one in rows} == set(chosen)
    for one in rows:
        figures = [job(one.owner)["best_speedup"], *(job(one.owner)["best_ci95"] or ())]
        assert any(one.is_of(figure) for figure in figures), (one, figures)
