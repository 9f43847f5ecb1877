"""What an installation says of itself: log lines, metrics and traces."""

from __future__ import annotations

import io
import json
import logging

import pytest
from prometheus_client.parser import text_string_to_metric_families

from services.domain.chat import ChatRequest
from services.domain.evaluations import Verdict
from services.domain.usage import Usage
from services.ports.models import MeteredChatModel
from services.telemetry import metrics
from services.telemetry.genai import provider_of
from services.telemetry.logs import configure_logs, log_context
from services.telemetry.observed import observed_evaluation, observed_model
from services.telemetry.traces import job_span, trace_of
from tests.doubles import ScriptedModel, a_candidate, a_report, an_evaluation_request


@pytest.fixture
def stream() -> io.StringIO:
    stream = io.StringIO()
    configure_logs("json", "INFO", stream)
    return stream


def value(name: str, **labels: str) -> float:
    """A sample of this process's own metrics; 0 where it was never counted."""
    for family in text_string_to_metric_families(metrics.exposition().decode()):
        for sample in family.samples:
            if sample.name == name and labels.items() <= sample.labels.items():
                return float(sample.value)
    return 0.0


def test_a_log_line_is_one_json_document_with_the_ids_of_the_work_at_hand(stream: io.StringIO) -> None:
    with log_context(job="job-1", order="eval-1"):
        logging.getLogger("workers.queue.tasks").warning("the answer to %s came too late", "eval-1")
    logging.getLogger("workers.queue.tasks").warning("idle")
    first, second = (json.loads(line) for line in stream.getvalue().splitlines())
    assert (first["event"], first["level"]) == ("the answer to eval-1 came too late", "warning")
    assert (first["job"], first["order"], first["logger"]) == ("job-1", "eval-1", "workers.queue.tasks")
    assert "job" not in second


def test_a_traceback_stays_within_its_line(stream: io.StringIO) -> None:
    try:
        raise ValueError("boom")
    except ValueError:
        logging.getLogger("x").exception("failed")
    (line,) = stream.getvalue().splitlines()
    assert "ValueError: boom" in json.loads(line)["exception"]


async def test_evaluations_are_counted_by_verdict_and_phase() -> None:
    before = value("kernelwright_candidates_total", device="cpu", verdict="rejected")
    with observed_evaluation(an_evaluation_request(a_candidate())) as counted:
        report = counted(a_report(Verdict.REJECTED))
    assert report.verdict is Verdict.REJECTED
    assert value("kernelwright_candidates_total", device="cpu", verdict="rejected") == before + 1
    assert value("kernelwright_evaluation_seconds_count", device="cpu") >= 1


def test_what_a_model_call_used_is_counted() -> None:
    before = value("kernelwright_model_dollars_total", model="openai:x")
    metrics.count_usage("openai:x", Usage(calls=1, input_tokens=10, output_tokens=5, dollars=0.25))
    metrics.count_usage("openai:x", Usage(calls=1, input_tokens=10, output_tokens=5, dollars=None))
    assert value("kernelwright_model_dollars_total", model="openai:x") == before + 0.25
    assert value("kernelwright_model_tokens_total", model="openai:x", kind="input") >= 20


class PricedModel(ScriptedModel):
    def ceiling(self, request: ChatRequest) -> Usage:
        del request
        return Usage(calls=1, input_tokens=7, output_tokens=7)


def test_a_model_keeps_its_ceiling_and_one_without_gets_none() -> None:
    priced = observed_model(PricedModel([]))
    assert isinstance(priced, MeteredChatModel)
    assert not isinstance(observed_model(ScriptedModel([])), MeteredChatModel)
    assert observed_model(ScriptedModel([], name="playbook")).name == "playbook"


def test_all_processes_compute_the_same_trace_for_a_job() -> None:
    assert trace_of("job-1") == trace_of("job-1")
    assert trace_of("job-1") != trace_of("job-2")
    with job_span("job-1", "outer") as outer, job_span("job-1", "inner") as inner:
        assert outer.get_span_context().trace_id == trace_of("job-1")[0]
        assert inner.get_span_context().trace_id == trace_of("job-1")[0]
        with job_span("job-2", "another job's") as other:
            assert other.get_span_context().trace_id == trace_of("job-2")[0]


def test_a_models_provider_is_what_its_name_begins_with() -> None:
    assert provider_of("openai:gpt-x") == "openai"
    assert provider_of("playbook") == "playbook"
