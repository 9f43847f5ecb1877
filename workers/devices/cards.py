"""The NVIDIA GPUs of this machine, and which of them this process may use. No CUDA in here.

Indices are nvidia-smi's, which follow the PCI bus. CUDA itself counts the fastest card first, so that a number in
`CUDA_VISIBLE_DEVICES` is believed only where both counts must agree; a UUID is always unambiguous.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from services.domain.errors import ConfigurationError, DeviceLostError, InfrastructureError

CONTROL_NODE = Path("/dev/nvidiactl")
DEVICES, DRIVER = Path("/dev"), Path("/proc/driver/nvidia/gpus")
SMI_PLACES = (None, "/usr/local/nvidia/bin", "/usr/bin")
CHOICES = ("KERNELWRIGHT_GPU", "KERNELWRIGHT_SANDBOX_GPU", "CUDA_VISIBLE_DEVICES")
"""Variables that name cards; the first that is set counts."""
FACTS = ("index", "name", "driver_version", "compute_cap", "uuid", "pci.bus_id", "mig.mode.current")
LOOKS = 2
"""So often nvidia-smi must fail to name a card: it may be slow on a busy machine."""
REMEDY = "name a card by its index or UUID, as `nvidia-smi -L` prints them"


@dataclass(frozen=True, kw_only=True)
class Gpu:
    """One GPU of this machine."""

    name: str
    """As jobs ask for it: `h200`."""
    model: str
    """As the driver calls it: `NVIDIA H200`."""
    driver: str
    capability: str
    """For example `9.0`."""
    uuid: str = "gpu"
    """The driver's name for this very card."""
    index: int = 0
    """nvidia-smi's number."""
    node: Path = field(default=DEVICES / "nvidia0")
    """What processes open to use it; its number is the driver's, which may differ from the index."""
    sliced: bool = False
    """Whether it is split into MIG slices, which share what is measured here: such a card is not used."""

    def __str__(self) -> str:
        return f"GPU {self.index} ({self.model}, {self.uuid})"


@functools.cache
def all_gpus() -> tuple[Gpu, ...]:
    """Every GPU of this machine, as it was when first asked for."""
    if not CONTROL_NODE.exists():
        return ()
    return read_gpus(query(*FACTS), DEVICES, DRIVER)


def usable_gpus(environment: Mapping[str, str] = os.environ) -> tuple[Gpu, ...]:
    """The GPUs that this process may use, in the order in which they were named, else in nvidia-smi's.

    Raises `ConfigurationError` where one is named that is not there or that is split into slices."""
    gpus = all_gpus()
    named = next(((name, environment[name]) for name in CHOICES if _names_cards(name, environment)), None)
    if named is None:
        return tuple(gpu for gpu in gpus if not gpu.sliced)
    variable, value = named
    if variable == "CUDA_VISIBLE_DEVICES":
        if not gpus or value.strip() in ("", "-1"):
            return ()  # how programs hide GPUs that they do not need, whether or not there are any
        _check_order(gpus, value, environment)
    return chosen(gpus, value, variable)


def find_gpu(device: str | None = None) -> Gpu | None:
    """The first GPU that this process may use, of a device's name where one is given; None where there is none.

    Raises `ConfigurationError` as `usable_gpus` does."""
    return next((gpu for gpu in usable_gpus() if device in (None, gpu.name)), None)


def check_present(gpu: Gpu | None) -> None:
    """Raise `DeviceLostError` where a card has gone since it was found: then nothing else is to blame for what failed
    on it. None, for a device without a card, is always there."""
    if gpu is None or _program() is None:
        return
    if all([gpu.uuid] not in query("uuid", card=gpu.uuid) for _ in range(LOOKS)):
        raise DeviceLostError(
            f"{gpu} is gone: nvidia-smi does not name it any more; read the driver's log (`dmesg | grep Xid`), then "
            "reset the card or restart the machine"
        )


@contextmanager
def on_card(gpu: Gpu | None) -> Iterator[None]:
    """What fails because the card is gone says so, instead of CUDA's text."""
    try:
        yield
    except (InfrastructureError, ConfigurationError):
        check_present(gpu)
        raise


def chosen(gpus: Sequence[Gpu], value: str, variable: str = CHOICES[0]) -> tuple[Gpu, ...]:
    """The cards that a list of indices and UUIDs names. Raises `ConfigurationError`, naming the variable."""
    found = tuple(_named(gpus, name.strip(), f"{variable}={value}") for name in value.split(",") if name.strip())
    if len({gpu.uuid for gpu in found}) < len(found):
        raise ConfigurationError(f"{variable}={value} names a card twice")
    return found


