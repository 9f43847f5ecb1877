"""OpenTelemetry spans: one trace a job, in whichever process its parts run.

The trace's id is computed from the job's, so that API, orchestrator and workers add to one trace without handing a
context through database and broker. Spans go where `configure_traces` says; without it they cost almost nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import NonRecordingSpan, Span, SpanContext, SpanKind, TraceFlags

from services.domain.errors import ConfigurationError
from services.domain.evaluations import EvaluationRequest
from services.domain.work import WorkOrder

_TRACER = "kernelwright"


def trace_of(job_id: str) -> tuple[int, int]:
    """The trace's id and that of its root span, which is the job itself."""
    digest = hashlib.sha256(job_id.encode()).digest()
    return int.from_bytes(digest[:16], "big"), int.from_bytes(digest[16:24], "big")


@contextmanager
def job_span(
    job_id: str,
    name: str,
    attributes: Mapping[str, str | int | float] | None = None,
    kind: SpanKind = SpanKind.INTERNAL,
) -> Iterator[Span]:
    """A span in a job's trace: below the span around it where that is of the same job, else below the job."""
    tracer = trace.get_tracer(_TRACER)
    known = {"kernelwright.job": job_id, **(attributes or {})}
    with tracer.start_as_current_span(name, context=_context(job_id), kind=kind, attributes=known) as span:
        yield span


@contextmanager
def order_span(order: WorkOrder) -> Iterator[Span]:
    """The span of a worker's order."""
    request = order.request
    attributes = {"kernelwright.order": order.id, "kernelwright.device": request.device}
    name = "validate"
    if isinstance(request, EvaluationRequest):
        name, attributes["kernelwright.candidate"] = "evaluate", request.candidate_id
    with job_span(request.job_id, f"worker {name}", attributes, SpanKind.CONSUMER) as span:
        yield span


def configure_traces(endpoint: str, service: str, version: str) -> None:
    """Send spans by OTLP over HTTP. Raises `ConfigurationError` where the extra `telemetry` is not installed."""
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ModuleNotFoundError:
        raise ConfigurationError(
            "KERNELWRIGHT_TRACES_ENDPOINT is set, and OpenTelemetry is missing: pip install 'kernelwright[telemetry]'"
        ) from None
    provider = TracerProvider(resource=Resource.create({"service.name": service, "service.version": version}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint)))
    trace.set_tracer_provider(provider)


def _context(job_id: str) -> Context | None:
    """The surrounding context where it is of this job's trace (None), else the job's root."""
    trace_id, span_id = trace_of(job_id)
    if trace.get_current_span().get_span_context().trace_id == trace_id:
        return None
    parent = SpanContext(trace_id=trace_id, span_id=span_id, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED))
    return trace.set_span_in_context(NonRecordingSpan(parent))
