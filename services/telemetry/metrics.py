"""Prometheus metrics that a process counts itself; the database is read at each scrape (`storage.metrics`).

`rate(kernelwright_candidates_total[1m]) * 60` are candidates a minute; a device's busy share is
`rate(kernelwright_worker_busy_seconds_total[5m])`.
"""

from __future__ import annotations

from prometheus_client import Counter, Gauge, Histogram, generate_latest, start_http_server
from prometheus_client.core import REGISTRY

from services.domain.errors import ConfigurationError
from services.domain.evaluations import EvaluationReport
from services.domain.usage import Usage

_SECONDS = (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000)

CANDIDATES = Counter(
    "kernelwright_candidates", "Candidates judged by the workers.", ["device", "backend", "verdict", "failed_gate"]
)
PHASE_SECONDS = Counter("kernelwright_phase_seconds", "Device time of evaluations by phase.", ["device", "phase"])
EVALUATION_SECONDS = Histogram(
    "kernelwright_evaluation_seconds",
    "From asking for an evaluation to its report, waiting included.",
    ["device"],
    buckets=_SECONDS,
)
MODEL_CALLS = Counter("kernelwright_model_calls", "Calls of chat models.", ["model", "role", "outcome"])
MODEL_SECONDS = Histogram("kernelwright_model_seconds", "Duration of model calls.", ["model"], buckets=_SECONDS)
MODEL_TOKENS = Counter("kernelwright_model_tokens", "Tokens of model calls.", ["model", "kind"])
MODEL_DOLLARS = Counter("kernelwright_model_dollars", "Price of model calls whose price is known.", ["model"])
JOBS_ENDED = Counter("kernelwright_jobs_ended", "Jobs that this orchestrator took to their end.", ["status"])
LEASES_LOST = Counter("kernelwright_leases_lost", "Jobs that another orchestrator took while this one held them.")

REQUEST_SECONDS = Histogram(
    "kernelwright_request_seconds",
    "From a request of the API to the beginning of its answer.",
    ["method", "status"],
    buckets=(0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10),
)

RATE_LIMITS_ALONE = Gauge(
    "kernelwright_rate_limits_alone", "1 while this API process limits requests by itself, for Redis does not answer."
)


def count_report(device: str, backend: str, report: EvaluationReport) -> None:
    """Count one evaluation."""
    gate = report.failed_gate.value if report.failed_gate is not None else ""
    CANDIDATES.labels(device, backend, report.verdict.value, gate).inc()
    phases = report.phases_s
    for name in ("warm", "compile", "load", "correctness", "integrity", "timing", "profile"):
        PHASE_SECONDS.labels(device, name).inc(getattr(phases, name))


def count_usage(model: str, usage: Usage) -> None:
    """Count what a call used."""
    MODEL_TOKENS.labels(model, "input").inc(usage.input_tokens)
    MODEL_TOKENS.labels(model, "output").inc(usage.output_tokens)
    if usage.dollars is not None:
        MODEL_DOLLARS.labels(model).inc(usage.dollars)


def exposition() -> bytes:
    """This process's metrics in Prometheus's text format."""
    return generate_latest(REGISTRY)


def serve_metrics(port: int, host: str) -> None:
    """Serve `/metrics` from a thread of its own. Raises `ConfigurationError` where the port is taken."""
    try:
        start_http_server(port, host)
    except OSError as error:
        raise ConfigurationError(f"KERNELWRIGHT_METRICS_PORT={port}: {error.strerror or error}") from None
