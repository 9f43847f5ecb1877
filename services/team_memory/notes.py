"""A team's own notes as practices of its memory.

Code comes into memory by proof alone (a job leaves a trace); a note is words, which are data in a prompt.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from services.domain.candidates import content_hash
from services.domain.errors import UserError
from services.domain.experiences import Experience, ExperienceKind
from services.domain.jobs import Stage

ANY = "any"
MOST_CHARACTERS = 4000
"""A note shares a prompt with others: a longer one is better two."""


@dataclass(frozen=True, kw_only=True)
class Note:
    """What somebody wrote down for the agents."""

    text: str
    """Its first line is the title; a leading `#` does not count."""
    family: str = ANY
    backend: str = ANY


def practice_of(team_id: str, note: Note, at: datetime) -> Experience:
    """The note as a best practice. Raises `UserError` where it is empty or too long."""
    title, _, text = note.text.strip().partition("\n")
    title, text = title.lstrip("# ").strip(), text.strip()
    if not title or not text:
        raise UserError("a note needs a first line that says what it is about, and below it what to do")
    if len(note.text) > MOST_CHARACTERS:
        raise UserError(f"the note has {len(note.text)} characters: keep it below {MOST_CHARACTERS}, or make it two")
    return Experience(
        id=f"exp-{content_hash(f'{team_id}/note/{note.family}/{note.backend}/{title}/{text}')[:20]}",
        team_id=team_id,
        kind=ExperienceKind.BEST_PRACTICE,
        stage=Stage.DRAFT,
        family=note.family,
        backend=note.backend,
        device=ANY,
        toolchain=ANY,
        title=title[:200],
        text=text,
        code=None,
        created_at=at,
    )
