"""The gates that run nothing of the candidate in the referee's reach: screen and compile."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

from services.domain.gates import GateName, GateStatus
from workers.referee.questions import Build
from workers.referee.screening.built_rules import examine_built, examine_reached
from workers.referee.screening.remarks import Remark
from workers.referee.screening.screen import screen, screen_compiled
from workers.referee.trial import GateFinding, Trial, failed, passed, suspicious

MAX_REMARKS = 8
CACHED_S = 0.05
WARNING = re.compile(r"\bwarning\b *(?:#\d+)?:", re.IGNORECASE)


class ScreenGate:
    """Source rules."""

    name = GateName.SCREEN

    def examine(self, trial: Trial) -> GateFinding:
        """Fails on evidence; hints make suspicious."""
        problem = trial.state.problem
        remarks = screen(trial.request.source, problem.library, backward=problem.is_step)
        return _judged(remarks) or passed("no rule is broken")


class CompileGate:
    """The backend's build, done by the worker in a sandbox without device and network."""

    name = GateName.COMPILE

    def examine(self, trial: Trial) -> GateFinding:
        """Fails with the compiler's messages; what it says of a build that worked stays with the build."""
        build = trial.build()
        if not build.ok:
            return failed(build.messages or "the build failed without a message")
        library = trial.state.problem.library
        remarks = [
            *screen_compiled(trial.request.source, build.sources),
            *examine_reached(build.reached),
            *examine_built(build.built, build.sources, library),
        ]
        finding = _judged(sorted(remarks, key=lambda remark: not remark.hard))
        if finding is None:
            return passed(_summary(build))
        is_evidence = finding.status is GateStatus.FAILED
        return dataclasses.replace(finding, gate=GateName.SCREEN) if is_evidence else finding


def _judged(remarks: Sequence[Remark]) -> GateFinding | None:
    """Evidence comes first among remarks."""
    if not remarks:
        return None
    text = "; ".join(str(remark) for remark in remarks[:MAX_REMARKS])
    return failed(text) if remarks[0].hard else suspicious(text)


def _summary(build: Build) -> str:
    """What a successful build needs said: how many libraries, how long, and whether the compiler had remarks."""
    made = "from the cache" if build.seconds < CACHED_S else f"{build.seconds:.1f} s"
    parts = [f"{build.libraries} {'library' if build.libraries == 1 else 'libraries'}, {made}"]
    warnings = len(WARNING.findall(build.messages))
    if warnings:
        parts.append(f"{warnings} warning{'s' if warnings > 1 else ''}")
    return "; ".join(parts)
