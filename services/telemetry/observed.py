"""Model calls and evaluations, counted and traced."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from opentelemetry.trace import SpanKind

from services.domain.chat import ChatReply, ChatRequest
from services.domain.errors import ModelError
from services.domain.evaluations import EvaluationReport, EvaluationRequest
from services.domain.usage import Usage
from services.ports.models import ChatModel, MeteredChatModel
from services.telemetry import genai, metrics
from services.telemetry.traces import job_span


class ObservedModel(ChatModel):
    """A chat model whose calls are seen."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    @property
    def name(self) -> str:
        """The model's."""
        return self._model.name

    async def complete(self, request: ChatRequest) -> ChatReply:
        """The model's answer. Raises what the model raises."""
        name, began = self._model.name, time.monotonic()
        attributes = genai.request_attributes(name, request)
        with job_span(request.facts.job_id, f"chat {request.role.value}", attributes, SpanKind.CLIENT) as span:
            try:
                reply = await self._model.complete(request)
            except ModelError as error:
                metrics.MODEL_CALLS.labels(name, request.role.value, "error").inc()
                if error.usage is not None:
                    metrics.count_usage(name, error.usage)
                raise
            span.set_attributes(genai.reply_attributes(reply))
        metrics.MODEL_CALLS.labels(name, request.role.value, "ok").inc()
        metrics.MODEL_SECONDS.labels(name).observe(time.monotonic() - began)
        metrics.count_usage(name, reply.usage)
        return reply


class ObservedMeteredModel(ObservedModel, MeteredChatModel):
    """The same for a model that costs something."""

    def __init__(self, model: MeteredChatModel) -> None:
        super().__init__(model)
        self._metered = model

    def ceiling(self, request: ChatRequest) -> Usage:
        """The model's."""
        return self._metered.ceiling(request)


def observed_model(model: ChatModel) -> ChatModel:
    """The model, seen; its ceiling stays known where it has one."""
    return ObservedMeteredModel(model) if isinstance(model, MeteredChatModel) else ObservedModel(model)


@contextmanager
def observed_evaluation(request: EvaluationRequest) -> Iterator[Callable[[EvaluationReport], EvaluationReport]]:
    """An evaluation is seen while the context lasts; the function it gives counts the report and returns it."""
    began = time.monotonic()
    where = {"kernelwright.candidate": request.candidate_id, "kernelwright.device": request.device}
    with job_span(request.job_id, "evaluate", where) as span:

        def counted(report: EvaluationReport) -> EvaluationReport:
            span.set_attribute("kernelwright.verdict", report.verdict.value)
            metrics.EVALUATION_SECONDS.labels(request.device).observe(time.monotonic() - began)
            metrics.count_report(request.device, request.backend, report)
            return report

        yield counted
