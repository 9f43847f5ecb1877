"""Claims jobs, drives their graphs, survives being killed."""

from agents.asking import RetryPolicy
from agents.context import Stores
from agents.rules import JobRules
from orchestrator.job_monitor import PollingIntervals
from orchestrator.service import Orchestrator

__all__ = ["JobRules", "Orchestrator", "PollingIntervals", "RetryPolicy", "Stores"]
