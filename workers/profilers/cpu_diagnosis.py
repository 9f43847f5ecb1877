"""The diagnosis of a CPU kernel from samples of where its threads were: no hardware counters are needed.

Rules in the order of what pays most when it is cured; each names its figures. Nothing here runs anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from services.domain.profiles import LineShare, Profile, Roofline
from services.domain.texts import percent
from workers.profilers.hot_spots import HotSpots

SOURCE = "samples"
ENOUGH = 30
"""Samples from which shares mean something."""
NEAR_ROOF = 0.6
BINDING = 0.3
"""Share of a roof from which it may be what limits: roofs are measured with the best of all code."""
LIBRARY_SHARE = 0.25
PROTOCOL_SHARE = 0.7
FAULTS_SHARE = 0.2
LEAST_FAULTS = 64
"""Page faults of one call below which they are no matter: a quarter of a megabyte."""
SCALAR_SHARE = 0.5
BALANCE = 0.72
SPILL_SHARE = 0.25
WORK = ("own", "math", "vector_math", "library", "generated", "moving")


@dataclass(frozen=True, kw_only=True)
class CpuEvidence:
    """What was seen of a candidate on the CPU."""

    by_owner: Mapping[str, int]
    """Samples by whose code they lie in (`workers.sampler.attribution.Owner`)."""
    by_thread: Mapping[int, int]
    """Samples at work, by thread."""
    threads: int
    """How many threads it may use."""
    functions: Mapping[str, int] = field(default_factory=dict)
    """Functions of libraries, by samples."""
    faults_per_call: float = 0.0
    """Page faults that had to be served in one call."""
    spots: HotSpots | None = None
    missed: Mapping[int, str] = field(default_factory=dict)
    """By line of the source: why its loop was not vectorised."""


def diagnose_cpu(roof: Roofline, seen: CpuEvidence, counters: Mapping[str, float]) -> Profile:
    """Class of the limit and the evidence for it. `counters` are hardware counters, where there are any."""
    metrics = {**counters, **figures(seen)}
    bottleneck, reason = _cause(roof, seen, metrics)
    return Profile(
        source="perf" if counters else SOURCE,
        metrics=metrics,
        bottleneck=bottleneck,
        reason=reason,
        lines=_hot_lines(seen),
    )


def _hot_lines(seen: CpuEvidence) -> tuple[LineShare, ...]:
    spots = seen.spots
    if spots is None or not spots.samples:
        return ()
    hottest = sorted(spots.lines.items(), key=lambda item: (-item[1], item[0]))
    return tuple(LineShare(line=line, share=count / spots.samples) for line, count in hottest)


def figures(seen: CpuEvidence) -> dict[str, float]:
    """The evidence as numbers: shares are of all samples, those of instructions of the candidate's own code."""
    total = max(1, sum(seen.by_owner.values()))
    found = {f"{owner}_share": count / total for owner, count in sorted(seen.by_owner.items())}
    found |= {
        "samples": float(sum(seen.by_owner.values())),
        "threads": float(seen.threads),
        "balance": _balance(seen),
        "page_faults_per_call": seen.faults_per_call,
    }
    if seen.spots is not None and seen.spots.samples:
        spots = seen.spots
        found |= {
            "vector_share": spots.vector / spots.samples,
            "scalar_share": spots.scalar / spots.samples,
            "spill_share": spots.spills / spots.samples,
        }
        if spots.hottest is not None:
            found |= {
                "hottest_line": float(spots.hottest),
                "hottest_line_share": spots.lines[spots.hottest] / spots.samples,
            }
    return found


def _cause(roof: Roofline, seen: CpuEvidence, metrics: Mapping[str, float]) -> tuple[str, str]:
    work = sum(seen.by_owner.get(owner, 0) for owner in WORK)
    foreign = seen.by_owner.get("library", 0) + seen.by_owner.get("generated", 0)
    total = sum(seen.by_owner.values())
    busy = work + seen.by_owner.get("kernel", 0) + seen.by_owner.get("openmp", 0)
    if foreign >= LIBRARY_SHARE * max(work, 1) and foreign >= ENOUGH / 2:
        named = next(iter(seen.functions), "without a name")[:80]
        return "library", f"{foreign / work:.0%} of the time at work is spent in kernels of libraries, most in {named}"
    if total >= ENOUGH and seen.by_owner.get("python", 0) >= PROTOCOL_SHARE * total and roof.fraction < NEAR_ROOF:
        share = seen.by_owner["python"] / total
        return "overhead", f"{share:.0%} of a call's time is spent in Python and in starting it, not in the kernel"
    mapped = _faults(seen, busy) if work >= ENOUGH else None
    if mapped is not None:
        return mapped
    if roof.bound == "latency":
        return "latency", "a call costs little more than starting it"
    if roof.fraction >= NEAR_ROOF:
        return roof.bound, f"it reaches {percent(roof.fraction)} of the {roof.bound} roof"
    if work < ENOUGH:
        return _unclear(roof, f"only {work} samples of it at work")
    return (
        _scalar(seen, work)
        or _idle(seen)
        or _spilled(seen)
        or _by_counters(roof, metrics)
        or _unclear(roof, _shape(seen))
    )