def read_gpus(rows: Sequence[Sequence[str]], devices: Path, driver: Path) -> tuple[Gpu, ...]:
    """GPUs from nvidia-smi's rows of `FACTS`; `driver` is where the driver says which node belongs to which card."""
    nodes = sorted(devices.glob("nvidia[0-9]*"), key=lambda node: int(node.name.removeprefix("nvidia")))
    found = []
    for position, row in enumerate(rows):
        index, model, version, capability, uuid, bus, slicing = row
        minor = _minor(driver, bus)
        node = nodes[position] if minor is None and len(nodes) == len(rows) else devices / f"nvidia{minor or 0}"
        found.append(
            Gpu(
                name=short_name(model),
                model=model,
                driver=version,
                capability=capability,
                uuid=uuid,
                index=int(index),
                node=node,
                sliced=slicing == "Enabled",
            )
        )
    return tuple(found)


def short_name(model: str) -> str:
    """`NVIDIA H200` is `h200`, `NVIDIA GeForce RTX 4090` is `rtx4090`, `NVIDIA A100-SXM4-80GB` is `a100`."""
    words = re.sub(r"(?i)nvidia|geforce|quadro|tesla", " ", model).lower().split()
    return re.sub(r"[^a-z0-9]", "", "".join(words).partition("-")[0]) or "gpu"


def query(*names: str, card: str | None = None) -> list[list[str]]:
    """What nvidia-smi says of a card, else of all: a row for each that answers; none where it does not work."""
    program = _program()
    if program is None:
        return []
    which = [] if card is None else ["-i", card]
    command = [program, *which, f"--query-gpu={','.join(names)}", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.SubprocessError):
        return []
    return list(_rows(done.stdout, len(names)))


def _program() -> str | None:
    return next((found for place in SMI_PLACES if (found := shutil.which("nvidia-smi", path=place))), None)


def _rows(text: str, columns: int) -> Iterator[list[str]]:
    """Its lines that hold all values: a card that has fallen off the bus is told of in a sentence among them."""
    for line in text.splitlines():
        values = [value.strip() for value in line.split(",")]
        if len(values) == columns:
            yield values


def _names_cards(variable: str, environment: Mapping[str, str]) -> bool:
    """Whether it is set. Compose files give our own empty where they are not; CUDA's own means something then."""
    return variable in environment and (variable == "CUDA_VISIBLE_DEVICES" or environment[variable].strip() != "")


def _named(gpus: Sequence[Gpu], name: str, where: str) -> Gpu:
    if name.startswith("MIG-"):
        raise ConfigurationError(
            f"{where} names a MIG slice: slices share memory bandwidth and clocks, so nothing can be timed on one; "
            "name a whole card"
        )
    have = ", ".join(map(str, gpus)) or "no GPU that answers"
    if name.isdecimal():
        found = [gpu for gpu in gpus if gpu.index == int(name)]
    else:
        found = [gpu for gpu in gpus if name.startswith("GPU-") and gpu.uuid.startswith(name)]
    if not found:
        raise ConfigurationError(f"{where}: there is no card {name}; this machine has {have}: {REMEDY}")
    if len(found) > 1:
        raise ConfigurationError(f"{where}: {name} begins the UUIDs of {len(found)} cards: {REMEDY}")
    if found[0].sliced:
        raise ConfigurationError(
            f"{where}: {found[0]} is split into MIG slices, on which nothing can be timed: name another card, or "
            f"switch slices off with `nvidia-smi -i {found[0].index} -mig 0`"
        )
    return found[0]


def _check_order(gpus: Sequence[Gpu], value: str, environment: Mapping[str, str]) -> None:
    """Raise `ConfigurationError` where a number means one card to CUDA and perhaps another to nvidia-smi."""
    mixed = len({gpu.model for gpu in gpus}) > 1
    numbers = any(name.strip().isdecimal() for name in value.split(","))
    if mixed and numbers and environment.get("CUDA_DEVICE_ORDER") != "PCI_BUS_ID":
        raise ConfigurationError(
            f"CUDA_VISIBLE_DEVICES={value} is ambiguous on a machine with different cards, because CUDA numbers them "
            "by speed: name UUIDs, or set CUDA_DEVICE_ORDER=PCI_BUS_ID"
        )


def _minor(driver: Path, bus: str) -> int | None:
    """The number of a card's device node, where the driver tells it (`00000000:19:00.0` is its `0000:19:00.0`)."""
    try:
        text = (driver / bus.lower()[-12:] / "information").read_text(encoding="utf-8")
    except OSError:
        return None
    found = re.search(r"Device Minor:\s*(\d+)", text)
    return None if found is None else int(found.group(1))
