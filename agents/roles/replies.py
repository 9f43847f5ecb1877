"""What each agent answers, one pydantic model a schema; a reply that does not fit goes back once, then fails."""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from services.domain.chat import HypothesisFact, MoveFact, PlanFact
from services.domain.errors import ReplyError
from services.domain.events import JsonValue
from services.domain.practices import ProposedPractice

Scalar = bool | int | float | str


class Reply(BaseModel):
    """Base of all replies. The schema forbids further fields; a reply that has some is read without them."""

    model_config = ConfigDict(extra="ignore", frozen=True, json_schema_extra={"additionalProperties": False})


R = TypeVar("R", bound=Reply)


def _clipped(limit: int) -> BeforeValidator:
    """Cuts a text that is too long: what a model says about its work is not worth losing the work for."""
    return BeforeValidator(lambda value: value[:limit] if isinstance(value, str) else value)


def _ratio(value: object) -> object:
    """A latency ratio as models write it: `2x`, `~1.5×`, `30 %` (which means 1.3); within 0 and 1000."""
    if isinstance(value, str) and (found := _RATIO.fullmatch(value.strip())):
        number = float(found["number"])
        value = 1.0 + number / 100 if found["unit"] == "%" else number
    if isinstance(value, int | float) and not isinstance(value, bool) and value > _MOST_GAIN:
        return _MOST_GAIN
    return value


_MOST_GAIN = 1000.0
_RATIO = re.compile(r"[~≈<>]?\s*\+?(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>x|X|×|%|times|-fold)?(?:\s*faster)?")


class Move(Reply):
    """One optimisation move with its parameters."""

    name: Annotated[str, _clipped(80), Field(min_length=1, max_length=80)]
    parameters: dict[str, Scalar] = Field(default_factory=dict)


class Hypothesis(Reply):
    """One node of the Planner's tree of ideas, new or judged anew."""

    id: str = Field(min_length=1, max_length=40)
    parent: str | None = None
    statement: Annotated[str, _clipped(500), Field(min_length=1, max_length=500)]
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
    hypothesis: Annotated[str, _clipped(2000), Field(min_length=1, max_length=2000)]
    moves: tuple[Move, ...] = ()
    expected_gain: Annotated[float, BeforeValidator(_ratio), Field(gt=0, le=_MOST_GAIN)] = 1.0
    unable: str | None = None
    """Why no plan is possible: before a kernel is accepted the job ends with this message, later this line of search
    does."""
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


class DiagnosedPlannerReply(PlannerReply):
    """What is wrong with the start point or limits it, and what to try next."""

    diagnosis: Annotated[str, _clipped(1500), Field(max_length=1500)] = ""
    """Of a start point that failed the critical issue, its cause and the smallest repair; of an accepted one what
    limits it, by which figures, and the method against that."""

    def fact(self) -> PlanFact:
        """The plan with its diagnosis."""
        return replace(super().fact(), diagnosis=self.diagnosis or None)


class Edit(Reply):
    """Replace one passage of the start point; `search` must occur exactly once."""

    search: str = Field(min_length=1)
    replace: str


class CoderReply(Reply):
    """A whole module, or edits against the start point."""

    summary: Annotated[str, _clipped(500), Field(min_length=1, max_length=500)]
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
    reason: Annotated[str, _clipped(2000), Field(max_length=2000)] = ""
    quote: Annotated[str, Field(max_length=2000)] = ""
    """The passage of the source that shows it, word for word; empty where it does not cheat."""


class PracticeEvidence(Reply):
    """Two candidates of the job whose speeds show it."""

    faster: Annotated[str, Field(max_length=80)]
    slower: Annotated[str, Field(max_length=80)]


class PracticeReply(Reply):
    """What the next job with such a problem should know."""

    statement: Annotated[str, _clipped(300), Field(min_length=1, max_length=300)]
    applies: Annotated[str, _clipped(300), Field(min_length=1, max_length=300)]
    evidence: Annotated[tuple[PracticeEvidence, ...], Field(max_length=6)] = ()

    def proposal(self) -> ProposedPractice:
        """The claim on one line each."""
        return ProposedPractice(
            statement=" ".join(self.statement.split()),
            applies=" ".join(self.applies.split()),
            pairs=tuple((item.faster, item.slower) for item in self.evidence),
        )


class PracticesReply(Reply):
    """What the Judge draws from a whole job; nothing where it showed nothing new."""

    practices: Annotated[tuple[PracticeReply, ...], Field(max_length=20)] = ()


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


def unknown_keys(kind: type[Reply], text: str) -> tuple[str, ...]:
    """The fields of a reply's document that its schema does not have: read past, and told."""
    try:
        document = json.loads(json_text(text))
    except (ValueError, RecursionError):
        return ()
    return tuple(sorted(set(document) - set(kind.model_fields))) if isinstance(document, dict) else ()


def spoken(text: str) -> str:
    """A reply without what a reasoning model thought aloud before it: neither its summary nor its answer."""
    said = _THOUGHT.sub("", text)
    before, closed, after = said.rpartition("</think>")  # some servers leave out the tag that opens
    return after if closed and after.strip() else before + after


def json_text(text: str) -> str:
    """The JSON object in a chat model's text: the whole text, else a fenced block, else the longest object in it.

    Where there is none, the text itself, so that the parser's message is about what the model wrote.
    """
    whole = spoken(text).strip()
    if _is_object(whole):
        return whole
    for match in _FENCE.finditer(whole):
        if _is_object(match.group(1)):
            return match.group(1)
    objects = sorted(_objects(whole), key=len, reverse=True)
    return objects[0] if objects else whole


_FENCE = re.compile(r"^```[a-zA-Z]*[ \t]*\n(.*?)^```", re.DOTALL | re.MULTILINE)
_THOUGHT = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
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
