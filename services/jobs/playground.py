"""The playground: a recorded prompt sent again, changed or to another model. Nothing of it enters the job's record."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from services.domain.candidates import EvaluatedCandidate
from services.domain.chat import ChatMessage, ChatReply, ChatRequest, Facts, ModelLimits
from services.domain.digests import RecordedStep
from services.domain.errors import ConfigurationError, ConflictError, NotFoundError, ReplyError
from services.domain.events import JsonValue
from services.domain.jobs import Job, JobSpec
from services.domain.measurements import Baselines
from services.domain.steps import ModelCall, Step
from services.domain.usage import Usage
from services.jobs.service import JobService
from services.ports.models import ChatModel, LimitedChatModel
from services.ports.runtime import Clock
from services.teams.quotas import QuotaService

MAX_PROMPT_CHARACTERS = 1 << 20
"""Of all messages together."""
ROLES = ("system", "user", "assistant")


@dataclass(frozen=True, kw_only=True)
class ReplyForm:
    """What a call's reply must look like."""

    name: str
    schema: dict[str, JsonValue]


class ReplyForms(Protocol):
    """Knows what agents' replies look like, and reads them."""

    def form(self, call: ModelCall, step: Step, spec: JobSpec) -> ReplyForm:
        """The form that a recorded call asked for."""

    def read(self, form: ReplyForm, text: str, start_source: str | None) -> str | None:
        """The kernel in a Coder's reply, None in another's. Raises `ReplyError` where a text does not fit."""


@dataclass(frozen=True, kw_only=True)
class PlaygroundReply:
    """What came back."""

    text: str
    model: str
    usage: Usage
    seconds: float
    stop_reason: str
    fault: str | None
    """Why a job could not have used it; None where it could."""
    source: str | None
    """The kernel in it, to have judged; None where there is none."""


class PlaygroundService:
    """Sends recorded prompts again."""

    def __init__(
        self,
        jobs: JobService,
        models: Callable[[str], ChatModel],
        forms: ReplyForms,
        clock: Clock,
        *,
        quotas: QuotaService | None = None,
        offline: frozenset[str] = frozenset(),
    ) -> None:
        """`offline`: names of models that do not answer a prompt's text."""
        self._jobs = jobs
        self._models = models
        self._forms = forms
        self._clock = clock
        self._quotas = quotas
        self._offline = offline

    async def send(
        self,
        team_id: str,
        job_id: str,
        index: int,
        number: int,
        *,
        messages: tuple[ChatMessage, ...] | None = None,
        model: str | None = None,
    ) -> PlaygroundReply:
        """Send call `number` (from 0) of step `index` again, with other messages or to another model.

        Raises `NotFoundError`, `ConfigurationError` for what cannot be sent, `LimitError` where
        a quota is used up, `ModelError`."""
        job = await self._jobs.get(team_id, job_id)
        if self._quotas is not None:
            await self._quotas.admit(team_id)
        recorded = await self._jobs.step(team_id, job_id, index)
        call = _call(recorded, number)
        chat = self._model(model or call.model)
        sent = _checked(call.prompt if messages is None else messages)
        form = self._forms.form(call, recorded.step, job.spec)
        began = self._clock.monotonic()
        reply = await chat.complete(_request(job, recorded.step, call, sent, form, chat))
        if self._quotas is not None:
            await self._quotas.record(team_id, reply.usage)
        seconds = self._clock.monotonic() - began
        return await self._read(team_id, recorded.step, form, reply, seconds)

    def _model(self, name: str) -> ChatModel:
        if any(part.rpartition("=")[2].strip() in self._offline for part in name.split(",")):
            raise ConfigurationError(
                f"the model {name} does not answer prompts: it works from the job's data. Name another one, "
                "for example openai:<model> or compatible:<model>"
            )
        return self._models(name)

    async def _read(
        self, team_id: str, step: Step, form: ReplyForm, reply: ChatReply, seconds: float
    ) -> PlaygroundReply:
        start = None if step.start_point is None else await self._start(team_id, step.start_point)
        source, fault = None, None
        try:
            source = self._forms.read(form, reply.text, None if start is None else start.candidate.source)
        except ReplyError as error:
            fault = str(error)
        return PlaygroundReply(
            text=reply.text,
            model=reply.model,
            usage=reply.usage,
            seconds=seconds,
            stop_reason=reply.stop_reason,
            fault=fault,
            source=source,
        )

    async def _start(self, team_id: str, candidate_id: str) -> EvaluatedCandidate | None:
        try:
            return await self._jobs.candidate(team_id, candidate_id)
        except NotFoundError:
            return None


def _call(recorded: RecordedStep, number: int) -> ModelCall:
    calls = recorded.step.calls
    if not 0 <= number < len(calls):
        raise NotFoundError(f"round {recorded.step.index + 1} has {len(calls)} model calls; there is no call {number}")
    return calls[number]


def _checked(messages: tuple[ChatMessage, ...]) -> tuple[ChatMessage, ...]:
    if not messages or not any(one.content.strip() for one in messages):
        raise ConfigurationError("the prompt is empty")
    wrong = next((one.role for one in messages if one.role not in ROLES), None)
    if wrong is not None:
        raise ConfigurationError(f"unknown role {wrong!r} of a message; known: {', '.join(ROLES)}")
    size = sum(len(one.content) for one in messages)
    if size > MAX_PROMPT_CHARACTERS:
        raise ConfigurationError(f"the prompt has {size} characters; at most {MAX_PROMPT_CHARACTERS} are sent")
    return messages


def _request(
    job: Job, step: Step, call: ModelCall, messages: tuple[ChatMessage, ...], form: ReplyForm, chat: ChatModel
) -> ChatRequest:
    if job.analysis is None:
        raise ConflictError(f"job {job.id} was never validated")
    limits = chat.limits(call.role) if isinstance(chat, LimitedChatModel) else ModelLimits()
    facts = Facts(
        job_id=job.id,
        step=step.index,
        stage=step.stage,
        seed=job.spec.seed,
        problem=job.spec.problem,
        analysis=job.analysis,
        backend=job.spec.backend,
        device=None,
        baselines=Baselines(),
        attempts=(),
        experiences=(),
        start_point=None,
    )
    return ChatRequest(
        key=f"playground/{uuid.uuid4().hex}",
        role=call.role,
        messages=messages,
        schema_name=form.name,
        schema=form.schema,
        facts=facts,
        max_output_tokens=limits.output_tokens,
        team_id=job.team_id,
    )
