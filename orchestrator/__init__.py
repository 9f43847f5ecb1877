"""Claims jobs, drives their graphs, survives being killed."""

from agents.asking import RetryPolicy
from agents.context import Stores
from orchestrator.job_monitor import PollingIntervals
from orchestrator.service import Orchestrator

__all__ = ["Orchestrator", "PollingIntervals", "RetryPolicy", "Stores"]
