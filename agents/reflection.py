"""What a whole job taught: practices that the Judge proposes at its end, each checked against our own measurements."""

from __future__ import annotations

from dataclasses import dataclass

from agents.history import changes
from agents.replies import PracticesReply, Reply, parse_reply
from agents.trimming import cut
from services.domain.chat import AttemptFact, Facts
from services.domain.practices import MOST_PRACTICES, Contrast, KeptPractice
from services.learning import describe_moves
from services.practices import checked, contrasts, told

TASK = "practices"
_CHANGES_TOKENS = 300
"""What the prompt shows of one contrast's change of code."""


@dataclass(frozen=True, kw_only=True)
class Reflection:
    """What came of the Judge's proposals."""

    kept: tuple[KeptPractice, ...] = ()
    refused: tuple[str, ...] = ()
    """Why others were not kept."""


def practices_schema(_facts: Facts) -> type[Reply]:
    """What is asked of the Judge."""
    return PracticesReply


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


def contrasts_in_words(attempts: tuple[AttemptFact, ...]) -> str:
    """The contrasts that held, each with its moves and what changed in the code; empty without any."""
    known = {item.candidate_id: item for item in attempts}
    return "\n\n".join(_in_words(one, known) for one in contrasts(attempts))


def _in_words(one: Contrast, known: dict[str | None, AttemptFact]) -> str:
    """From parent to child, whichever of them is the faster one."""
    first, second = known[one.slower], known[one.faster]
    if first.parent_id == second.candidate_id:
        first, second = second, first
    moves = describe_moves(second.plan.moves) if second.plan is not None else "no plan"
    code = cut(changes(first.source or "", second.source or ""), _CHANGES_TOKENS)
    return f"{told([one])}; {second.candidate_id} was made from {first.candidate_id} by {moves}:\n{code}"


__all__ = [
    "TASK",
    "Reflection",
    "contrasts_in_words",
    "practices_schema",
    "read_practices",
    "reflection_in_brief",
]
