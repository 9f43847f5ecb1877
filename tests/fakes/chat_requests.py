"""Requests as the workflow makes them, with real schemas and the smallest facts."""

from __future__ import annotations

from agents.roles.replies import CoderReply, PlannerReply, Reply
from services.domain.chat import AgentRole, ChatMessage, ChatRequest, Facts
from services.domain.jobs import Stage
from services.domain.measurements import Baselines
from services.domain.problems import Problem, ProblemAnalysis, TensorSpec

SOURCE = "import torch\n\n\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return torch.relu(x)\n"

PLAN = {
    "start_point": None,
    "hypothesis": "fuse the pointwise operators",
    "moves": [{"name": "vectorise", "parameters": {"width": 8, "aligned": True}}],
    "expected_gain": 2.5,
}
"""A Planner's reply in the agents' own form."""


def some_facts() -> Facts:
    tensor = TensorSpec(name="x", shape=(2, 3), dtype="float32")
    analysis = ProblemAnalysis(
        family="pointwise", inputs=(tensor,), parameters=(), operators=(), outputs=("x",), bytes_moved=48, flops=6,
        floor_us=0.5,
    )  # fmt: skip
    return Facts(
        job_id="job-1", step=0, stage=Stage.DRAFT, seed=0, problem=Problem(name="relu", source=SOURCE),
        analysis=analysis, backend="cpp", device=None, baselines=Baselines(), attempts=(), experiences=(),
        start_point=None,
    )  # fmt: skip


def a_request(
    role: AgentRole = AgentRole.PLANNER,
    reply: type[Reply] | None = None,
    *,
    key: str = "job-1/0/planner/0",
    prompt: str = "Plan the next step for relu.",
    max_output_tokens: int = 2048,
) -> ChatRequest:
    kind = reply or (CoderReply if role is AgentRole.CODER else PlannerReply)
    messages = (ChatMessage(role="system", content="You plan kernels."), ChatMessage(role="user", content=prompt))
    return ChatRequest(
        key=key, role=role, messages=messages, schema_name=kind.__name__, schema=kind.model_json_schema(),
        facts=some_facts(), max_output_tokens=max_output_tokens,
    )  # fmt: skip
