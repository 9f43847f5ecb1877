"""The nodes of the workflow. Each returns the part of the state that it changes; `learn` alone records the step."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import Generic, TypeVar, cast

from langgraph.runtime import Runtime

from agents.prompts import describe
from agents.prompts.render import PRACTICES
from agents.roles.coder import Draft, read_draft
from agents.roles.judge import critique_in_brief, critique_in_full, critique_schema, read_critique
from agents.roles.planner import chosen_start, plan_in_brief, plan_schema, read_plan
from agents.roles.practices import read_practices, reflection_in_brief
from agents.roles.profiler import measured_diagnosis, read_diagnosis
from agents.roles.replies import CoderReply, InspectionReply, PracticesReply, ProfilerReply
from agents.roles.second_opinion import doubt_of, inspection_in_brief, read_inspection
from agents.workflow.budget import BudgetSpentError, reserve_device
from agents.workflow.compiler_draft import finding
from agents.workflow.context import JobContext
from agents.workflow.facts import facts_of
from agents.workflow.leaderboard import kept_rounds, least_profiled_speedup
from agents.workflow.model_call import Agent, Asker
from agents.workflow.nearest_example import NEAREST, nearest_example, with_nearest_example
from agents.workflow.origin import course_of, origin_of
from agents.workflow.record import candidate_of, ready_draft, step_record
from agents.workflow.rounds import NO_PLAN, after_last_step, after_round, begin_round, reflects
from agents.workflow.rules import JobRules, RetryPolicy
from agents.workflow.seed_kernel import evaluation_of
from agents.workflow.state import BranchOutput, WorkflowState
from services.domain.candidates import Candidate, EvaluatedCandidate, Origin, evaluation_id
from services.domain.chat import AgentRole, Facts
from services.domain.errors import InfrastructureError, ModelError
from services.domain.evaluations import EvaluationReport, EvaluationRequest, PhasesS, Verdict
from services.domain.events import EventKind, JsonValue
from services.domain.experiences import ExperienceKind, RecalledExperience, RecallQuery
from services.domain.jobs import Stage
from services.domain.profiles import limit_in_words
from services.domain.ratios import seed_figures
from services.domain.texts import shortened
from services.ports.runtime import Clock
from services.ports.work import EvaluationQueue
from services.team_memory.practices import experience_of
from services.team_memory.reward import evidence
from services.telemetry.observed import observed_evaluation

log = logging.getLogger(__name__)
T = TypeVar("T")
Run = Runtime[JobContext]

PLANNER = Agent(role=AgentRole.PLANNER, schema=plan_schema, read=read_plan, summary=plan_in_brief)
CODER = Agent(
    role=AgentRole.CODER, schema=lambda _facts: CoderReply, read=read_draft, summary=lambda draft: draft.summary
)
PROFILER = Agent(
    role=AgentRole.PROFILER,
    schema=lambda _facts: ProfilerReply,
    read=read_diagnosis,
    summary=lambda found: limit_in_words(found.bottleneck),
)
INSPECTOR = Agent(
    role=AgentRole.JUDGE,
    task="inspector",
    schema=lambda _facts: InspectionReply,
    read=read_inspection,
    summary=inspection_in_brief,
)
REFLECTOR = Agent(
    role=AgentRole.JUDGE,
    task=PRACTICES,
    schema=lambda _facts: PracticesReply,
    read=read_practices,
    summary=reflection_in_brief,
)
JUDGE = Agent(role=AgentRole.JUDGE, schema=critique_schema, read=read_critique, summary=critique_in_brief)


@dataclass(frozen=True, kw_only=True)
class AgentTurn(Generic[T]):
    """What an agent's call changes in the state, and its answer where there is one."""

    update: WorkflowState
    value: T | None


