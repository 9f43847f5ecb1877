"""The API's description as a page, from this installation alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.unit.web.test_app import Installation

HERE = "http://127.0.0.1:8000"


@pytest.fixture
def office(tmp_path: Path) -> Installation:
    runtime = tmp_path / "kernelwright_rt.py"
    runtime.write_text("")
    return Installation(runtime)


async def test_every_asset_of_the_page_comes_from_here_under_the_strict_policy(office: Installation) -> None:
    page = await office.client.get(HERE + "/docs")
    assert "script-src 'self'" in page.headers["content-security-policy"]
    assert "<script>" not in page.text
    named = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert len(named) == 4
    assert all(address.startswith("/docs/") for address in named)
    for address in named:
        asset = await office.client.get(HERE + address)
        assert asset.status_code == 200, address
        assert len(asset.content) > 100
    start = await office.client.get(HERE + "/docs/start.js")
    assert (await office.client.get(HERE + "/openapi.json")).json()["info"]["title"] == "Kernelwright"
    assert 'url: "/openapi.json"' in start.text


async def test_no_other_file_of_the_package_is_served(office: Installation) -> None:
    assert (await office.client.get(HERE + "/docs/redoc.standalone.js")).status_code == 404
    assert (await office.client.get(HERE + "/docs/..%2Fcore.py")).status_code == 404
