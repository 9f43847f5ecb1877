"""Domain values survive the way to JSON and back, and a document that does not fit says where."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from services.domain.codec import CodecError, dumps, from_data, loads, to_data
from services.domain.evaluations import EvaluationReport
from services.domain.events import Event, EventKind, JsonValue
from services.domain.jobs import Job, JobSpec, JobStatus
from services.domain.measurements import Latency
from services.domain.problems import Operator, Problem, ProblemAnalysis, TensorSpec, ValueRef
from services.domain.steps import NewEvent

if TYPE_CHECKING:
    from decimal import Decimal


def an_analysis() -> ProblemAnalysis:
    operator = Operator(
        target="aten.add.Tensor",
        arguments=(ValueRef(ref="x"), 1.0, True, None, "torch.float32", (1, 2, (ValueRef(ref="y"),))),
        keywords=(("limit", float("inf")),),
        outputs=(TensorSpec(name="add", shape=(2, 3), dtype="float32"),),
    )
    return ProblemAnalysis(
        family="pointwise",
        inputs=(TensorSpec(name="x", shape=(2, 3), dtype="float32"),),
        scalar_inputs=((1, 2), (2, "mean")),
        parameters=(),
        operators=(operator,),
        outputs=("add",),
        init_inputs=(1, (2, 3), None, "text"),
        bytes_moved=48,
        flops=6,
        floor_us=0.5,
    )


def a_job() -> Job:
    now = datetime.now(UTC)
    spec = JobSpec(problem=Problem(name="relu", source="import torch"), tags=("a", "b"))
    return Job(
        id="job-1",
        team_id="local",
        spec=spec,
        status=JobStatus.RUNNING,
        created_at=now,
        updated_at=now,
        analysis=an_analysis(),
    )


def test_a_job_with_a_recursive_operator_graph_survives_json() -> None:
    job = a_job()
    assert loads(Job, dumps(job)) == job


def test_an_infinite_literal_survives_json() -> None:
    assert loads(ProblemAnalysis, dumps(an_analysis())).operators[0].keywords == (("limit", float("inf")),)


def test_event_payloads_keep_their_types() -> None:
    event = NewEvent(kind=EventKind.JOB_STATUS, data={"list": [1, 2.0, {"none": None}], "flag": True})
    back = loads(NewEvent, dumps(event))
    assert back == event
    assert back.data["flag"] is True


def test_event_payloads_nest_lists_and_objects() -> None:
    data: dict[str, JsonValue] = {"operators": ["aten.relu.default", [{"sizes": [1, 2.5, None]}]], "device": {"n": [2]}}
    event = Event(job_id="job-1", seq=1, kind=EventKind.JOB_VALIDATED, data=data, at=datetime(2026, 1, 1, tzinfo=UTC))
    assert loads(Event, dumps(event)) == event


def test_unknown_keys_are_ignored_so_that_older_programs_read_newer_documents() -> None:
    data = to_data(TensorSpec(name="x", shape=(1,), dtype="float32")) | {"invented_later": 1}
    assert from_data(TensorSpec, data).name == "x"


@pytest.mark.parametrize(
    ("kind", "data", "where"),
    [
        (TensorSpec, {"name": 1, "shape": [], "dtype": "float32"}, "TensorSpec.name"),
        (TensorSpec, {"name": "x", "shape": ["2"], "dtype": "float32"}, "TensorSpec.shape[0]"),
        (TensorSpec, {"name": "x", "shape": [True], "dtype": "float32"}, "TensorSpec.shape[0]"),
        (TensorSpec, {"shape": [], "dtype": "float32"}, "name"),
        (Latency, {"ci95_us": [1.0]}, "Latency.ci95_us"),
        (Latency, {"median_us": {"float": "abc"}}, "Latency.median_us"),
        (Latency, {"median_us": {"float": ["nan"]}}, "Latency.median_us"),
        (Latency, {"median_us": {"float": "1e3"}}, "Latency.median_us"),
        (EvaluationReport, {"verdict": "perfect"}, "perfect"),
        (EvaluationReport, [], "EvaluationReport"),
    ],
)
def test_a_document_that_does_not_fit_says_where(kind: type, data: object, where: str) -> None:
    with pytest.raises(CodecError) as error:
        from_data(kind, data)
    assert where in str(error.value)


def test_text_that_is_not_json_is_a_codec_error() -> None:
    with pytest.raises(CodecError, match="not JSON"):
        loads(TensorSpec, "{")


def test_a_number_beyond_floats_is_no_fault_of_ours() -> None:
    with pytest.raises(CodecError, match="too large"):
        from_data(Bounded, {"share": 10**400})


def test_what_a_type_refuses_is_refused_with_its_place() -> None:
    assert from_data(Bounded, {"share": 1}) == Bounded(share=1.0)
    with pytest.raises(CodecError, match="Bounded: a share is at most 1"):
        from_data(Bounded, {"share": 2.0})


@pytest.mark.parametrize("data", [{"share": 0.5, "of": [1, {"a": None}]}, {"share": 1, "of": None}])
def test_exact_data_is_decoded(data: dict[str, Any]) -> None:
    assert to_data(from_data(Part, data, exact=True)) == data


@pytest.mark.parametrize(
    ("data", "where"),
    [
        ({"share": 0.5}, "Part: a field is missing"),
        ({"share": 0.5, "of": 1, "more": 1}, "Part: a field is missing, or one too many"),
        ({"share": -(2**53) - 1, "of": 1}, "Part.share: it is not written as it should be"),
        ({"share": float("-inf"), "of": 1}, "Part.share"),
        ({"share": 0.5, "of": [float("nan")]}, "Part.of"),
        ({"share": True, "of": 1}, "Part.share: expected float, got bool"),
    ],
)
def test_data_that_is_not_exact_is_refused_with_its_place(data: dict[str, Any], where: str) -> None:
    with pytest.raises(CodecError, match=where):
        from_data(Part, data, exact=True)


def test_a_hint_that_only_type_checkers_know_does_not_hinder_encoding() -> None:
    assert to_data(Hinted(share=Bounded(share=0.5), when=None)) == {"share": {"share": 0.5}, "when": None}


@dataclass(frozen=True, kw_only=True)
class Bounded:
    share: float

    def __post_init__(self) -> None:
        if not self.share <= 1:
            raise ValueError("a share is at most 1")


@dataclass(frozen=True, kw_only=True)
class Part(Bounded):
    of: Any = None


@dataclass(frozen=True, kw_only=True)
class Hinted:
    share: Bounded
    when: Decimal | None
