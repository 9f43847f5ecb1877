"""The rules of `agents.playbook.lowering`, registered on import."""

from agents.playbook.rules import activations, arithmetic, grids, losses, norms, pooling, reductions, views

__all__ = ["activations", "arithmetic", "grids", "losses", "norms", "pooling", "reductions", "views"]
