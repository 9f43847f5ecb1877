"""One comment on a pull request that is kept up to date, through GitHub's REST API (issue comments, 2022-11-28)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

import httpx

from services.domain.errors import ConfigurationError, InfrastructureError

MARK = "<!-- kernelwright-ci -->"
_PAGE = 100


def keep_comment(text: str, environment: Mapping[str, str], transport: httpx.BaseTransport | None = None) -> None:
    """Write the summary into the pull request's comment, made where there is none yet.

    Reads GITHUB_TOKEN, GITHUB_REPOSITORY, GITHUB_EVENT_PATH (or GITHUB_REF) and GITHUB_API_URL.
    Raises `ConfigurationError` outside a pull request, `InfrastructureError` when GitHub does not take it."""
    token, repository = environment.get("GITHUB_TOKEN"), environment.get("GITHUB_REPOSITORY")
    if not token or not repository:
        raise ConfigurationError("--comment needs GITHUB_TOKEN (with pull-requests: write) and GITHUB_REPOSITORY")
    issue = f"/repos/{repository}/issues"
    headers = {
        "Authorization": f"Bearer {token}",
        "Accept": "application/vnd.github+json",
        "X-GitHub-Api-Version": "2022-11-28",
    }
    address = environment.get("GITHUB_API_URL") or "https://api.github.com"
    try:
        with httpx.Client(base_url=address, headers=headers, timeout=30, transport=transport) as http:
            number = _pull_request(environment)
            own = _own_comment(http, f"{issue}/{number}/comments")
            body = {"body": f"{MARK}\n{text}"}
            method, path = (
                ("POST", f"{issue}/{number}/comments") if own is None else ("PATCH", f"{issue}/comments/{own}")
            )
            http.request(method, path, json=body).raise_for_status()
    except httpx.HTTPError as error:
        raise InfrastructureError(f"GitHub did not take the comment: {error}") from None


def _pull_request(environment: Mapping[str, str]) -> int:
    """The pull request's number, from the event or the ref."""
    path = Path(environment.get("GITHUB_EVENT_PATH") or "")
    if path.is_file():
        event = json.loads(path.read_text())
        number = (event.get("pull_request") or {}).get("number") or event.get("number")
        if isinstance(number, int):
            return number
    found = re.fullmatch(r"refs/pull/(\d+)/(merge|head)", environment.get("GITHUB_REF", ""))
    if found is None:
        raise ConfigurationError("--comment works on pull requests only: this run belongs to none")
    return int(found.group(1))


def _own_comment(http: httpx.Client, path: str) -> int | None:
    """The id of the comment with our mark."""
    page = 1
    while True:
        answer = http.get(path, params={"per_page": _PAGE, "page": page})
        answer.raise_for_status()
        comments = answer.json()
        for comment in comments:
            if str(comment.get("body") or "").startswith(MARK):
                return int(comment["id"])
        if len(comments) < _PAGE:
            return None
        page += 1
