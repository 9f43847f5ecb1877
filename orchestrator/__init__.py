"""Claims jobs, drives their graphs, survives being killed."""

from agents.workflow.context import Stores
from agents.workflow.rules import JobRules, RetryPolicy
from orchestrator.job_monitor import PollingIntervals
from orchestrator.service import Orchestrator

__all__ = ["JobRules", "Orchestrator", "PollingIntervals", "RetryPolicy", "Stores"]
