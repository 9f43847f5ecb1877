"""What a whole job taught: practices that the Judge proposes at its end, each checked against our own measurements."""

from __future__ import annotations

from dataclasses import dataclass

from agents.roles.replies import PracticesReply, parse_reply
from services.domain.chat import Facts
from services.domain.practices import MOST_PRACTICES, KeptPractice
from services.team_memory.practices import checked, told


@dataclass(frozen=True, kw_only=True)
class Reflection:
    """What came of the Judge's proposals."""

    kept: tuple[KeptPractice, ...] = ()
    refused: tuple[str, ...] = ()
    """Why others were not kept."""


def read_practices(text: str, facts: Facts) -> Reflection:
    """The proposals in a reply with what our measurements say of them. Raises `ReplyError`.

    Of several more than allowed the first whose evidence held are kept; the rest is refused."""
    kept: list[KeptPractice] = []
    refused: list[str] = []
    for item in parse_reply(PracticesReply, text).practices:
        found = checked(item.proposal(), facts.attempts)
        if isinstance(found, str):
            refused.append(found)
        elif len(kept) == MOST_PRACTICES:
            refused.append(f"a job leaves {MOST_PRACTICES} practices at most")
        elif found.statement not in {one.statement for one in kept}:
            kept.append(found)
    return Reflection(kept=tuple(kept), refused=tuple(refused))


def reflection_in_brief(found: Reflection) -> str:
    """What people who watch are told."""
    said = [f"practice: {one.statement} ({told(one.contrasts)})" for one in found.kept]
    said += [f"refused: {reason}" for reason in found.refused]
    return "; ".join(said) or "no practice"
