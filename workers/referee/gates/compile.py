"""The compile gate: what a candidate asks for is built, and the machine code is read."""

from __future__ import annotations

import dataclasses
import re

from services.domain.gates import GateName, GateStatus
from workers.referee.boundary.worker_messages import Build
from workers.referee.gates.finding import GateFinding, failed, passed
from workers.referee.gates.screen import judged
from workers.referee.screen.binary_rules import examine_built, examine_reached
from workers.referee.screen.screen import screen_compiled
from workers.referee.trial import Trial

CACHED_S = 0.05
WARNING = re.compile(r"\bwarning\b *(?:#\d+)?:", re.IGNORECASE)


def examine(trial: Trial) -> GateFinding:
    """The backend's build, done by the worker in a sandbox without device and network. Fails with the compiler's
    messages; what it says of a build that worked stays with the build."""
    build = trial.build()
    if not build.ok:
        return failed(build.messages or "the build failed without a message")
    library = trial.state.problem.library
    remarks = [
        *screen_compiled(trial.request.source, build.sources),
        *examine_reached(build.reached),
        *examine_built(build.built, build.sources, library),
    ]
    finding = judged(sorted(remarks, key=lambda remark: not remark.hard))
    if finding is None:
        return passed(_summary(build))
    is_evidence = finding.status is GateStatus.FAILED
    return dataclasses.replace(finding, gate=GateName.SCREEN) if is_evidence else finding


def _summary(build: Build) -> str:
    """What a successful build needs said: how many libraries, how long, and whether the compiler had remarks."""
    made = "from the cache" if build.seconds < CACHED_S else f"{build.seconds:.1f} s"
    parts = [f"{build.libraries} {'library' if build.libraries == 1 else 'libraries'}, {made}"]
    warnings = len(WARNING.findall(build.messages))
    if warnings:
        parts.append(f"{warnings} warning{'s' if warnings > 1 else ''}")
    return "; ".join(parts)
