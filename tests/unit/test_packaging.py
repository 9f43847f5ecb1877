"""Our packages are flat and have plain names: nothing else in the environment may claim them."""

from __future__ import annotations

import re
from importlib.metadata import distributions

OURS = ("agents", "kernelwright", "kernelwright_rt", "services", "storage", "web", "workers")
CLAIM = re.compile(rf"^({'|'.join(OURS)})(?:/|\.py,)", re.MULTILINE)
"""The beginning of a line of RECORD, which lists what a distribution has installed."""


def test_no_dependency_ships_a_package_named_like_one_of_ours() -> None:
    claimed = {one.name: sorted(set(CLAIM.findall(one.read_text("RECORD") or ""))) for one in distributions()}
    assert len(claimed) > 50
    assert not {owner: names for owner, names in claimed.items() if names and owner != "kernelwright"}
