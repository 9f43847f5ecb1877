"""Strategies by name."""

from __future__ import annotations

from collections.abc import Callable

from agents.strategies.greedy import Greedy
from agents.strategies.islands import Islands
from agents.strategies.map_elites import MapElites
from agents.strategies.tree import TreeSearch
from agents.strategies.value_driven import ValueDriven
from agents.strategies.world_model import WorldModelSearch
from services.domain.errors import ConfigurationError
from services.ports.search import Strategy

STRATEGIES: dict[str, Callable[[], Strategy]] = {
    "greedy": Greedy,
    "islands": Islands,
    "map_elites": MapElites,
    "tree": TreeSearch,
    "value_driven": ValueDriven,
    "world_model": WorldModelSearch,
}
"""Name to factory, as `--strategy` names it."""


def strategy(name: str) -> Strategy:
    """The strategy of that name. Raises `ConfigurationError`, naming those there are."""
    factory = STRATEGIES.get(name)
    if factory is None:
        raise ConfigurationError(f"unknown strategy {name!r}: choose from {', '.join(sorted(STRATEGIES))}")
    return factory()
