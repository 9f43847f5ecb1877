"""The OpenAPI document as text: `python -m web.openapi > docs/openapi.json` after a change of the API."""

from __future__ import annotations

import json
import sys
from typing import cast

from web.app import create_app
from web.context import WebServices


class _Undriven:
    """Stands in for services: describing an app calls none."""

    hosts = None
    ui = None
    version = "1"


def document() -> str:
    """The document, with the version left out so that a release does not change it."""
    described = create_app(cast("WebServices", _Undriven())).openapi()
    return json.dumps(described, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(document())
