"""The rules of `agents.playbook.lowering`, registered on import."""

from agents.playbook.rules import activations, arithmetic, losses, norms, reductions, views

__all__ = ["activations", "arithmetic", "losses", "norms", "reductions", "views"]
