"""Every decision is listed where readers look for it, under its own title."""

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "docs" / "decisions"
RECORDS = sorted(FOLDER.glob("[0-9]*.md"))


@pytest.mark.parametrize("record", RECORDS, ids=lambda path: path.stem)
def test_a_decision_stands_in_the_index_under_its_own_title(record: Path) -> None:
    number, title = record.stem.split("-")[0], record.read_text().splitlines()[0]
    told = re.fullmatch(rf"# {int(number)}\. (.+)", title)
    assert told is not None, title
    assert f"| {int(number)} | [{told[1]}]({record.name}) |" in (FOLDER / "README.md").read_text()
