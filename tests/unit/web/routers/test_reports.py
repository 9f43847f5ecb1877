"""A job's report as one page, and links that show it to whoever has them."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from services.domain.candidates import Candidate, EvaluatedCandidate, Origin, candidate_id
from services.domain.digests import CandidateDigest, digest_candidate
from services.domain.evaluations import EvaluationReport, Tuned, Verdict
from services.domain.gates import GateName
from services.domain.jobs import JobSpec, JobStatus
from services.domain.measurements import Speedup
from services.exports import pictures
from services.exports.report_links import ShareService
from services.exports.static_report import QUESTIONS, static_report
from tests.doubles import FrozenClock, InMemoryShareStore, a_candidate, a_job, a_problem, a_report
from tests.unit.web.test_app import Installation, assert_problem

HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>\"'`</pre></title>{{7*7}}"


class Page(HTMLParser):
    """What a browser would make of a page: its elements and all text outside of `style`."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._styling = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._styling = tag == "style"

    def handle_endtag(self, tag: str) -> None:
        self._styling = False

    def handle_data(self, data: str) -> None:
        if not self._styling:
            self.text += data

    def assert_harmless(self) -> None:
        """Nothing that runs, loads or leads anywhere."""
        for tag, attributes in self.tags:
            assert tag not in {
                "script",
                "img",
                "iframe",
                "object",
                "embed",
                "link",
                "form",
                "base",
                "a",
                "foreignobject",
            }
            for name in attributes:
                assert not name.startswith("on")
                assert name not in {"src", "href", "action", "style", "xlink:href"}


def judged(step: int, report: EvaluationReport | None, parent: int | None = None, **fields: Any) -> EvaluatedCandidate:
    found = replace(
        a_candidate(step=step), parent_id=None if parent is None else candidate_id("job-1", parent), **fields
    )
    return EvaluatedCandidate(candidate=found, report=report)


def a_page(*entries: EvaluatedCandidate, name: str = "relu", status: JobStatus = JobStatus.SOLVED) -> str:
    accepted = [entry for entry in entries if entry.report is not None and entry.report.accepted]
    best = accepted[-1] if accepted else None
    job = replace(
        a_job(spec=JobSpec(problem=a_problem(name=name)), status=status),
        best_candidate_id=best.candidate.id if best else None,
    )
    return static_report(job, [digest_candidate(entry) for entry in entries], best)


def test_the_page_says_why_to_believe_its_number_with_gates_pictures_and_source() -> None:
    first, second = (
        judged(0, a_report(median_us=150.0)),
        judged(1, a_report(median_us=100.0), 0, source="class ModelNew: 2\n"),
    )
    page = Page(a_page(first, second))
    assert "The 95 % interval of that ratio is 1.94× to 2.06×, all of it above 1×: the kernel is faster." in page.text
    assert "100 calls, fresh inputs each" in page.text
    for gate in GateName:
        assert QUESTIONS[gate.value] in page.text
    assert "class ModelNew: 2" in page.text
    assert "Test CPU" in page.text
    assert sum(tag == "rect" for tag, _ in page.tags) == 2
    assert sum(tag == "circle" for tag, _ in page.tags) == 2
    assert sum(tag == "svg" for tag, _ in page.tags) == 2
    page.assert_harmless()


def test_the_page_says_where_a_verdict_rests_on_the_problems_own_word() -> None:
    report = a_report()
    loose = "the problem's TOLERANCE is looser than the referee's for float32 (0.05, 0.05)"
    assert "Self-attested" not in a_page(judged(0, report))
    assert "TOLERANCE is looser" in a_page(judged(0, replace(report, self_attested=loose)))


def test_a_ratio_that_is_not_that_of_the_shown_medians_carries_its_reason() -> None:
    plain = a_page(judged(0, a_report(median_us=100.0, eager_us=200.0)))
    assert "data-note" not in plain
    found = a_report(median_us=100.0, eager_us=200.0)
    drifted = replace(found, speedup=Speedup(eager=1.7, best_baseline=1.7, ci95=(1.6, 1.8)))
    text = a_page(judged(0, drifted))
    assert "the medians alone give 2.00× (eager)." in text
    row = text[text.index('data-variant="eager"') :]
    assert re.findall(r"([\d.]+)×", row[: row.index("</tr>")]) == ["1.70", "2.00"]


@pytest.mark.parametrize(
    ("ci95", "words"),
    [
        ((1.1, 1.3), "all of it above 1×: the kernel is faster."),
        ((0.9, 1.3), "which includes 1×: the difference is within noise."),
        ((1.0, 1.3), "which includes 1×: the difference is within noise."),
        ((0.7, 0.9), "all of it below 1×: the kernel is slower."),
    ],
)
def test_the_page_says_what_the_interval_means(ci95: tuple[float, float], words: str) -> None:
    found = replace(a_report(), speedup=Speedup(eager=1.0, best_baseline=1.0, ci95=ci95))
    assert words in a_page(judged(0, found))


