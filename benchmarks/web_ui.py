"""How fast the web UI shows a large job, and how soon an event of a worker is on the screen.

`python -m benchmarks.web_ui [--candidates 500 1000] [--events 200]` seeds a database of its own, starts
`kernelwright api` as a process and writes events from this one, as an orchestrator beside it does; Chromium looks on.
Prints milliseconds, for a small job too: what a large one adds to it is what travels between machines.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import random
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from kernelwright.settings import Settings
from kernelwright.wiring.installation import Installation, open_installation
from services.domain.candidates import Candidate, Origin
from services.domain.evaluations import EvaluationReport, Verdict
from services.domain.events import EventKind, JsonValue
from services.domain.gates import GateName
from services.domain.jobs import JobStatus, Lease
from services.domain.measurements import Speedup
from services.domain.steps import NewEvent, StepRecord
from tests.doubles import a_candidate, a_job, a_report, a_step, an_analysis, an_evaluation_request
from tests.e2e.browsing import a_browser, visiting
from tests.e2e.programs import running
from tests.ports import a_free_port

T = TypeVar("T")
FIRST_VIEW = """() => performance.getEntriesByName('first-view')[0]?.startTime ?? null"""
WATCH_ROWS = """
new MutationObserver((_, observer) => {
    if (document.querySelector('.grid-body [data-candidate]') && document.querySelector('h1')) {
        performance.mark('first-view');
        observer.disconnect();
    }
}).observe(document, {childList: true, subtree: true});
"""
WATCH_SEQ = """() => {
    window.seen = {};
    const note = () => {
        const seq = Number(document.querySelector('[data-seq]')?.dataset.seq ?? 0);
        for (let one = seq; one > 0 && !(one in window.seen); one -= 1) window.seen[one] = Date.now();
    };
    note();
    new MutationObserver(note).observe(document.body, {subtree: true, attributes: true, attributeFilter: ['data-seq']});
}"""
SCROLL = """async () => {
    const table = document.querySelector('.grid-table');
    const frames = [];
    let last = performance.now();
    for (let at = 0; at < table.scrollHeight; at += 300) {
        table.scrollTop = at;
        await new Promise(requestAnimationFrame);
        frames.push(performance.now() - last);
        last = performance.now();
    }
    return frames;
}"""


@dataclass(frozen=True, kw_only=True)
class Seeded:
    """A job with many candidates."""

    job_id: str
    candidates: int


def a_large_report(step: int, chance: random.Random) -> EvaluationReport:
    """Accepted, rejected and suspicious in the shares of a real search."""
    verdict = chance.choices([Verdict.ACCEPTED, Verdict.REJECTED, Verdict.SUSPICIOUS], [0.6, 0.35, 0.05])[0]
    if verdict is not Verdict.ACCEPTED:
        return a_report(verdict, failed_gate=chance.choice(list(GateName)), detail="error: " + "x" * 800)
    median = 400.0 * math.exp(-step / 400) * chance.uniform(0.8, 1.3)
    report = a_report(median_us=median)
    ratio = 400.0 / median
    return replace(
        report,
        speedup=Speedup(eager=ratio * 1.4, compile=ratio, best_baseline=ratio, ci95=(ratio * 0.98, ratio * 1.02)),
    )


async def seed(installation: Installation, count: int, name: str, *, finish: bool) -> Seeded:
    """Record a job of `count` steps, each with the events that an orchestrator writes."""
    job = a_job(f"job-{name}")
    await installation.stores.jobs.create(job)
    lease = await installation.stores.jobs.acquire("benchmark", 3600, job.id)
    assert lease is not None
    await installation.stores.jobs.set_status(lease, JobStatus.RUNNING, analysis=an_analysis())
    chance = random.Random(count)
    made: list[Candidate] = []
    best: tuple[str, float] | None = None
    for step in range(count):
        parent = chance.choice(made[-12:]).id if made and chance.random() < 0.9 else None
        candidate = replace(
            a_candidate(job.id, step, source=f"# {step}\n" + "x = 1\n" * 300),
            parent_id=parent,
            origin=Origin.REFINEMENT,
            summary=f"vectorise(lanes={8 << step % 4}), unroll({step})",
        )
        made.append(candidate)
        best = await _record(installation, lease, candidate, a_large_report(step, chance), best)
    if finish:
        await installation.stores.jobs.set_status(lease, JobStatus.SOLVED)
        await installation.stores.events.append(job.id, EventKind.JOB_FINISHED, {"status": "solved"})
    return Seeded(job_id=job.id, candidates=count)


async def _record(
    installation: Installation,
    lease: Lease,
    candidate: Candidate,
    report: EvaluationReport,
    best: tuple[str, float] | None,
) -> tuple[str, float] | None:
    await installation.stores.candidates.add(lease, candidate)
    await installation.stores.candidates.finish(an_evaluation_request(candidate), report)
    if report.accepted and report.latency and (best is None or report.latency.median_us < best[1]):
        best = (candidate.id, report.latency.median_us)
    step = replace(a_step(candidate.job_id, candidate.step), verdict=report.verdict)
    events = tuple(_events(candidate, report))
    record = StepRecord(step=step, best_candidate_id=best[0] if best else None, events=events)
    await installation.stores.jobs.record_step(lease, record)
    return best


def _events(candidate: Candidate, report: EvaluationReport) -> list[NewEvent]:
    step, name = candidate.step, candidate.id
    told: list[NewEvent] = [NewEvent(kind=EventKind.STEP_STARTED, data={"step": step, "stage": "refine"})]
    for agent in ("planner", "coder", "profiler", "judge"):
        told.append(NewEvent(kind=EventKind.AGENT_STARTED, data={"step": step, "agent": agent}))
        ending: dict[str, JsonValue] = {
            "step": step,
            "agent": agent,
            "summary": "unroll the inner loop",
            "tokens": 1200,
            "seconds": 2.5,
        }
        told.append(NewEvent(kind=EventKind.AGENT_FINISHED, data=ending))
    created: dict[str, JsonValue] = {
        "step": step,
        "candidate_id": name,
        "parent_id": candidate.parent_id,
        "summary": candidate.summary,
    }
    told.append(NewEvent(kind=EventKind.CANDIDATE_CREATED, data=created))
    judged: dict[str, JsonValue] = {
        "step": step,
        "candidate_id": name,
        "verdict": str(report.verdict),
        "speedup": report.speedup.best_baseline,
    }
    told.append(NewEvent(kind=EventKind.EVALUATION_FINISHED, data=judged))
    told.append(
        NewEvent(kind=EventKind.STEP_FINISHED, data={"step": step, "verdict": str(report.verdict), "reward": 0.1})
    )
    return told


def first_view(browser: Any, address: str, path: str, runs: int) -> list[float]:
    """Milliseconds from navigation to the first candidate in the table, each in a browser profile of its own."""
    found = []
    for _ in range(runs):
        with visiting(browser, address, viewport={"width": 1400, "height": 1000}) as tab:
            tab.page.add_init_script(WATCH_ROWS)
            tab.page.goto(path, wait_until="commit")
            tab.page.wait_for_function(FIRST_VIEW)
            found.append(float(tab.page.evaluate(FIRST_VIEW)))
    return found


def scrolling(browser: Any, address: str, path: str) -> list[float]:
    """Milliseconds a frame while the table of candidates is scrolled from end to end."""
    with visiting(browser, address, viewport={"width": 1400, "height": 1000}) as tab:
        tab.page.goto(path)
        tab.page.locator(".grid-body [data-candidate]").first.wait_for()
        tab.page.wait_for_timeout(3000)
        frames: list[float] = tab.page.evaluate(SCROLL)
        return frames


def delays(browser: Any, address: str, job_id: str, write: Callable[[], list[tuple[int, float]]]) -> list[float]:
    """Milliseconds from an event's commit in another process until the page shows it."""
    with visiting(browser, address) as tab:
        tab.page.goto(f"/jobs/{job_id}")
        tab.page.locator("[data-connection=live]").wait_for()
        tab.page.evaluate(WATCH_SEQ)
        written: list[tuple[int, float]] = []
        writer = threading.Thread(target=lambda: written.extend(write()))
        writer.start()
        while writer.is_alive():  # the page lives while we wait through the browser
            tab.page.wait_for_timeout(100)
        tab.page.wait_for_timeout(2000)
        seen = {int(seq): at for seq, at in tab.page.evaluate("() => window.seen").items()}
        return [seen[seq] - at for seq, at in written]


