"""The seed memory: one API sheet per backend and the best practices, as every team starts with.

The texts are files in `seeds/`. Ids come from team and content, so that seeding again adds only what a
newer version wrote, and never touches what a team learned.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from services.domain.candidates import content_hash
from services.domain.experiences import Experience, ExperienceKind
from services.domain.jobs import Stage

FOLDER = Path(__file__).parent / "seeds"
SHEETS = ("cpp", "triton", "cuda")
PRACTICES = "practices.md"
VERIFIED = FOLDER / "verified.json"
"""What `benchmarks/verify_practices.py` measured, by a seed's title: beside the texts, which seeds' ids come from."""
WRITTEN = datetime(2026, 11, 1, tzinfo=UTC)
"""When seeds were made, as far as a team's memory is concerned."""
ANY = "any"


@dataclass(frozen=True, kw_only=True)
class SeedEvidence:
    """What a seed brought: a kernel that follows it against one that does not, judged by our own evaluator."""

    ratio: float
    """How many times as fast the kernel with it is."""
    low: float
    high: float
    """The ratio's 95 % interval."""
    device: str
    toolchain: str
    date: str
    load: float
    """Of the machine, one minute before."""
    command: str
    """What measured it."""

    @property
    def told(self) -> str:
        """For prompts: figures that hold 1 are told as what they are."""
        busy = f", on a busy machine (load {self.load:.0f})" if self.load > QUIET_LOAD else ""
        figures = f"{self.ratio:.2f}× ({self.low:.2f} to {self.high:.2f}){busy}"
        if self.low > 1.0:
            return f"verified on {self.device}, {self.date}: with it {figures}"
        found = "made it slower" if self.high < 1.0 else "made no sure difference"
        return f"tried on {self.device}, {self.date}: {found}, {figures}"


QUIET_LOAD = 2.0
"""Load above which a figure says so: other work takes the cores that a kernel would use."""
UNVERIFIED = "not verified here"
"""Said of advice without figures of our own."""


@functools.cache
def verifications() -> dict[str, SeedEvidence]:
    """The figures there are, by title."""
    if not VERIFIED.is_file():
        return {}
    data = json.loads(VERIFIED.read_text(encoding="utf-8"))
    return {title: SeedEvidence(**one) for title, one in data.items()}


@functools.cache
def seed_titles() -> tuple[str, ...]:
    """Of all seeds."""
    return tuple(item.title for item in seed_experiences("local"))


def evidence_of(item: Experience) -> str | None:
    """What stands behind advice that was written by hand; None for what jobs left, which says so itself."""
    if item.kind not in (ExperienceKind.API_TEMPLATE, ExperienceKind.BEST_PRACTICE) or item.is_learned_practice:
        return None
    is_seed = item.id == _seed_id(item.team_id, item.backend, item.title, item.text)
    found = verifications().get(item.title) if is_seed else None
    return UNVERIFIED if found is None else found.told


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


def _seed_id(team_id: str, backend: str, title: str, text: str) -> str:
    return f"exp-{content_hash(f'{team_id}/seed/{backend}/{title}/{text}')[:20]}"


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
        id=_seed_id(team_id, backend, title, text),
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