def _faults(seen: CpuEvidence, busy: int) -> tuple[str, str] | None:
    share = seen.by_owner.get("kernel", 0) / max(busy, 1)
    if share < FAULTS_SHARE or seen.faults_per_call < LEAST_FAULTS:
        return None
    return "page_faults", (
        f"{share:.0%} of the time is spent in the operating system, which serves {seen.faults_per_call:.0f} page "
        "faults a call: memory that is new in every call (a fresh output, a large temporary) is mapped and cleared"
    )


def _scalar(seen: CpuEvidence, work: int) -> tuple[str, str] | None:
    spots = seen.spots
    scalar = 0 if spots is None else spots.scalar
    vector = 0 if spots is None else spots.vector
    math = seen.by_owner.get("math", 0)
    if math + scalar < SCALAR_SHARE * work or vector > math + scalar:
        return None
    text = f"{(math + scalar) / work:.0%} of the time at work goes into one element at a time"
    if math >= 0.2 * work:
        text += f", {math / work:.0%} into calls of the C library's mathematics"
    return "scalar", text + _line_text(seen)


def _line_text(seen: CpuEvidence) -> str:
    """The hottest line, and what the compiler said of the loop nearest above it."""
    line = seen.spots.hottest if seen.spots is not None else None
    if line is None:
        return ""
    near = max((number for number in seen.missed if number <= line and line - number <= 12), default=None)
    why = "" if near is None else f"; the compiler on line {near}: {seen.missed[near]}"
    return f" (hottest: line {line} of the C++ source{why})"


def _balance(seen: CpuEvidence) -> float:
    """1 where all threads do as much, 1/threads where one does everything."""
    counts = list(seen.by_thread.values())
    return sum(counts) / (max(counts) * max(seen.threads, 1)) if counts else 1.0


def _idle(seen: CpuEvidence) -> tuple[str, str] | None:
    balance = _balance(seen)
    if seen.threads < 2 or balance >= BALANCE:
        return None
    busiest = sorted(seen.by_thread.values(), reverse=True)[: seen.threads]
    parts = ", ".join(f"{count / sum(busiest):.0%}" for count in busiest[:8])
    return "imbalance", f"{seen.threads} threads may work, and their shares of the work are {parts}" + _line_text(seen)


def _spilled(seen: CpuEvidence) -> tuple[str, str] | None:
    spots = seen.spots
    if spots is None or spots.samples < ENOUGH or spots.spills < SPILL_SHARE * spots.samples:
        return None
    share = spots.spills / spots.samples
    return "spills", f"{share:.0%} of its own time is spent moving registers to and from the stack" + _line_text(seen)


def _by_counters(roof: Roofline, metrics: Mapping[str, float]) -> tuple[str, str] | None:
    cycles = metrics.get("cycles", 0.0)
    per_cycle = metrics.get("instructions", 0.0) / cycles if cycles else 0.0
    if per_cycle <= 1.5:
        return None
    return "compute", f"it is {percent(roof.fraction)} of the {roof.bound} roof at {per_cycle:.1f} instructions a cycle"


def _shape(seen: CpuEvidence) -> str:
    spots = seen.spots
    if spots is None or not spots.samples:
        return "no more is known of its code"
    vector = spots.vector / spots.samples
    return f"vector instructions take {vector:.0%} of its own time, balance {_balance(seen):.2f}" + _line_text(seen)


def _unclear(roof: Roofline, more: str) -> tuple[str, str]:
    """Near enough to a roof to be limited by it, or neither roof binds."""
    if roof.fraction >= BINDING:
        return roof.bound, f"it reaches {percent(roof.fraction)} of the {roof.bound} roof; {more}"
    return "neither", f"neither roof binds: it reaches {percent(roof.fraction)} of the {roof.bound} roof; {more}"
