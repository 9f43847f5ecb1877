"""The playbook's planner: determinism, order of moves, plain words where it cannot help. No torch, no compiler."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice, takewhile

import pytest

from agents.playbook.critic import refine
from agents.playbook.model import PlaybookModel
from agents.playbook.moves import retunings
from agents.playbook.planner import code, kernels, no_template, plan
from agents.playbook.remembered import experienced
from agents.playbook.schedule import Schedule, read
from agents.playbook.search import sensible
from agents.roles.replies import CoderReply, DraftCritique, PlannerReply, ProfilerReply, RefineCritique, parse_reply
from services.domain.chat import AgentRole, AttemptFact, ChatRequest, Facts
from services.domain.devices import DeviceSheet
from services.domain.evaluations import Environment, EvaluationReport, PhasesS, ShapeResult, Verdict
from services.domain.experiences import Experience, ExperienceKind, RecalledExperience
from services.domain.gates import GateName, GateResult, GateStatus
from services.domain.jobs import Stage
from services.domain.measurements import Baselines, Latency, Speedup
from services.domain.problems import BackwardPass, Operator, Problem, ProblemAnalysis, SizeNumber, TensorSpec, ValueRef
from services.domain.profiles import Roofline

DEVICE = DeviceSheet(
    name="cpu",
    model="a CPU",
    units=2,
    copy_bandwidth_gb_s=10.0,
    cache_bandwidth_gb_s=50.0,
    cache_bytes=1 << 20,
    peak_gflop_s=100.0,
    launch_us=2.0,
    instruction_set=("avx512f",),
    toolchain="gcc",
)


def spec(name: str, *shape: int, dtype: str = "float32", origin: str | None = None) -> TensorSpec:
    return TensorSpec(name=name, shape=shape, dtype=dtype, origin=origin)


def operator(target: str, *arguments: object, output: TensorSpec) -> Operator:
    return Operator(target=target, arguments=arguments, outputs=(output,))  # type: ignore[arg-type]


def rmsnorm() -> ProblemAnalysis:
    x, w = ValueRef(ref="x"), ValueRef(ref="w")
    return analysis(
        operator("aten.pow.Tensor_Scalar", x, 2, output=spec("square", 64, 128)),
        operator("aten.mean.dim", ValueRef(ref="square"), (-1,), True, output=spec("mean", 64, 1)),
        operator("aten.add.Tensor", ValueRef(ref="mean"), 1e-6, output=spec("eps", 64, 1)),
        operator("aten.rsqrt.default", ValueRef(ref="eps"), output=spec("scale", 64, 1)),
        operator("aten.mul.Tensor", x, ValueRef(ref="scale"), output=spec("normal", 64, 128)),
        operator("aten.mul.Tensor", ValueRef(ref="normal"), w, output=spec("out", 64, 128)),
    )


def analysis(*operators: Operator) -> ProblemAnalysis:
    return ProblemAnalysis(
        family="norm",
        inputs=(spec("x", 64, 128),),
        parameters=(spec("w", 128, origin="norm.weight"),),
        operators=operators,
        outputs=(operators[-1].outputs[0].name,),
        bytes_moved=66048,
        flops=32768,
        floor_us=6.6,
    )


def facts(given: ProblemAnalysis, attempts: tuple[AttemptFact, ...] = (), **changes: object) -> Facts:
    made = Facts(
        job_id="job",
        step=len(attempts),
        stage=Stage.REFINE if attempts else Stage.DRAFT,
        seed=1,
        problem=Problem(name="rmsnorm", source=""),
        analysis=given,
        backend="cpp",
        device=DEVICE,
        baselines=Baselines(),
        attempts=attempts,
        experiences=(),
        start_point=attempts[-1] if attempts else None,
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def report(median_us: float, failed: GateName | None = None) -> EvaluationReport:
    detail = "kernel.cpp:1: error: expected ;" if failed else ""
    status = GateStatus.FAILED if failed else GateStatus.PASSED
    return EvaluationReport(
        verdict=Verdict.REJECTED if failed else Verdict.ACCEPTED,
        failed_gate=failed,
        gates=(GateResult(name=failed or GateName.TIMING, status=status, detail=detail, seconds=0.1),),
        latency=Latency(
            median_us=median_us, mean_us=median_us, p10_us=1, p90_us=2, ci95_us=(median_us, median_us), samples=9
        ),
        baselines=Baselines(),
        speedup=Speedup(),
        shapes=(),
        roofline=Roofline(bytes=66048, flops=32768, floor_us=6.6, fraction=6.6 / median_us, bound="memory"),
        profile=None,
        tuned=None,
        environment=Environment(
            device="cpu", driver=None, torch=None, triton=None, toolkit=None, cpu="", referee_version="1", tf32=False,
            isolation="limits",
        ),
        phases_s=PhasesS(),
    )  # fmt: skip


def rounds(given: ProblemAnalysis, count: int) -> list[tuple[PlannerReply, CoderReply]]:
    """Plans and candidates of a job in which every candidate is accepted and faster than the one before."""
    attempts: tuple[AttemptFact, ...] = ()
    found = []
    for step in range(count):
        asked = facts(given, attempts)
        planned = plan(asked)
        written = code(replace(asked, plan=planned.fact()))
        found.append((planned, written))
        attempts += (
            AttemptFact(
                step=step,
                stage=asked.stage,
                candidate_id=f"cand-{step}",
                parent_id=planned.start_point,
                plan=planned.fact(),
                source=written.source,
                report=report(1000.0 / (step + 1)),
            ),
        )
    return found


def test_the_first_draft_is_plain_then_the_opening_then_one_detail_at_a_time() -> None:
    found = rounds(rmsnorm(), 5)
    assert [[move.name for move in planned.moves] for planned, _ in found[:4]] == [
        [],
        ["fuse"],
        ["parallelise", "vectorise"],
        ["unroll"],
    ]
    assert read(found[2][1].source) == Schedule(fuse=True, threads=0, lanes=64, wide=True)
    assert found[2][0].start_point == "cand-1"


def test_the_distance_from_the_roofline_is_that_of_the_set_it_is_of() -> None:
    (_, written), *_ = rounds(rmsnorm(), 1)
    timed = report(1000.0)
    assert timed.latency is not None
    other = ShapeResult(shapes=((64, 128),), latency=timed.latency, speedup=Speedup(), baselines=Baselines())
    several = replace(timed, shapes=(other, other), roofline=replace(timed.roofline, fraction=0.05))  # type: ignore[type-var]
    words = [plan(facts(rmsnorm(), (attempt(0, written.source, one),))).hypothesis for one in (timed, several)]
    assert words[0].endswith("now 1 ms, 151.5 times the roofline floor")
    assert words[1].endswith("now 1 ms, 20.0 times the roofline floor of the first input set")


def test_no_candidate_is_ever_proposed_twice() -> None:
    sources = [kernels(written.source) for _, written in rounds(rmsnorm(), 20)]
    assert None not in sources
    assert len(set(sources)) == 20


def test_the_same_facts_give_the_same_plan() -> None:
    assert rounds(rmsnorm(), 12) == rounds(rmsnorm(), 12)


def test_tuning_tries_every_single_neighbour_and_then_pairs_that_depend_on_the_seed() -> None:
    base = Schedule(fuse=True, threads=0, lanes=64, wide=True)
    first = [move.parameters for move in islice(retunings(base, 1, 0), 40)]
    other = [move.parameters for move in islice(retunings(base, 2, 0), 40)]
    singles = len(list(takewhile(lambda parameters: len(parameters) == 1, first)))
    assert first[:2] == [(("lanes", 32),), (("lanes", 128),)]
    assert first[:singles] == other[:singles]
    assert first != other
    assert first == [move.parameters for move in islice(retunings(base, 1, 0), 40)]


def test_an_operator_without_a_template_is_named() -> None:
    given = analysis(
        operator("aten.convolution.default", ValueRef(ref="x"), ValueRef(ref="w"), output=spec("out", 64, 128))
    )
    assert plan(facts(given)).unable == "no template for aten.convolution: configure a chat model"


def test_a_matrix_product_has_no_template() -> None:
    given = replace(
        analysis(operator("aten.mm.default", ValueRef(ref="x"), ValueRef(ref="y"), output=spec("out", 64, 32))),
        inputs=(spec("x", 64, 128), spec("y", 128, 32)),
    )
    assert plan(facts(given)).unable == "no template for aten.mm: configure a chat model"


def test_another_backend_and_an_untraced_graph_are_refused_in_words() -> None:
    assert "backend cuda" in (plan(facts(rmsnorm(), backend="cuda")).unable or "")
    assert "no Triton template for" in (plan(facts(rmsnorm(), backend="triton")).unable or "")
    untraced = replace(rmsnorm(), operators=(), outputs=(), trace_error="data-dependent control flow")
    assert "data-dependent control flow" in (plan(facts(untraced)).unable or "")


def test_a_lowering_that_disagrees_with_the_trace_is_no_kernel() -> None:
    given = analysis(operator("aten.relu.default", ValueRef(ref="x"), output=spec("out", 64, 127)))
    assert "lowered to float32[64, 128]" in (plan(facts(given)).unable or "")


def remembered(schedule: Schedule, **changes: object) -> RecalledExperience:
    """An experience with a kernel of that schedule."""
    similarity = changes.pop("similarity", 0.9)
    value = changes.pop("value", None)
    code_text = f'"""Old kernel\n\nmoves: x()\n{schedule.header()}\n"""\n'
    experience = Experience(
        id="exp-1", team_id="local", kind=ExperienceKind.SUCCESS, stage=Stage.REFINE, family="norm", backend="cpp",
        device="cpu", toolchain="gcc", title="", text="", code=code_text, verdict=Verdict.ACCEPTED, speedup=3.0,
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
    )  # fmt: skip
    return RecalledExperience(
        experience=replace(experience, **changes),  # type: ignore[arg-type]
        similarity=similarity,  # type: ignore[arg-type]
        value=value,  # type: ignore[arg-type]
    )


def test_the_first_draft_is_the_remembered_kernel_of_the_family() -> None:
    wanted = Schedule(fuse=True, threads=0, lanes=16, stream=True, chunk=256)
    asked = facts(rmsnorm(), experiences=(remembered(wanted),))
    first = plan(asked)
    assert [move.name for move in first.moves] == ["fuse", "parallelise", "vectorise", "non_temporal", "tune"]
    assert read(code(replace(asked, plan=first.fact())).source) == wanted
    assert "remembered" in first.hypothesis


@pytest.mark.parametrize(
    "changes",
    [{"verdict": Verdict.REJECTED}, {"family": "softmax"}, {"backend": "triton"}, {"code": "print()"}, {"code": None}],
)
def test_what_did_not_work_here_is_not_repeated(changes: dict[str, object]) -> None:
    recalled = (remembered(Schedule(fuse=True, lanes=16), **changes),)
    assert plan(facts(rmsnorm(), experiences=recalled)).moves == ()


def test_of_similar_experiences_the_fastest_counts_and_a_distant_one_does_not() -> None:
    slow, fast, distant = Schedule(lanes=16), Schedule(lanes=32), Schedule(lanes=128)
    recalled = (
        remembered(slow, speedup=2.0, similarity=0.9),
        remembered(fast, speedup=2.5, similarity=0.8),
        remembered(distant, speedup=9.0, similarity=0.3),
    )
    assert experienced(facts(rmsnorm(), experiences=recalled)) == fast


def test_the_learned_value_decides_between_equally_fast_experiences() -> None:
    one, other = Schedule(lanes=16), Schedule(lanes=32)
    recalled = (remembered(one, value=0.8, id="a"), remembered(other, value=0.1, id="b"))
    assert experienced(facts(rmsnorm(), experiences=recalled)) == one


def test_a_remembered_kernel_that_fails_is_followed_by_the_plain_draft() -> None:
    asked = facts(rmsnorm(), experiences=(remembered(Schedule(fuse=True, lanes=16)),))
    first = plan(asked)
    written = code(replace(asked, plan=first.fact()))
    failed = attempt(0, written.source, report(1.0, GateName.CORRECTNESS))
    again = replace(asked, attempts=(failed,), start_point=failed, step=1)
    second = plan(again)
    assert read(code(replace(again, plan=second.fact())).source) == Schedule()


def test_a_move_that_hides_its_gain_is_tried_together_with_the_next() -> None:
    drafts = rounds(rmsnorm(), 2)
    attempts = (attempt(0, drafts[0][1].source, report(100.0)), attempt(1, drafts[1][1].source, report(99.0)))
    third = plan(facts(rmsnorm(), attempts))
    assert (third.start_point, [move.name for move in third.moves]) == ("c0", ["fuse", "parallelise", "vectorise"])


def test_the_earliest_of_equally_fast_candidates_is_refined() -> None:
    sources = [written.source for _, written in rounds(rmsnorm(), 4)]
    times = (100.0, 50.0, 20.0, 19.8)
    attempts = tuple(
        attempt(number, source, report(time)) for number, (source, time) in enumerate(zip(sources, times, strict=True))
    )
    assert plan(facts(rmsnorm(), attempts)).start_point == "c2"


def test_moves_that_cannot_gain_are_not_tried() -> None:
    small = facts(rmsnorm(), device=replace(DEVICE, units=1))
    assert {"parallelise", "non_temporal", "interleave_rows"} & {move.name for move in sensible(small)} == set()
    large = facts(replace(rmsnorm(), bytes_moved=66048, family="scan"), device=replace(DEVICE, cache_bytes=1 << 10))
    assert {"parallelise", "non_temporal", "interleave_rows"} <= {move.name for move in sensible(large)}


def attempt(step: int, source: str | None, found: EvaluationReport) -> AttemptFact:
    return AttemptFact(
        step=step, stage=Stage.REFINE, candidate_id=f"c{step}", parent_id=None, plan=None, source=source, report=found
    )


def test_beside_the_compiler_s_code_the_playbook_opens_with_all_its_moves_at_once() -> None:
    compiled = replace(attempt(0, "class ModelNew: pass", report(20.0)), from_compiler=True)

    opening = plan(facts(rmsnorm(), (compiled,)))

    assert [move.name for move in opening.moves] == ["fuse", "parallelise", "vectorise"]


def test_the_playbook_refines_its_own_fastest_kernel_while_the_compiler_s_leads() -> None:
    compiled = replace(attempt(0, "class ModelNew: pass", report(20.0)), from_compiler=True)
    opening = plan(facts(rmsnorm(), (compiled,)))
    own = attempt(1, code(facts(rmsnorm(), (compiled,), plan=opening.fact())).source, report(30.0))

    after = plan(facts(rmsnorm(), (compiled, own), start_point=compiled))

    assert after.start_point == "c1"
    assert after.moves


def test_the_candidate_registers_parameters_and_calls_no_library() -> None:
    source = rounds(rmsnorm(), 3)[2][1].source or ""
    assert "register(self, 'norm.weight', torch.empty((128,), dtype=torch.float32), False)" in source
    assert "moves: fuse(fuse=True), parallelise(threads=0), vectorise(" in source.replace("\n", " ")
    assert "ffast-math" not in source
    compile(source, "candidate.py", "exec")


@pytest.mark.parametrize(
    ("role", "schema", "kind"),
    [
        (AgentRole.PLANNER, "PlannerReply", PlannerReply),
        (AgentRole.CODER, "CoderReply", CoderReply),
        (AgentRole.JUDGE, "DraftCritique", DraftCritique),
        (AgentRole.JUDGE, "RefineCritique", RefineCritique),
        (AgentRole.PROFILER, "ProfilerReply", ProfilerReply),
    ],
)
def test_every_role_answers_in_its_schema_for_nothing(
    role: AgentRole, schema: str, kind: type[PlannerReply | CoderReply | DraftCritique | RefineCritique | ProfilerReply]
) -> None:
    failed = GateName.COMPILE if schema == "DraftCritique" else None
    asked = facts(rmsnorm(), report=report(50.0, failed), source=rounds(rmsnorm(), 1)[0][1].source)
    request = ChatRequest(key="k", role=role, messages=(), schema_name=schema, schema={}, facts=asked)
    reply = asyncio.run(PlaybookModel().complete(request))
    parsed = parse_reply(kind, reply.text)
    assert (reply.model, reply.usage.calls, reply.usage.dollars) == ("playbook", 1, 0.0)
    if isinstance(parsed, DraftCritique):
        assert "expected ;" in parsed.why
    if isinstance(parsed, RefineCritique):
        assert parsed.method == "fuse"
    assert json.loads(reply.text)


def over_rows(**changes: object) -> ProblemAnalysis:
    """x / 64, where 64 is the number of rows."""
    divided = operator("aten.div.Tensor", ValueRef(ref="x"), 64, output=spec("out", 64, 128))
    return replace(replace(analysis(divided), parameters=()), **changes)  # type: ignore[arg-type]


def source_for(given: ProblemAnalysis) -> str:
    asked = facts(given)
    return code(replace(asked, plan=plan(asked).fact())).source or ""


def test_a_number_that_follows_a_size_is_computed_from_it() -> None:
    number = SizeNumber(operator=0, argument=1, factor=1.0, sizes=((0, 0, 1.0),))
    followed = source_for(over_rows(size_numbers=(number,)))
    assert "int64_t n0_0" in followed
    assert "(float)64" not in followed
    assert "raise ValueError" not in followed
    assert "64.0" in source_for(over_rows())


def test_a_size_that_is_built_in_as_a_number_is_refused_when_it_changes() -> None:
    pinned = source_for(over_rows(fixed_sizes=((0, 0),)))
    assert "if x0.shape[0] != 64:" in pinned
    assert "64 is built into this kernel as a number" in pinned


def test_a_backward_pass_is_declined_in_words() -> None:
    asked = BackwardPass(gradients=("`x`", "the parameter `weight`"), cotangents=(), bytes_moved=8, flops=2)
    reason = no_template("cpp", replace(rmsnorm(), backward=asked))
    assert reason is not None
    assert "a backward pass (gradients of `x`, the parameter `weight` are judged" in reason
    assert "configure a chat model" in reason
    assert no_template("cpp", rmsnorm()) is None


def test_a_given_kernel_with_a_backward_pass_is_judged_without_a_move() -> None:
    asked = BackwardPass(gradients=("`x`",), cotangents=(), bytes_moved=8, flops=2)
    critique = refine(facts(replace(rmsnorm(), backward=asked), source="class ModelNew: ..."))
    assert critique.method == "none"
    assert "a backward pass (gradients of `x` are judged" in critique.modification_plan
