"""Checks of a spool: its file system, its key, its orders, and the nodes that are refused there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from kernelwright.doctor.findings import Finding, missing, ok, warning
from kernelwright.settings import Settings
from services.adapters.spool.layout import SpoolLayout
from services.domain.errors import ConfigurationError, KernelwrightError


def check_spool(settings: Settings, directory: Path | None = None) -> Finding:
    """Whether orders and reports pass through a spool: the given one, else the one that is set."""
    root = directory or settings.spool
    if root is None:
        return ok("spool", "not used (KERNELWRIGHT_SPOOL is unset)", used=False)
    try:
        return _examined(settings, root.absolute())
    except KernelwrightError as error:
        remedy = "Make the spool as docs/how-to/spool.md says, and give both sides the same key and version."
        return missing("spool", str(error), remedy)


def _examined(settings: Settings, root: Path) -> Finding:
    from kernelwright.distribution import version
    from kernelwright.wiring.spool import spool_key, spooled_orders
    from services.adapters.spool.probe import LEAST_FREE_BYTES, check_service, check_skew, examine

    layout, key = SpoolLayout(root), spool_key(settings)
    if not layout.orders.is_dir():
        raise ConfigurationError(f"there is no spool at {root}: the service, `spool add` and `spool import` make one")
    condition = examine(layout)
    check_service(layout, key, version())
    check_skew(condition)
    orders = spooled_orders(settings, root, key)
    told = [f"{root} ({condition.filesystem or 'unknown file system'})", _counts(layout)]
    warnings = list(_warnings(settings, layout))
    warnings += [f"refused {file}: {reason}" for file, reason in list(orders.refusals())[:3]]
    if condition.remote:
        warnings.append("on a network: other machines see files late; keep the lease above its caches (actimeo)")
    if not condition.links:
        warnings.append("no hard links: of two reports in the same instant the later may stay")
    if condition.free_bytes < LEAST_FREE_BYTES:
        warnings.append(f"{condition.free_bytes >> 20} MiB free")
    if warnings:
        detail = "; ".join([*told, *warnings])
        return warning("spool", detail, "Read the texts in refused/; see docs/how-to/spool.md.")
    return ok("spool", "; ".join(told))


def _counts(layout: SpoolLayout) -> str:
    from services.adapters.spool.files import names_in

    folders = (("waiting", layout.orders), ("being done", layout.claims), ("reports", layout.reports))
    return ", ".join(f"{len(names_in(folder))} {what}" for what, folder in folders)


def _warnings(settings: Settings, layout: SpoolLayout) -> Iterator[str]:
    """What is wrong with the key's file and with nodes."""
    from kernelwright.distribution import version
    from kernelwright.wiring.spool import key_file, spool_key
    from services.adapters.spool.nodes import SpoolNodes
    from services.runtime.clock import SystemClock

    file = key_file(settings)
    if settings.spool_key is None and file.exists() and file.stat().st_mode & 0o077:
        yield f"others may read the key {file}: chmod 600"
    for node in SpoolNodes(layout, spool_key(settings), SystemClock(), version()).living():
        if node.fault is not None:
            yield f"the node {node.name}: {node.fault}"
