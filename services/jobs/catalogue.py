"""The names a job may ask for: backends, devices, models and strategies of this installation and its workers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from services.domain.errors import ConfigurationError
from services.domain.jobs import JobSpec
from services.domain.measurements import BASELINES
from services.domain.nodes import NodeRole, ServiceNode, taking_orders
from services.domain.work import COMPILE
from services.ports.work import NodeRegistry

_NEEDS = {"cuda": "an NVIDIA GPU with nvcc was not found", "triton": "neither an NVIDIA GPU nor Triton was found"}
"""Why a backend of ours may be missing here: its name alone is not the user's mistake."""


@dataclass(frozen=True, kw_only=True)
class Catalogue:
    """What is installed and configured; anything else is refused at submission, with the known names."""

    backends: tuple[str, ...]
    devices: tuple[str, ...]
    strategies: tuple[str, ...]
    models: tuple[str, ...]
    """Models as people may name them; `provider:<model>` stands for any model of a provider."""
    resolve_model: Callable[[str], object]
    """Makes the model of a name; raises `ConfigurationError` where it is unknown or lacks a setting."""
    backends_of: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Backends by device of this machine, for devices that do not run all of them."""
    elsewhere: Callable[[], Mapping[str, tuple[str, ...]]] = dict
    """Devices that workers on other machines offer, with the backends of each."""

    def check(self, spec: JobSpec) -> None:
        """Raise `ConfigurationError` for the first name of a spec that is not known."""
        elsewhere = self.elsewhere()
        known = _union(self.backends, *elsewhere.values())
        if spec.backend in _NEEDS and spec.backend not in known:
            raise ConfigurationError(f"backend {spec.backend!r} is not available here: {_NEEDS[spec.backend]}")
        _check_name("backend", spec.backend, known)
        _check_name("device", spec.device, _union(self.devices, tuple(elsewhere)))
        here = self.backends_of.get(spec.device, self.backends) if spec.device in self.devices else ()
        runs = _union(here, elsewhere.get(spec.device, ()))
        if spec.backend not in runs:
            raise ConfigurationError(
                f"the backend {spec.backend} does not run on the device {spec.device}, "
                f"which runs {', '.join(runs) or 'none'}"
            )
        _check_name("strategy", spec.strategy, self.strategies)
        self.resolve_model(spec.model)
        for baseline in spec.baselines:
            _check_name("baseline", baseline, BASELINES)


def _union(*names: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for group in names for name in group))


def _check_name(what: str, name: str, known: Sequence[str]) -> None:
    if name not in known:
        raise ConfigurationError(f"unknown {what} {name!r}; known: {', '.join(known) or 'none'}")


class WorkerRegistry:
    """The workers as they were when it was read last."""

    def __init__(self, registry: NodeRegistry) -> None:
        self._registry = registry
        self._workers: tuple[ServiceNode, ...] = ()

    async def refresh(self) -> tuple[ServiceNode, ...]:
        """Read it again; the living workers. Raises `StorageError`."""
        self._workers = taking_orders(await self._registry.living(NodeRole.WORKER))
        return self._workers

    def devices(self) -> dict[str, tuple[str, ...]]:
        """Devices with the backends that some worker has for each."""
        found: dict[str, tuple[str, ...]] = {}
        for node in self._workers:
            if node.device is not None and node.device != COMPILE:
                found[node.device] = tuple(dict.fromkeys((*found.get(node.device, ()), *node.backends)))
        return found