class Workflow:
    """Planner, Coder, referee, Profiler and Judge in turns, until a stop rule holds."""

    def __init__(self, queue: EvaluationQueue, clock: Clock, rules: JobRules) -> None:
        self._queue = queue
        self._clock = clock
        self._rules = rules
        self._asker = Asker(clock, rules.model_retries)
        self._once = Asker(clock, RetryPolicy(attempts=1))

    async def analyse(self, state: WorkflowState, *, runtime: Run) -> WorkflowState:  # noqa: ARG002 -- langgraph names it
        """Take stock of the validated problem and what was done before; begin the first step."""
        return await begin_round(runtime.context, self._rules, self._clock.now(), None)

    async def recall(self, state: WorkflowState, *, runtime: Run) -> WorkflowState:
        """Ask memory what helped with problems like this one."""
        context = runtime.context
        await context.emit(EventKind.STEP_STARTED, {"step": state["step"], "stage": state["stage"]})
        if not course_of(state).written:
            context.cache(state).recalled = ()
            return {"recalled": []}
        found = await context.stores.memory.recall(self._query(state, context))
        proven = None if state["holdout"] else await self._nearest_example(context)
        found = with_nearest_example(found, proven, self._rules.context_size)
        await self._pass_on_notice(context, state["step"])
        adopted = proven if proven is not None and context.adopts(state, proven) else None
        if adopted is not None:
            found = (adopted,)  # nobody is asked in this step: what is measured stands alone
        context.cache(state).recalled = found
        update: WorkflowState = {"recalled": [(item.experience.id, item.similarity, item.value) for item in found]}
        return update if adopted is None else {**update, "origin": Origin.RECALLED.value, "start_step": None}

    def _query(self, state: WorkflowState, context: JobContext) -> RecallQuery:
        start = context.start_point(state)
        profile = start.report.profile if start is not None and start.report is not None else None
        bottleneck = profile.bottleneck if profile is not None else None
        return RecallQuery(
            team_id=context.job.team_id,
            stage=Stage(state["stage"]),
            text=describe.need(context.analysis, state["stage"], bottleneck),
            family=context.analysis.family,
            backend=context.job.spec.backend,
            device=context.job.spec.device,
            bottleneck=bottleneck,
            dtype=context.setting.dtype,
            shape_class=context.setting.shape_class,
            site=context.setting.site,
            start_point=start.candidate_id if start is not None else None,
            left_out=context.own_experiences(),
            experts_only=state["holdout"],
            limit=self._rules.context_size,
            seed=context.job.spec.seed + state["step"],
        )

    async def _nearest_example(self, context: JobContext) -> RecalledExperience | None:
        """The fastest kernel that other jobs have for the most similar problem."""
        subject = context.analysis.subject
        near = await context.stores.memory.search(context.job.team_id, subject, NEAREST)
        others = [item for item in near if item.experience.job_id != context.job.id]
        return nearest_example(others, context.setting, context.job.spec.backend, subject)

    async def plan(self, state: WorkflowState, *, runtime: Run) -> WorkflowState:
        """Ask the Planner."""
        context = runtime.context
        facts = await facts_of(state, context)
        turn = await self._turn(PLANNER, state, context, facts)
        update, reply = turn.update, turn.value
        if reply is None:
            return update
        if reply.unable is not None:
            given_up: WorkflowState = {**update, "failure": f"{NO_PLAN}{reply.unable}"}
            alone = state["stage"] == Stage.REFINE and state["width"] == 1
            return given_up if alone else {**given_up, "stop": reply.unable}  # alone, other start points are left
        start = chosen_start(reply, facts)
        fact = replace(reply.fact(), start_point=start.candidate_id if start is not None else None)
        start_step = start.step if start is not None else None
        return {**update, "plan": await context.keep_plan(state, fact), "start_step": start_step}

    async def code(self, state: WorkflowState, *, runtime: Run) -> WorkflowState:
        """Ask the Coder, or take the kernel that comes ready."""
        context = runtime.context
        ready = await ready_draft(state, context)
        if ready is not None:
            return await self._add(state, context, ready)
        turn = await self._turn(CODER, state, context, await facts_of(state, context))
        if turn.value is None:
            return turn.update
        return {**turn.update, **await self._add(state, context, turn.value)}

    async def evaluate(self, state: WorkflowState, *, runtime: Run) -> WorkflowState:
        """Have the candidate judged. Raises `InfrastructureError` when no worker could, after some attempts."""
        context = runtime.context
        current, origin = await context.current_candidate(state), origin_of(state)
        assert current is not None
        request = self._evaluation(context, current.candidate, thorough=origin is Origin.CONFIRMATION)
        earlier = context.judged_before(state, current.candidate.source)
        if earlier is not None and earlier.report is not None:
            again = replace(earlier.report, phases_s=PhasesS())
            await context.stores.candidates.finish(request, again)
            context.cache(state).candidate = replace(current, report=again)
            return await self._repeated(context, current.candidate, again, earlier.step)
        report = current.report
        where: dict[str, JsonValue] = {"step": state["step"], "candidate_id": current.candidate.id}
        if report is None:
            try:
                reserve_device(context.budget(state), context.spent(state), self._rules.evaluation_timeout_s)
            except BudgetSpentError as spent:
                return {"failure": str(spent), "stop": str(spent)}
            await context.emit(EventKind.EVALUATION_STARTED, where)
            report = await self._judged(context, request)
        context.cache(state).candidate = replace(current, report=report)
        await context.emit(EventKind.EVALUATION_FINISHED, {**where, **_figures(report)})
        if origin is Origin.COMPILER and (told := finding(report)) is not None:
            await context.emit(EventKind.JOB_NOTICE, {"step": state["step"], "message": told})
        return {"verdict": report.verdict.value, "leads": context.leads(state, report)}

    async def _repeated(
        self, context: JobContext, candidate: Candidate, report: EvaluationReport, earlier: int
    ) -> WorkflowState:
        """The candidate is the source of an earlier step again: it has that one's report, and the agents are told."""
        step = candidate.step
        where: dict[str, JsonValue] = {"step": step, "candidate_id": candidate.id}
        told = f"round {step + 1} proposed the source of round {earlier + 1} again; it was not judged again"
        await context.emit(EventKind.EVALUATION_FINISHED, {**where, **_figures(report)})
        await context.emit(EventKind.JOB_NOTICE, {"step": step, "message": told})
        critique = f"This is the source of step {earlier} once more, so it was not judged: change the code itself."
        return {"verdict": report.verdict.value, "leads": False, "repeats": earlier, "critique": critique}

    async def inspect(self, state: WorkflowState, *, runtime: Run) -> WorkflowState:
        """Ask the Judge for a second opinion on a leading candidate before it counts, or on any before it is run."""
        context = runtime.context
        turn = await self._turn(INSPECTOR, state, context, await facts_of(state, context))
        doubt = doubt_of(turn.value)
        if state.get("verdict") is None:
            before = _tolerant(turn.update)
            return before if doubt is None else {**before, "failure": f"not run: second opinion of the Judge: {doubt}"}
        update: WorkflowState = {**turn.update, "doubt": doubt}
        if doubt is not None:
            update["verdict"] = Verdict.SUSPICIOUS.value
        return _tolerant(update)

    async def profile(self, state: WorkflowState, *, runtime: Run) -> WorkflowState:
        """Say what limits a candidate that ran; the Profiler is asked where there are counters to choose from."""
        context = runtime.context
        facts = await facts_of(state, context)
        measured = measured_diagnosis(facts.report)
        if measured is not None:
            return {"diagnosis": measured.bottleneck or None, "findings": None}  # the report itself says why
        turn = await self._turn(PROFILER, state, context, facts)
        found = turn.value
        if found is None:
            return _tolerant(turn.update)
        return {
            **turn.update,
            "diagnosis": found.bottleneck,
            "metrics": list(found.metrics),
            "findings": f"{found.bottleneck}: {found.evidence}",
        }

    async def judge(self, state: WorkflowState, *, runtime: Run) -> WorkflowState:
        """Ask the Judge what is wrong, or what to improve."""
        context = runtime.context
        turn = await self._turn(JUDGE, state, context, await facts_of(state, context))
        return _tolerant({**turn.update, "critique": critique_in_full(turn.value)})

    async def learn(self, state: WorkflowState, *, runtime: Run) -> WorkflowState:
        """Record the round's steps in order, each with everything it produced in one fenced transaction."""
        ends = [cast("WorkflowState", end) for end in state.get("branches", [])] or [state]
        for end in sorted(ends, key=lambda end: end["step"]):
            await self._record(end, runtime.context)
        return {}

    async def select(self, state: WorkflowState, *, runtime: Run) -> WorkflowState:
        """Decide whether to go on, how wide, and from where."""
        context, ends = runtime.context, state.get("branches", [])
        if state.get("stop"):
            return {}
        context.forget_round()
        width = after_round(ends) if ends else state["next_width"]
        return await begin_round(context, self._rules, self._clock.now(), width)

    async def reflect(self, state: WorkflowState, *, runtime: Run) -> WorkflowState:
        """Ask the Judge what the whole job taught. Whatever fails here has no consequence for the job."""
        context = runtime.context
        if not reflects(context, self._rules):
            return {}
        after = after_last_step(state, context, self._clock.now())
        known = await context.stores.memory.recall(self._query(after, context))
        practices = tuple(item for item in known if item.experience.kind is ExperienceKind.BEST_PRACTICE)
        context.cache(after).recalled = practices
        try:
            facts = replace(await facts_of(after, context), step=after["step"] - 1)  # told with the last round
            reply = await self._once.ask(REFLECTOR, after, context, facts)
        except (BudgetSpentError, ModelError) as error:
            log.info("the job ends without practices: %s", error)
            return {}
        await context.keep_calls()
        now = self._clock.now()
        kept = reply.value.kept if reply.value is not None else ()
        learned = [experience_of(one, context.job, context.setting, now) for one in kept]
        if learned:
            await context.stores.memory.remember(learned)
        return {}

    async def _pass_on_notice(self, context: JobContext, step: int) -> None:
        """Say on the job that memory works less well than it should, once for each reason."""
        notice = context.stores.memory.notice()
        if notice is not None and notice != context.notice:
            await context.emit(EventKind.JOB_NOTICE, {"step": step, "message": notice})
        context.notice = notice

    async def hand_back(self, state: WorkflowState) -> BranchOutput:
        """The end of a branch: its state, for the round's record."""
        own = {name: value for name, value in state.items() if name not in ("branches", "round")}
        return BranchOutput(branches=[own])

    async def _record(self, state: WorkflowState, context: JobContext) -> None:
        record = await step_record(state, context, self._clock.now())
        await context.stores.jobs.record_step(context.lease.current, record)
        context.record(record.step, await context.current_candidate(state), record.revised)
        context.count_vain(record.step)

    async def _turn(self, agent: Agent[T], state: WorkflowState, context: JobContext, facts: Facts) -> AgentTurn[T]:
        """One call of an agent: its answer, or a state that asks for a repair turn, or one that gives up."""
        try:
            answer = await self._asker.ask(agent, state, context, facts)
        except BudgetSpentError as spent:
            return AgentTurn(update={"failure": str(spent), "stop": str(spent), "attempt": 0}, value=None)
        calls = [*state["calls"], answer.call_key]
        if answer.error is None:
            return AgentTurn(update={"calls": calls, "attempt": 0}, value=answer.value)
        if state["attempt"] == 0:
            return AgentTurn(update={"calls": calls, "attempt": 1}, value=None)
        failure = f"the {agent.name}'s reply could not be used: {answer.error}"
        return AgentTurn(update={"calls": calls, "attempt": 0, "failure": failure}, value=None)

    async def _add(self, state: WorkflowState, context: JobContext, draft: Draft) -> WorkflowState:
        candidate = candidate_of(state, context, draft, self._clock.now())
        await context.stores.candidates.add(context.lease.current, candidate)
        seeded = candidate.origin is Origin.SEED
        proven = await context.stores.candidates.report(evaluation_id(candidate.id)) if seeded else None
        context.cache(state).candidate = EvaluatedCandidate(candidate=candidate, report=proven)
        await context.emit(
            EventKind.CANDIDATE_CREATED,
            {
                "step": candidate.step,
                "candidate_id": candidate.id,
                "parent_id": candidate.parent_id,
                "summary": candidate.summary,
            },
        )
        return {"candidate_id": candidate.id}

    def _evaluation(self, context: JobContext, candidate: Candidate, *, thorough: bool) -> EvaluationRequest:
        first = context.attempts[0].report if context.attempts and context.job.spec.seed_candidate is not None else None
        spec = context.job.spec
        last = thorough or kept_rounds(spec.budget.rounds, self._rules.confirmations) == 0  # no second one will come
        return evaluation_of(
            context.job,
            candidate,
            self._rules.evaluation_timeout_s,
            thorough=thorough,
            times_held_out=last,
            seed=seed_figures(first),
            least_profiled_speedup=least_profiled_speedup(context.attempts, spec),
        )

    async def _judged(self, context: JobContext, request: EvaluationRequest) -> EvaluationReport:
        """The queue's report, stored. An infrastructure error is asked again, then raised."""
        for failures in range(1, self._rules.worker_retries.attempts + 1):
            with observed_evaluation(request) as counted:
                report = counted(await self._queue.evaluate(request))
            if report.verdict is not Verdict.INFRASTRUCTURE_ERROR:
                if await context.stores.candidates.finish(request, report):
                    return report
                return await context.stores.candidates.report(request.evaluation_id) or report
            if failures < self._rules.worker_retries.attempts:
                await self._clock.sleep(self._rules.worker_retries.wait_s(failures))
        detail = " ".join(gate.detail for gate in report.gates if gate.detail)
        raise InfrastructureError(
            f"no worker could evaluate {request.candidate_id} in {self._rules.worker_retries.attempts} attempts"
            + (f": {detail}" if detail else "")
        )


def _tolerant(update: WorkflowState) -> WorkflowState:
    """Without the agent's failure: a candidate that was judged counts, whatever the Profiler and the Judge say."""
    if "failure" in update:
        update = update.copy()
        del update["failure"]
    return update


def _figures(report: EvaluationReport) -> dict[str, JsonValue]:
    return {
        "verdict": report.verdict.value,
        "failed_gate": report.failed_gate.value if report.failed_gate is not None else None,
        "detail": shortened(evidence(report), 400) or None,
        "median_us": report.latency.median_us if report.latency is not None else None,
        "speedup": report.speedup.best_baseline,
        "gain": report.gain.value if report.gain is not None else None,
    }
