"""The graph: nodes of `Workflow`, and the routes between them."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, Literal, ParamSpec

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import Send

from agents.workflow.checkpoints import OneNodeSaver
from agents.workflow.context import JobContext
from agents.workflow.nodes import Workflow
from agents.workflow.origin import course_of
from agents.workflow.state import BranchOutput, WorkflowState
from services.domain.evaluations import Verdict
from services.domain.jobs import EVALUATE_ONLY

Graph = CompiledStateGraph[WorkflowState, JobContext, WorkflowState, WorkflowState]
P = ParamSpec("P")


def build_graph(workflow: Workflow, checkpointer: BaseCheckpointSaver[Any]) -> Graph:
    """The compiled workflow; a run's thread id is its job's id, its context a `JobContext`.

    A round of one step runs in the graph itself; the branches of a wider one run at the same time, each through the
    same nodes in a graph of its own (LangGraph's `Send`), and meet again in `learn`."""
    graph = StateGraph(WorkflowState, context_schema=JobContext)
    graph.add_node("analyse", workflow.analyse)
    graph.add_node("branch", _branch(workflow))
    graph.add_node("learn", workflow.learn)
    graph.add_node("select", workflow.select)
    graph.add_node("reflect", workflow.reflect)
    _add_step(graph, workflow, {"learn": "learn"})
    graph.add_edge(START, "analyse")
    graph.add_conditional_edges("analyse", _inline(again_or_finish), ["recall", "branch", "reflect"])
    graph.add_edge("branch", "learn")
    graph.add_edge("learn", "select")
    graph.add_conditional_edges("select", _inline(again_or_finish), ["recall", "branch", "reflect"])
    graph.add_edge("reflect", END)
    return graph.compile(checkpointer=OneNodeSaver(checkpointer))


def _branch(workflow: Workflow) -> CompiledStateGraph[Any, JobContext, Any, Any]:
    """One step as a graph of its own; its last node hands the step's state back to the round."""
    graph = StateGraph(WorkflowState, context_schema=JobContext, output_schema=BranchOutput)
    graph.add_node("hand_back", workflow.hand_back)
    _add_step(graph, workflow, {"learn": "hand_back"})
    graph.add_edge(START, "recall")
    return graph.compile()


def _add_step(graph: StateGraph[WorkflowState, JobContext, Any, Any], workflow: Workflow, end: dict[str, str]) -> None:
    """The nodes of a step and their routes; `end` says which node stands for `learn`."""
    graph.add_node("recall", workflow.recall)
    graph.add_node("plan", workflow.plan)
    graph.add_node("code", workflow.code)
    graph.add_node("evaluate", workflow.evaluate)
    graph.add_node("inspect", workflow.inspect)
    graph.add_node("profile", workflow.profile)
    graph.add_node("judge", workflow.judge)
    graph.add_conditional_edges("recall", _inline(after_recall), _ways(end, "plan", "code"))
    graph.add_conditional_edges("plan", _inline(after_plan), _ways(end, "plan", "code", "learn"))
    graph.add_conditional_edges("code", _inline(after_code), _ways(end, "code", "inspect", "evaluate", "learn"))
    graph.add_conditional_edges("evaluate", _inline(after_evaluate), _ways(end, "inspect", "profile", "judge", "learn"))
    graph.add_conditional_edges(
        "inspect", _inline(after_inspect), _ways(end, "inspect", "evaluate", "profile", "learn")
    )
    graph.add_conditional_edges("profile", _inline(after_profile), _ways(end, "profile", "judge", "learn"))
    graph.add_conditional_edges("judge", _inline(after_judge), _ways(end, "judge", "learn"))


def _inline(route: Callable[P, Any]) -> Callable[P, Awaitable[Any]]:
    """The route for LangGraph to await: it would send a plain function to a thread, seven times a step."""

    @functools.wraps(route)
    async def inline(*args: P.args, **kwargs: P.kwargs) -> Any:
        return route(*args, **kwargs)

    return inline


def _ways(end: dict[str, str], *names: str) -> dict[Hashable, str]:
    return {name: end.get(name, name) for name in names}


def again_or_finish(state: WorkflowState) -> Literal["recall", "reflect"] | list[Send]:
    """Another step, or a round of several at the same time, unless a stop rule holds."""
    if state.get("stop"):
        return "reflect"
    branches = state.get("round")
    return [Send("branch", branch) for branch in branches] if branches else "recall"


def after_recall(state: WorkflowState) -> Literal["plan", "code"]:
    """A kernel that comes ready needs no plan."""
    return "plan" if course_of(state).written else "code"


def after_plan(state: WorkflowState) -> Literal["plan", "code", "learn"]:
    """A reply that did not fit goes back once; a second one is a failed step."""
    if state.get("failure"):
        return "learn"
    return "plan" if state["attempt"] else "code"


def after_code(state: WorkflowState, runtime: Runtime[JobContext]) -> Literal["code", "inspect", "evaluate", "learn"]:
    """As after the plan; where it was asked for, an opinion comes before the measurement."""
    if state.get("failure"):
        return "learn"
    if state["attempt"]:
        return "code"
    context = runtime.context
    return "inspect" if context.job.spec.verify_first and context.inspects(state) else "evaluate"


def after_evaluate(
    state: WorkflowState, runtime: Runtime[JobContext]
) -> Literal["inspect", "profile", "judge", "learn"]:
    """A new leader is inspected once more, what ran to its timing profiled; what failed goes to the Judge. In `lean`
    the next round's Planner reads the report itself."""
    context = runtime.context
    only_judged = EVALUATE_ONLY in context.job.spec.tags or not course_of(state).diagnosed
    if state.get("failure") or only_judged or state.get("repeats") is not None:
        return "learn"
    if state.get("leads") and context.inspects(state) and not context.job.spec.verify_first:
        return "inspect"
    if context.lean:
        return "learn"
    ran = state.get("verdict") in (Verdict.ACCEPTED.value, Verdict.SUSPICIOUS.value)
    return "profile" if ran else "judge"


def after_inspect(
    state: WorkflowState, runtime: Runtime[JobContext]
) -> Literal["inspect", "evaluate", "profile", "learn"]:
    """A repair turn, or on to the measurement where that comes after, else to the Profiler; a spent budget and a
    candidate that is held for a cheat before it ran end the step."""
    if state.get("stop") or state.get("failure"):
        return "learn"
    if state["attempt"]:
        return "inspect"
    if state.get("verdict") is None:
        return "evaluate"
    return "learn" if runtime.context.lean else "profile"


def after_profile(state: WorkflowState) -> Literal["profile", "judge", "learn"]:
    """A repair turn, or on to the Judge; a spent budget ends the step."""
    if state.get("stop"):
        return "learn"
    return "profile" if state["attempt"] else "judge"


def after_judge(state: WorkflowState) -> Literal["judge", "learn"]:
    """A repair turn, or the record."""
    return "judge" if state["attempt"] else "learn"