async def _write_events(settings: Settings, job_id: str, count: int) -> list[tuple[int, float]]:
    written = []
    async with open_installation(settings) as installation:
        for index in range(count):
            data: dict[str, JsonValue] = {
                "step": index // 8,
                "agent": "coder",
                "summary": "unroll",
                "tokens": 1,
                "seconds": 0.1,
            }
            event = await installation.stores.events.append(job_id, EventKind.AGENT_FINISHED, data)
            written.append((event.seq, time.time() * 1000))
            await asyncio.sleep(random.uniform(0.02, 0.12))
    return written


async def _seed_all(settings: Settings, counts: list[int]) -> list[Seeded]:
    async with open_installation(settings) as installation:
        large = [await seed(installation, count, f"large{count}", finish=True) for count in counts]
        return [*large, await seed(installation, 1, "live", finish=False)]


def _alone(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine on a thread of its own: the browser's driver has this thread's loop."""
    result: list[T] = []
    thread = threading.Thread(target=lambda: result.append(asyncio.run(work())))
    thread.start()
    thread.join()
    return result[0]


def p(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, math.ceil(share * len(values)) - 1)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--candidates", type=int, nargs="+", default=[10, 500, 1000])
    parser.add_argument("--events", type=int, default=200)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measure(Path(folder), options.candidates, options.events, options.runs)


def measure(home: Path, counts: list[int], events: int, runs: int) -> None:
    settings = Settings(home=home)
    *large, live = asyncio.run(_seed_all(settings, counts))
    port = a_free_port()
    address = f"http://127.0.0.1:{port}"
    figures: dict[str, object] = {}
    with running("api", "--port", str(port), home=home) as program, a_browser() as browser:
        program.wait_for(address)
        first_view(browser, address, f"/jobs/{large[0].job_id}", 1)  # the server's own first time
        for job in large:
            views = first_view(browser, address, f"/jobs/{job.job_id}", runs)
            figures[f"first view, {job.candidates} candidates (ms, median)"] = round(statistics.median(views))
            figures[f"first view, {job.candidates} candidates (ms, worst of {runs})"] = round(max(views))
        frames = scrolling(browser, address, f"/jobs/{large[-1].job_id}")
        figures[f"frame while scrolling {large[-1].candidates} candidates (ms, p95)"] = round(p(frames, 0.95), 1)
        late = delays(
            browser, address, live.job_id, lambda: _alone(lambda: _write_events(settings, live.job_id, events))
        )
        figures["event to screen (ms, median)"] = round(statistics.median(late))
        figures["event to screen (ms, p95)"] = round(p(late, 0.95))
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
