"""The rules that every job of an orchestrator runs under."""

from __future__ import annotations

from dataclasses import dataclass, field

from services.domain.evaluations import EVALUATION_TIMEOUT_S


@dataclass(frozen=True, kw_only=True)
class RetryPolicy:
    """How often the machine's failures are retried, and how long to wait in between."""

    attempts: int = 3
    backoff_s: float = 1.0
    """Wait before the second attempt; doubles from one to the next."""
    most_backoff_s: float = 60.0

    def wait_s(self, failures: int) -> float:
        """Seconds to wait after so many failures."""
        return float(min(self.backoff_s * 2 ** (failures - 1), self.most_backoff_s))


@dataclass(frozen=True, kw_only=True)
class JobRules:
    """What holds for every job, whatever it asks for."""

    model_retries: RetryPolicy = field(default_factory=RetryPolicy)
    """How often a failed call of a model is tried again."""
    worker_retries: RetryPolicy = field(default_factory=RetryPolicy)
    """How often an order is tried again whose worker failed."""
    evaluation_timeout_s: float = EVALUATION_TIMEOUT_S
    """Seconds that one evaluation may take, and that it reserves of a job's device seconds."""
    context_size: int = 6
    """Experiences recalled for a step, at most."""
    holdout_share: float = 0.0
    """Steps (0 to 1) that run without memory, so that its effect can be measured."""
    confirmations: int = 0
    """Leaders that are measured a second time at a job's end, at most."""
    practices: bool = False
    """Whether a chat model is asked at a job's end what it taught, in one call of the job's budget."""
    team_cap: int | None = None
    """Jobs of one team that run at once, on all orchestrators together; None for any number."""