def test_nothing_that_people_models_or_compilers_wrote_becomes_markup() -> None:
    report = a_report(Verdict.SUSPICIOUS, detail=HOSTILE)
    best = replace(a_report(detail=HOSTILE), tuned=Tuned(parameters={HOSTILE: HOSTILE}, tried=2))
    environment = replace(best.environment, device=HOSTILE, cpu=HOSTILE, toolkit=HOSTILE, isolation=HOSTILE)
    best = replace(best, environment=environment, gates=tuple(replace(gate, detail=HOSTILE) for gate in best.gates))
    source = f"# {HOSTILE}\nclass ModelNew: ...\n"
    text = a_page(judged(0, report, summary=HOSTILE), judged(1, best, 0, summary=HOSTILE, source=source), name=HOSTILE)
    page = Page(text)
    page.assert_harmless()
    assert page.text.count(HOSTILE) >= 10
    assert "49" not in re.sub(r"\d*\.\d+|\d{3,}", "", page.text).replace("7*7", "")


def test_a_job_without_an_accepted_kernel_says_so_and_shows_what_was_tried() -> None:
    page = Page(a_page(judged(0, a_report(Verdict.REJECTED)), judged(1, None), status=JobStatus.UNSOLVED))
    assert "No kernel was accepted" in page.text
    assert "correctness" in page.text
    assert "not judged" in page.text
    assert "Candidates (2)" in page.text


def test_a_job_that_made_nothing_has_a_page() -> None:
    assert "No candidates" in Page(a_page(status=JobStatus.REFUSED)).text


def test_the_same_job_gives_the_same_bytes() -> None:
    assert a_page(judged(0, a_report())) == a_page(judged(0, a_report()))


def test_a_tree_of_a_thousand_puts_parents_above_the_middle_of_their_children() -> None:
    chain = [judged(step, a_report(), step - 1 if step else None) for step in range(998)]
    leaves = [judged(step, a_report(), 997) for step in (998, 999)]
    tree = pictures.descent([digest_candidate(entry) for entry in [*chain, *leaves]], None)
    boxes = {box.candidate.step: box for box in tree.boxes}
    assert len(tree.edges) == 999
    assert boxes[997].x == (boxes[998].x + boxes[999].x) / 2
    assert boxes[998].y == boxes[999].y > boxes[997].y
    assert boxes[998].x != boxes[999].x


def test_rows_that_are_their_own_ancestors_do_not_end_the_page() -> None:
    def row(step: int, parent: int) -> CandidateDigest:
        found: Candidate = replace(a_candidate(step=step), parent_id=candidate_id("job-1", parent))
        return digest_candidate(EvaluatedCandidate(candidate=found, report=None))

    assert len(pictures.descent([row(0, 1), row(1, 0), row(2, 2)], None).boxes) == 3


def test_the_best_so_far_never_falls_while_the_search_goes_on() -> None:
    plot = pictures.speedups(
        [digest_candidate(judged(step, a_report(median_us=us))) for step, us in enumerate((100, 300, 50))]
    )
    assert plot is not None
    heights = [float(pair.split(",")[1]) for pair in plot.best.split()]
    assert heights == sorted(heights, reverse=True)
    assert len(plot.points) == 3
    assert pictures.speedups([digest_candidate(judged(0, a_report(Verdict.REJECTED)))]) is None


def test_the_best_falls_to_what_held_when_it_was_measured_again() -> None:
    rows = [judged(step, a_report(median_us=us)) for step, us in enumerate((100, 50))]
    parent, again = candidate_id("job-1", 1), a_candidate(step=2)
    confirmation = replace(again, parent_id=parent, origin=Origin.CONFIRMATION)

    def heights(report: EvaluationReport) -> list[float]:
        last = EvaluatedCandidate(candidate=confirmation, report=report)
        plot = pictures.speedups([digest_candidate(entry) for entry in (*rows, last)])
        assert plot is not None
        return [float(pair.split(",")[1]) for pair in plot.best.split()]

    slower, refused = heights(a_report(median_us=80)), heights(a_report(Verdict.REJECTED))
    assert slower[0] > slower[-1] > slower[2]  # pixels grow downwards
    assert refused[0] == refused[-1] > refused[2]


class Office(Installation):
    """An installation that shares reports."""

    def __init__(self, runtime: Path, **settings: object) -> None:
        super().__init__(runtime, **settings)
        self.clock = self.database.clock
        assert isinstance(self.clock, FrozenClock)
        shares = ShareService(InMemoryShareStore(self.clock), self.services.jobs, self.services.exporter, self.clock)
        complete = replace(self.services, shares=shares)
        self.client._transport.app.state.services = complete  # type: ignore[attr-defined]


@pytest.fixture
def office(tmp_path: Path) -> Office:
    runtime = tmp_path / "kernelwright_rt.py"
    runtime.write_text("")
    return Office(runtime, token="let-me-in")


SIGNED_IN = {"Authorization": "Bearer let-me-in"}
HERE = "http://127.0.0.1:8000"


