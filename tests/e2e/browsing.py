"""A real browser before the real service: what the tests of the web UI share."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.e2e.programs import ROOT, SMALL, WELL, Program
from tests.ports import a_free_port
from tests.waiting import LIMIT_S, until

UI = ROOT / "web" / "ui"
AXE = UI / "node_modules" / "axe-core" / "axe.min.js"
CHROMIUM = os.environ.get("KERNELWRIGHT_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
WAIT_MS = 120_000
ENDED_WELL = ", ".join(f"[data-status={status}]" for status in WELL)
"""Selects the status of a job that has a correct kernel."""
AT_REST = """() => new Promise(resolve => {
    const moves = one => one.playState === "running" && one.effect?.getComputedTiming().endTime !== Infinity
    let still = 0  // frames in a row: what has just appeared begins to move a frame later
    const look = () => {
        still = document.getAnimations().some(moves) ? 0 : still + 1
        still < 4 ? requestAnimationFrame(look) : resolve()
    }
    look()
})"""
VIOLATIONS = """within => axe
    .run(within ?? document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]})
    .then(found => found.violations.map(one => one.id + ": " + one.nodes.slice(0, 3)
        .map(node => node.target.join(" ") + " — " + node.failureSummary).join(" | ")))"""

STICKS_OUT = """() => [...document.querySelectorAll("body *")]
    .filter(one => one.getBoundingClientRect().right > document.documentElement.clientWidth + 0.5)
    .map(one => `${one.tagName}.${one.className}: ${one.textContent.trim().slice(0, 60)}`)"""
"""What of a page lies right of its window, for people."""


def skip_unless_there() -> None:
    """Skip, saying what to install, where this machine cannot show the UI."""
    pytest.importorskip("playwright", reason="playwright is missing: pip install playwright")
    if CHROMIUM is None:
        pytest.skip("no Chromium: apt-get install chromium, or name one in KERNELWRIGHT_CHROMIUM")
    if not (UI / "dist" / "index.html").is_file():
        pytest.skip("the web UI is not built: install Node.js 20.19 or newer and run make web")


@dataclass(kw_only=True)
class Service:
    """`kernelwright serve` on a port that stays the same when it is started again."""

    home: Path
    port: int = field(default_factory=a_free_port)
    program: Program | None = None
    settings: dict[str, str] = field(default_factory=dict)
    measured: bool = False
    """Whether it measures this machine itself, instead of being given figures out of any kernel's reach."""

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        port = str(self.port)
        self.program = Program(
            "serve", "--port", port, home=self.home, measured=self.measured, root=ROOT, **self.settings
        )
        self.program.wait_for(rf"http://127\.0\.0\.1:{self.port} ")

    def kill(self) -> None:
        assert self.program is not None
        self.program.stop(signal.SIGKILL)
        self.program.close()

    def close(self) -> None:
        if self.program is not None:
            self.program.close()

    def get(self, path: str, **params: Any) -> Any:
        answer = httpx.get(f"{self.address}/api/v1{path}", params=params, timeout=30)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def items(self, path: str, **params: Any) -> list[Any]:
        found: list[Any] = self.get(path, **params)["items"]
        return found

    def post(self, path: str, **body: Any) -> Any:
        answer = httpx.post(f"{self.address}/api/v1{path}", json=body, timeout=30)
        assert answer.is_success, answer.text
        return answer.json()

    def submit(self, **fields: Any) -> str:
        problem = {"name": "scaled_silu", "source": SMALL, "path": "scaled_silu.py"}
        body = {"problem": problem, "baselines": ["eager"], **fields}
        answer = httpx.post(f"{self.address}/api/v1/jobs", json=body, timeout=30)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    def ended(self, job_id: str, limit_s: float = LIMIT_S) -> dict[str, Any]:
        until(lambda: self.get(f"/jobs/{job_id}")["finished_at"] is not None, f"{job_id}'s end", limit_s=limit_s)
        job: dict[str, Any] = self.get(f"/jobs/{job_id}")
        return job


@contextmanager
def serving(home: Path, *, measured: bool = False, **settings: str) -> Iterator[Service]:
    service = Service(home=home, settings=settings, measured=measured)
    try:
        service.start()
        yield service
    finally:
        service.close()


@contextmanager
def a_browser() -> Iterator[Any]:
    """Chromium without a window; root needs it without its own sandbox, and it only sees our own pages."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        try:
            yield browser
        finally:
            browser.close()


@dataclass(kw_only=True)
class Visitor:
    """One tab, and everything it complained about."""

    page: Any
    complaints: list[str] = field(default_factory=list)

    def violations(self, within: str | None = None) -> list[str]:
        """What axe finds wrong with the page, or the part that a selector names, once it has come to rest."""
        self.page.evaluate(AT_REST)  # half way through a fade, colours are not those that people read
        if not self.page.evaluate("() => 'axe' in window"):
            self.page.evaluate(AXE.read_text())  # through the debugger: the page's policy permits no script of ours
        found: list[str] = self.page.evaluate(VIOLATIONS, within)
        return found


@contextmanager
def visiting(browser: Any, address: str, **options: Any) -> Iterator[Visitor]:
    """A tab of its own; script errors, refused scripts and dialogs are complaints."""
    context = browser.new_context(base_url=address, **options)
    try:
        page = context.new_page()
        page.set_default_timeout(WAIT_MS)
        visitor = Visitor(page=page)
        page.on("pageerror", lambda error: visitor.complaints.append(f"error: {error}"))
        page.on("dialog", lambda dialog: _asked(visitor, dialog))
        page.on("console", lambda message: _heard(visitor, message))
        yield visitor
    finally:
        context.close()


def settled(page: Any) -> None:
    """Return once nothing is loading any more: no answer is waited for and no placeholder is left."""
    page.locator("h1, [role=alert], main p").first.wait_for()
    page.wait_for_function(
        "() => document.querySelectorAll('[aria-label=Loading], .mantine-Skeleton-root').length === 0"
    )
    page.wait_for_timeout(250)


def _asked(visitor: Visitor, dialog: Any) -> None:
    visitor.complaints.append(f"dialog: {dialog.message}")
    dialog.dismiss()


def _heard(visitor: Visitor, message: Any) -> None:
    if "Content Security Policy" in message.text:
        visitor.complaints.append(message.text)
