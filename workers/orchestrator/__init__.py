"""Claims jobs, drives their graphs, survives being killed."""

from agents.asking import Patience
from agents.context import Stores
from workers.orchestrator.orchestrator import Orchestrator
from workers.orchestrator.watch import Pace

__all__ = ["Orchestrator", "Pace", "Patience", "Stores"]
