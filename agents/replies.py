"""What each agent answers, one pydantic model a schema; a reply that does not fit goes back once, then fails."""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Iterator
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from services.domain.chat import HypothesisFact, MoveFact, PlanFact
from services.domain.errors import ReplyError
from services.domain.events import JsonValue

Scalar = bool | int | float | str


class Reply(BaseModel):
    """Base of all replies: unknown fields are an error, so that a model learns its mistake."""

    model_config = ConfigDict(extra="forbid", frozen=True)


R = TypeVar("R", bound=Reply)


class Move(Reply):
    """One optimisation move with its parameters."""

    name: str = Field(min_length=1, max_length=80)
    parameters: dict[str, Scalar] = Field(default_factory=dict)


class Hypothesis(Reply):
    """One node of the Planner's tree of ideas, new or judged anew."""

    id: str = Field(min_length=1, max_length=40)
    parent: str | None = None
    statement: str = Field(min_length=1, max_length=500)
    difficulty: float = 0.5
    score: float = 0.5
    refuted: bool = False

    def fact(self) -> HypothesisFact:
        """The node as the database sees it; a score beyond the scale is not worth losing the plan for."""
        return HypothesisFact(
            id=self.id,
            parent=self.parent,
            statement=self.statement,
            difficulty=_share(self.difficulty),
            score=_share(self.score),
            refuted=self.refuted,
        )


class PlannerReply(Reply):
    """What to try next, and what it should bring."""

    start_point: str | None = None
    hypothesis: str = Field(min_length=1, max_length=2000)
    moves: tuple[Move, ...] = ()
    expected_gain: float = Field(default=1.0, gt=0, le=1000)
    unable: str | None = None
    """Why no plan is possible at all; the job then ends as unsolved with this message."""
    hypothesis_id: str | None = Field(default=None, max_length=40)
    """The idea of the tree that this plan tries, where a tree is kept."""
    hypotheses: tuple[Hypothesis, ...] = Field(default=(), max_length=20)
    """Ideas of the tree that are new or judged anew."""

    def fact(self) -> PlanFact:
        """The plan as later agents and the database see it."""
        moves = tuple(MoveFact(name=move.name, parameters=tuple(move.parameters.items())) for move in self.moves)
        return PlanFact(
            start_point=self.start_point,
            hypothesis=self.hypothesis,
            moves=moves,
            expected_gain=self.expected_gain,
            hypothesis_id=self.hypothesis_id,
            hypotheses=tuple(item.fact() for item in self.hypotheses),
        )


class Edit(Reply):
    """Replace one passage of the start point; `search` must occur exactly once."""

    search: str = Field(min_length=1)
    replace: str


class CoderReply(Reply):
    """A whole module, or edits against the start point."""

    summary: str = Field(min_length=1, max_length=500)
    source: str | None = None
    edits: tuple[Edit, ...] = ()


class DraftCritique(Reply):
    """The Judge on a candidate that did not pass: one issue, why, and the smallest repair."""

    critical_issue: str
    why: str
    minimal_fix: str


class RefineCritique(Reply):
    """The Judge on an accepted candidate: what limits it and what to change."""

    bottleneck: str
    method: str
    modification_plan: str


class InspectionReply(Reply):
    """The Judge's second opinion on an accepted candidate."""

    cheating: bool
    """Whether it gets its result or its speed by something else than computing the reference's function."""
    reason: str = Field(default="", max_length=2000)
    quote: str = Field(default="", max_length=2000)
    """The passage of the source that shows it, word for word; empty where it does not cheat."""


class ProfilerReply(Reply):
    """The Profiler's reading of an evaluation."""

    metrics: tuple[str, ...] = ()
    """Names of the few metrics that matter."""
    bottleneck: str
    evidence: str


def _share(value: float) -> float:
    """Within 0 and 1; what is no number is the middle."""
    return 0.5 if math.isnan(value) else min(1.0, max(0.0, value))


@functools.cache
def schema_of(kind: type[Reply]) -> dict[str, JsonValue]:
    """The JSON schema that a reply must fit; the same object each time, not to be changed."""
    return kind.model_json_schema()


def parse_reply(kind: type[R], text: str) -> R:
    """The reply in a model's text, which may stand in prose or in a code fence. Raises `ReplyError` with what is
    wrong and where."""
    try:
        return kind.model_validate_json(json_text(text))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "reply"
        raise ReplyError(f"{where}: {first['msg']}") from None


def json_text(text: str) -> str:
    """The JSON object in a chat model's text: the whole text, else a fenced block, else the longest object in it.

    Where there is none, the text itself, so that the parser's message is about what the model wrote.
    """
    whole = text.strip()
    if _is_object(whole):
        return whole
    for match in _FENCE.finditer(whole):
        if _is_object(match.group(1)):
            return match.group(1)
    objects = sorted(_objects(whole), key=len, reverse=True)
    return objects[0] if objects else whole


_FENCE = re.compile(r"^```[a-zA-Z]*[ \t]*\n(.*?)^```", re.DOTALL | re.MULTILINE)
_MOST_STARTS = 200
"""How many braces are tried as the start of an object: bounds the work on hostile text."""


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _objects(text: str) -> Iterator[str]:
    """Every outermost JSON object of a text, in order."""
    decoder = json.JSONDecoder()
    position, starts = text.find("{"), 0
    while position != -1 and starts < _MOST_STARTS:
        starts += 1
        try:
            _, end = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            end = position + 1
        else:
            yield text[position:end]
        position = text.find("{", end)
