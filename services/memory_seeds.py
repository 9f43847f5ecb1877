"""The seed memory: one API sheet per backend and the best practices, as every team starts with.

The texts are files in `services/memory/seeds/`. Ids come from team and content, so that seeding again adds only what a
newer version wrote, and never touches what a team learned.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from services.domain.candidates import content_hash
from services.domain.experiences import Experience, ExperienceKind
from services.domain.jobs import Stage

FOLDER = Path(__file__).parent / "memory" / "seeds"
SHEETS = ("cpp", "triton", "cuda")
PRACTICES = "practices.md"
WRITTEN = datetime(2026, 11, 1, tzinfo=UTC)
"""When seeds were made, as far as a team's memory is concerned."""
ANY = "any"


def seed_experiences(team_id: str) -> tuple[Experience, ...]:
    """The seed memory of a team."""
    return (*_sheets(team_id), *_practices(team_id))


def _sheets(team_id: str) -> Iterator[Experience]:
    """The head of a file is the backend's bundle; each section documents the API names in its title."""
    for backend in SHEETS:
        head, *sections = (FOLDER / f"{backend}.md").read_text(encoding="utf-8").split("\n## ")
        for part in (head.removeprefix("# "), *sections):
            title, _, text = part.partition("\n")
            yield _experience(team_id, ExperienceKind.API_TEMPLATE, title.strip(), text.strip(), backend=backend)


def _practices(team_id: str) -> Iterator[Experience]:
    """Each section's heading holds its keys before the title: `family=… backend=… bottleneck=… moves=a,b | title`."""
    text = (FOLDER / PRACTICES).read_text(encoding="utf-8").removeprefix("## ")
    for section in text.split("\n## "):
        heading, _, words = section.partition("\n")
        given, _, title = heading.partition(" | ")
        keys = dict(pair.split("=", 1) for pair in given.split())
        yield _experience(
            team_id,
            ExperienceKind.BEST_PRACTICE,
            title.strip(),
            words.strip(),
            family=keys["family"],
            backend=keys["backend"],
            bottleneck=keys["bottleneck"],
            moves=tuple(keys["moves"].split(",")),
        )


def _experience(
    team_id: str,
    kind: ExperienceKind,
    title: str,
    text: str,
    *,
    family: str = ANY,
    backend: str,
    bottleneck: str | None = None,
    moves: tuple[str, ...] = (),
) -> Experience:
    return Experience(
        id=f"exp-{content_hash(f'{team_id}/seed/{backend}/{title}/{text}')[:20]}",
        team_id=team_id,
        kind=kind,
        stage=Stage.DRAFT,
        family=family,
        backend=backend,
        device=ANY,
        toolchain=ANY,
        title=title,
        text=text,
        code=None,
        bottleneck=bottleneck,
        moves=moves,
        created_at=WRITTEN,
    )
