"""Answers of the API about twenty jobs of the example problems, and pages that are told them."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

RECORDED: dict[str, Any] = json.loads(
    gzip.decompress((Path(__file__).parent / "recorded" / "jobs.json.gz").read_bytes())
)
"""Answers by path."""
JOBS = sorted(path.rpartition("/")[2] for path in RECORDED if re.fullmatch(r"/api/v1/jobs/[^/]+", path))


def job(job_id: str) -> dict[str, Any]:
    found: dict[str, Any] = RECORDED[f"/api/v1/jobs/{job_id}"]
    return found


def events_behind(route: Any, events: list[dict[str, Any]]) -> dict[str, Any]:
    """The events behind the last one that a page has seen."""
    after = int(parse_qs(urlsplit(route.request.url).query).get("after", ["0"])[0])
    return {"items": [event for event in events if event["seq"] > after], "next_cursor": None}


def answer(route: Any) -> None:
    """What was recorded; of everything else the service knows."""
    found = urlsplit(route.request.url)
    if found.path not in RECORDED:
        route.continue_()
        return
    document = RECORDED[found.path]
    if found.path.endswith("/log"):
        document = events_behind(route, document)["items"]
    route.fulfill(json={"items": document, "next_cursor": None} if isinstance(document, list) else document)
