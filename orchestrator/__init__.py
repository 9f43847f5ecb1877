"""Claims jobs, drives their graphs, survives being killed."""

from agents.asking import Patience
from agents.context import Stores
from orchestrator.job_monitor import Pace
from orchestrator.service import Orchestrator

__all__ = ["Orchestrator", "Pace", "Patience", "Stores"]
