"""Pictures of every page at four widths, light and dark, of an installation with jobs of every outcome.

python -m tests.e2e.pictures                        all of them, into build/screenshots
python -m tests.e2e.pictures job workers --width 390 --theme dark
python -m tests.e2e.pictures --documentation        only those of docs/screenshots, in their place

The jobs are solved once, into build/showcase, which takes long; leave the machine quiet. Remove the folder to solve
them again.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.e2e.browsing import AT_REST, Service, a_browser, settled, visiting
from tests.e2e.programs import ROOT
from tests.e2e.showcase import a_team, showcase

WIDTHS = {390: 844, 1280: 800, 2560: 1440, 3840: 2160}
THEMES = ("light", "dark")
PAGES = {
    "jobs": "/",
    "jobs-grouped": "/?group=problem&sort=-speedup",
    "jobs-none": "/?q=nothing-has-this-name",
    "submit": "/submit",
    "submit-again": "/submit?from={job}",
    "leaderboard": "/leaderboard",
    "leaderboard-suite": "/leaderboard?tag=run%202&beside=run%201",
    "job": "/jobs/{job}",
    "job-islands": "/jobs/{islands}",
    "job-archive": "/jobs/{archive}",
    "job-no-gain": "/jobs/{no_gain}",
    "job-refused": "/jobs/{refused}",
    "job-cancelled": "/jobs/{cancelled}",
    "job-paused": "/jobs/{paused}",
    "job-waiting": "/jobs/{waiting}",
    "job-chat": "/jobs/{chat}",
    "job-missing": "/jobs/job-none",
    "trace": "/jobs/{chat}/trace?step=2",
    "playground": "/jobs/{chat}/playground?round=2&call=2",
    "compare": "/compare?job={job}&job={again}",
    "source": "/candidates/{best}",
    "diff": "/candidates/{best}?tab=diff",
    "gates": "/candidates/{best}?tab=gates",
    "evidence": "/candidates/{best}?tab=evidence",
    "profile": "/candidates/{best}?tab=profile",
    "machine-code": "/candidates/{best}?tab=machine",
    "memory": "/memory",
    "experience": "/memory/{experience}",
    "workers": "/workers",
    "webhooks": "/webhooks",
    "team-open": "/team",
    "report": "{report}",
    "missing": "/no/such/page",
}
TEAM_PAGES = {"team": "/team", "jobs-empty": "/", "memory-empty": "/memory", "workers-empty": "/workers",
              "leaderboard-empty": "/leaderboard", "webhooks-empty": "/webhooks"}  # fmt: skip
DOCUMENTED = {
    "job": (1280, "light"),
    "evidence": (1280, "light"),
    "diff": (1280, "dark"),
    "machine-code": (1280, "dark"),
    "memory": (1280, "light"),
    "experience": (1280, "light"),
    "trace": (1280, "light"),
}
"""Pages that the documentation shows, with width and theme."""


def _addresses(service: Service, jobs: dict[str, str]) -> dict[str, str]:
    made = service.items("/experiences", job=jobs["job"])
    things = {
        **jobs,
        "best": service.get(f"/jobs/{jobs['job']}")["best_candidate_id"],
        "experience": next((one for one in made if one["worth"]), made[0])["id"],
        "report": service.post(f"/jobs/{jobs['job']}/shares")["path"],
    }
    return {name: address.format(**things) for name, address in PAGES.items()}


def _take(page: Any, addresses: dict[str, str], into: Path, widths: Iterable[int], themes: Iterable[str]) -> None:
    """Whole pages; what is loaded when it comes into sight is scrolled into sight first."""
    for name, address in addresses.items():
        page.set_viewport_size({"width": 1280, "height": 6000})
        page.goto(address)
        settled(page)
        for theme in themes:
            page.emulate_media(color_scheme=theme)
            for width in widths:
                page.set_viewport_size({"width": width, "height": WIDTHS[width]})
                settled(page)
                page.evaluate(AT_REST)
                page.screenshot(path=into / f"{name}-{width}-{theme}.png", full_page=True)
        sys.stdout.write(f"{name}\n")


def _document(page: Any, addresses: dict[str, str], into: Path) -> None:
    """What the first screen shows of each page that the documentation mentions."""
    for name, (width, theme) in DOCUMENTED.items():
        page.emulate_media(color_scheme=theme)
        page.set_viewport_size({"width": width, "height": WIDTHS[width]})
        page.goto(addresses[name])
        settled(page)
        page.evaluate(AT_REST)
        page.screenshot(path=into / f"{name}-{theme}.png")
        sys.stdout.write(f"{name}\n")


@contextmanager
def _a_team_page(browser: Any) -> Iterator[Any]:
    """A tab of an admin of a new team."""
    with tempfile.TemporaryDirectory() as home, a_team(Path(home)) as address, visiting(browser, address) as tab:
        tab.page.goto("/team")
        tab.page.screenshot(path=ROOT / "build" / "screenshots" / "sign-in-1280-light.png")
        tab.page.get_by_role("link", name="Sign in with Example ID").click()
        tab.page.get_by_role("heading", name="Members").wait_for()
        tab.page.get_by_role("textbox", name="Name", exact=True).fill("nightly")
        tab.page.get_by_role("button", name="Create token").click()
        tab.page.get_by_role("button", name="Done").click()
        yield tab.page


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="PAGE", help="pages to take; without any, all")
    parser.add_argument("--width", type=int, choices=WIDTHS, nargs="+", default=tuple(WIDTHS))
    parser.add_argument("--theme", choices=THEMES, nargs="+", default=THEMES)
    parser.add_argument("--documentation", action="store_true", help="replace the pictures of docs/screenshots")
    asked = parser.parse_args()
    if unknown := set(asked.names) - {*PAGES, *TEAM_PAGES}:
        parser.error(f"no page {', '.join(sorted(unknown))}; there are {', '.join((*PAGES, *TEAM_PAGES))}")
    return asked


def main() -> None:
    """Take what was asked for."""
    asked = _asked()
    into = ROOT / "build" / "screenshots"
    into.mkdir(parents=True, exist_ok=True)
    wanted = set(asked.names) or {*PAGES, *TEAM_PAGES}
    with a_browser() as browser:
        if asked.documentation or wanted & set(PAGES):
            with showcase(ROOT / "build" / "showcase") as (service, jobs), visiting(browser, service.address) as tab:
                addresses = _addresses(service, jobs)
                if asked.documentation:
                    _document(tab.page, addresses, ROOT / "docs" / "screenshots")
                    return
                chosen = {name: address for name, address in addresses.items() if name in wanted}
                _take(tab.page, chosen, into, asked.width, asked.theme)
        if team := {name: address for name, address in TEAM_PAGES.items() if name in wanted}:
            with _a_team_page(browser) as page:
                _take(page, team, into, asked.width, asked.theme)


if __name__ == "__main__":
    main()