async def a_link(office: Office, **body: float) -> tuple[str, dict[str, str]]:
    office.client.headers.update(SIGNED_IN)
    job_id = await office.submit()
    await office.solve(job_id, "class ModelNew: 'mine'\n")
    made = await office.client.post(f"/jobs/{job_id}/shares", json=body)
    assert made.status_code == 201, made.text
    office.client.headers.pop("Authorization")
    return job_id, made.json()


async def test_a_link_shows_its_jobs_report_without_signing_in_and_opens_nothing_else(office: Office) -> None:
    job_id, link = await a_link(office)
    shown = await office.client.get(HERE + link["path"])
    assert shown.status_code == 200
    assert "class ModelNew: &#39;mine&#39;" in shown.text
    policy = shown.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert "script-src" not in policy
    assert (shown.headers["cache-control"], shown.headers["referrer-policy"]) == ("no-store", "no-referrer")
    assert "set-cookie" not in shown.headers
    token = link["path"].rpartition("/")[2]
    for path in (f"/jobs/{job_id}", f"/jobs/{job_id}/report", f"/jobs/{job_id}/shares"):
        assert_problem(await office.client.get(path, headers={"Authorization": f"Bearer {token}"}), 401)


async def test_the_address_of_a_link_is_told_once(office: Office) -> None:
    job_id, link = await a_link(office)
    token = link["path"].rpartition("/")[2]
    assert len(token) >= 43
    listed = await office.client.get(f"/jobs/{job_id}/shares", headers=SIGNED_IN)
    assert [share["id"] for share in listed.json()["items"]] == [link["id"]]
    assert token not in listed.text


async def test_a_revoked_an_expired_and_a_wrong_link_show_the_same_nothing(office: Office) -> None:
    job_id, link = await a_link(office)
    _, short = await a_link(office, days=0.5)
    revoked = await office.client.delete(f"/jobs/{job_id}/shares/{link['id']}", headers=SIGNED_IN)
    assert revoked.json()["revoked_at"] is not None
    assert isinstance(office.clock, FrozenClock)
    office.clock.advance(0.6 * 86_400)
    answers = [
        await office.client.get(HERE + path)
        for path in (link["path"], short["path"], "/shared/guess", short["path"][:-1])
    ]
    assert {answer.status_code for answer in answers} == {404}
    assert len({answer.text for answer in answers}) == 1
    page = Page(answers[0].text)
    page.assert_harmless()
    assert "Link not available" in page.text
    assert "Ask for a new one" in page.text
    assert answers[0].headers["content-type"].startswith("text/html")


async def test_a_report_of_a_kernel_that_only_an_older_referee_accepted_is_not_shared(office: Office) -> None:
    job_id, link = await a_link(office)
    (name,) = office.database.reports
    report = office.database.reports[name]
    office.database.reports[name] = replace(report, environment=replace(report.environment, referee_version="1"))
    shown = await office.client.get(HERE + link["path"])
    assert shown.status_code == 404
    assert "verified its kernel" in shown.text
    refused = await office.client.post(f"/jobs/{job_id}/shares", json={}, headers=SIGNED_IN)
    assert_problem(refused, 409)
    assert f"kernelwright reverify {job_id}" in refused.text
    assert_problem(await office.client.get(f"/jobs/{job_id}/bundle", headers=SIGNED_IN), 409)
    office.database.verified[name] = report
    assert (await office.client.get(HERE + link["path"])).status_code == 200


async def test_a_link_to_a_job_that_was_deleted_shows_nothing(office: Office) -> None:
    job_id, link = await a_link(office)
    del office.database.jobs[job_id]
    assert (await office.client.get(HERE + link["path"])).status_code == 404


async def test_the_links_of_a_deleted_job_are_gone_for_its_team_too(office: Office) -> None:
    office.client.headers.update(SIGNED_IN)
    job_id = await office.submit()
    link = (await office.client.post(f"/jobs/{job_id}/shares", json={})).raise_for_status().json()
    (await office.client.post(f"/jobs/{job_id}/cancel")).raise_for_status()
    (await office.client.delete(f"/jobs/{job_id}")).raise_for_status()
    for method, path in (("GET", "report"), ("GET", "shares"), ("POST", "shares"), ("DELETE", f"shares/{link['id']}")):
        assert_problem(await office.client.request(method, f"/jobs/{job_id}/{path}"), 410)


@pytest.mark.parametrize("days", [0, -1, 366, "soon"])
async def test_a_link_lasts_for_some_days_and_at_most_a_year(office: Office, days: object) -> None:
    job_id, _ = await a_link(office)
    assert_problem(await office.client.post(f"/jobs/{job_id}/shares", json={"days": days}, headers=SIGNED_IN), 422)


async def test_the_report_is_a_file_to_keep(office: Office) -> None:
    job_id, _ = await a_link(office)
    answer = await office.client.get(f"/jobs/{job_id}/report", headers=SIGNED_IN)
    assert answer.headers["content-disposition"] == f'attachment; filename="{job_id}.html"'
    Page(answer.text).assert_harmless()
    assert_problem(await office.client.get("/jobs/job-none/report", headers=SIGNED_IN), 404)
