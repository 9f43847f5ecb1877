"""The memory of experiences, and its records, in dictionaries."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from services.domain.candidates import evaluation_id
from services.domain.errors import ConfigurationError, NotFoundError
from services.domain.experiences import (
    Experience,
    ExperienceFilter,
    ExperienceKind,
    ExperiencePage,
    MemoryAction,
    MemoryLine,
    MemoryShare,
    RecalledExperience,
    RecallQuery,
    StartValues,
    StepUse,
)
from services.domain.practices import PracticeVersion, RewardedTrial
from services.domain.steps import Step
from services.domain.value_log import LogEntry, MergeEntry, OutcomeEntry, PriorEntry, RetractionEntry
from services.memory.learner import Learner
from services.memory.values import Values, read
from services.ports.memory import Memory, MemoryRecords
from tests.doubles.database import InMemoryDatabase

_PRACTICE, _SHEET = ExperienceKind.BEST_PRACTICE, ExperienceKind.API_TEMPLATE


class InMemoryMemory(Memory):
    """A `Memory` whose similarity is the cosine between word counts."""

    def __init__(self, database: InMemoryDatabase) -> None:
        self._database = database
        self.trouble: str | None = None

    async def recall(self, query: RecallQuery) -> tuple[RecalledExperience, ...]:
        """The team's nearest experiences, best first."""
        near = self._nearest(query.team_id, query.text, len(self._database.experiences))
        wanted = [
            item
            for item in near
            if item.experience.id not in query.left_out
            and (not query.experts_only or item.experience.kind in (_PRACTICE, _SHEET))
            and not (query.experts_only and item.experience.is_learned_practice)
        ]
        return tuple(wanted[: query.limit])

    async def remember(self, experiences: Sequence[Experience]) -> int:
        """Store what is new by id and by content."""
        return self._database.remember(experiences)

    async def get(self, team_id: str, experience_id: str) -> Experience:
        """One experience. Raises `NotFoundError`."""
        found = self._database.experiences.get(experience_id)
        if found is None or found.team_id not in self._database.visible(team_id):
            raise NotFoundError(f"no experience {experience_id}")
        return found

    async def search(self, team_id: str, text: str, limit: int = 20) -> tuple[RecalledExperience, ...]:
        """The team's nearest experiences to a text."""
        return self._nearest(team_id, text, limit)

    def notice(self) -> str | None:
        """What a test says is wrong."""
        return self.trouble

    async def start_values(
        self,
        team_id: str,
        family: str,
        site: str,
        candidates: Sequence[str],
    ) -> StartValues:
        """Zero for everyone: it learns no values."""
        return StartValues(values=dict.fromkeys(candidates, 0.0))

    def _nearest(self, team_id: str, text: str, limit: int) -> tuple[RecalledExperience, ...]:
        words = _words(text)
        recalled = [
            RecalledExperience(experience=item, similarity=_cosine(words, _words(f"{item.title} {item.text}")))
            for item in self._database.in_use()
            if item.team_id in self._database.visible(team_id) and not item.is_unproven
        ]
        recalled.sort(key=lambda item: (-item.similarity, item.experience.id))
        return tuple(recalled[:limit])


def _words(text: str) -> Counter[str]:
    return Counter(re.findall(r"\w+", text.lower()))


def _cosine(left: Counter[str], right: Counter[str]) -> float:
    product = sum(count * right[word] for word, count in left.items())
    norms = math.sqrt(sum(n * n for n in left.values())) * math.sqrt(sum(n * n for n in right.values()))
    return product / norms if norms else 0.0


class InMemoryMemoryRecords(MemoryRecords):
    """A `MemoryRecords` over the doubles' database."""

    def __init__(self, database: InMemoryDatabase) -> None:
        self._database = database

    async def page(
        self, team_id: str, wanted: ExperienceFilter, *, limit: int = 50, cursor: str | None = None
    ) -> ExperiencePage:
        """Newest first; the cursor is the last id of the page before. Raises `ConfigurationError`."""
        given = {name: getattr(wanted, name) for name in ("kind", "family", "backend", "verdict", "job_id")}
        found = [
            item
            for item in self._own(team_id)
            if all(value is None or getattr(item, name) == value for name, value in given.items())
        ]
        found.sort(key=lambda item: (item.created_at, item.id), reverse=True)
        if cursor is not None:
            ids = [item.id for item in found]
            if cursor not in ids:
                raise ConfigurationError(f"not a cursor of this list: {cursor!r}")
            found = found[ids.index(cursor) + 1 :]
        page = tuple(found[:limit])
        return ExperiencePage(experiences=page, next_cursor=page[-1].id if len(found) > limit else None)

    async def log(self, team_id: str) -> tuple[LogEntry, ...]:
        """The complete value log."""
        return tuple(self._database.logs.get(team_id, ()))

    async def values(self, team_id: str) -> Values:
        """Folded anew at each call."""
        return read(self._database.logs.get(team_id, ()))

    async def uses(self, team_id: str, experience_id: str, limit: int = 50) -> tuple[StepUse, ...]:
        """The team's steps that had an experience in their context, latest first."""
        steps = [
            step
            for steps in self._database.steps.values()
            for step in steps
            if step.team_id == team_id and experience_id in step.experiences_used
        ]
        steps.sort(key=lambda step: (-step.finished_at.timestamp(), step.job_id, -step.index))
        return tuple(self._use(step, experience_id) for step in steps[:limit])

    async def refined(self, team_id: str, experience: Experience, limit: int = 50) -> tuple[StepUse, ...]:
        """The team's steps that started from the kernel that a trace is about, latest first."""
        if experience.kind is not ExperienceKind.TRACE or experience.candidate_id is None:
            return ()
        own = [step for step in self._database.steps.get(experience.job_id or "", ()) if step.team_id == team_id]
        found = [step for step in own if step.start_point == experience.candidate_id]
        found.sort(key=lambda step: (-step.finished_at.timestamp(), -step.index))
        return tuple(self._use(step, experience.id) for step in found[:limit])

    async def outlines(self, team_id: str, experience_ids: Sequence[str]) -> tuple[Experience, ...]:
        """Those of the team's own experiences, in use or not, without text and code; in the order asked for."""
        known = self._database.experiences
        found = (known[name] for name in experience_ids if name in known)
        return tuple(replace(item, text="", code=None) for item in found if item.team_id == team_id)

    async def taught(self, team_id: str, candidate_ids: Sequence[str], limit: int = 50) -> tuple[Experience, ...]:
        """The team's experiences that some candidates gave, in use or not, without text and code, oldest first."""
        own = (item for item in self._database.experiences.values() if item.team_id == team_id)
        found = [replace(item, text="", code=None) for item in own if item.candidate_id in set(candidate_ids)]
        return tuple(found[:limit])

    async def retract(self, team_id: str, subject: str, reason: str, actor: str) -> tuple[str, ...]:
        """Take out an experience, or all that a candidate or an evaluation taught. Raises `NotFoundError`."""
        candidate, names = self._subject(team_id, subject)
        changed = self._move(team_id, names, "retracted") > 0
        if candidate is not None:
            evaluation = evaluation_id(candidate)
            outcome = self._outcome(team_id, evaluation)
            if outcome is not None and not self._is_retracted(team_id, evaluation):
                self._move(team_id, outcome.made, "retracted")
                seq = len(self._database.logs[team_id]) + 1
                self._database.logs[team_id].append(
                    RetractionEntry(seq=seq, evaluation_id=evaluation, reason=reason, actor=actor)
                )
                changed = True
        if changed:
            self._audit(team_id, "retract", subject, reason, actor)
        return tuple(names)

    async def retracted(self, team_id: str) -> tuple[str, ...]:
        """Ids of the team's retracted experiences."""
        return tuple(
            sorted(
                name
                for name, state in self._database.states.items()
                if state == "retracted" and self._database.experiences[name].team_id == team_id
            )
        )

    async def audit(self, team_id: str, limit: int = 50) -> tuple[MemoryAction, ...]:
        """What was changed by hand, latest first."""
        return tuple(reversed(self._database.audits.get(team_id, ())))[:limit]

    async def owners(self, experience_ids: Sequence[str]) -> Mapping[str, str]:
        """The teams that known experience ids belong to."""
        known = self._database.experiences
        return {name: known[name].team_id for name in experience_ids if name in known}

    async def vectors(self, team_id: str, experience_ids: Sequence[str]) -> Mapping[str, tuple[float, ...]]:
        """Vectors that came with an import; it makes none."""
        known = {name: self._database.vectors[name] for name in experience_ids if name in self._database.vectors}
        return {name: one for name, one in known.items() if self._database.experiences[name].team_id == team_id}

    async def adopt(self, team_id: str, lines: Sequence[MemoryLine], source: str, actor: str) -> int:
        """Store imported experiences with vectors and values; how many were new."""
        new = 0
        for line in lines:
            if not self._database.remember([line.experience]):
                self._database.renew_proof(line.experience.id, line.experience.referee)
                continue
            new += 1
            if line.vector is not None:
                self._database.vectors[line.experience.id] = line.vector
            for value in line.values:
                log = self._database.logs.setdefault(team_id, [])
                log.append(
                    PriorEntry(
                        seq=len(log) + 1,
                        experience_id=line.experience.id,
                        stage=value.stage,
                        value=value.value,
                        visits=value.visits,
                        source=source,
                    )
                )
        if new:
            self._audit(team_id, "import", source, f"{new} experiences", actor)
        return new

    async def forget(self, team_id: str, experience_ids: Sequence[str], reason: str, actor: str) -> int:
        """Take experiences out of recall for good; how many were in use."""
        count = self._move(team_id, experience_ids, "forgotten")
        if count:
            self._audit(team_id, "forget", f"{count} experiences", reason, actor)
        return count

    async def outline(self, team_id: str) -> tuple[Experience, ...]:
        """The team's own experiences in use, oldest first, without text and code."""
        return tuple(replace(item, text="", code=None) for item in self._own(team_id))

    async def trials(self, team_id: str) -> tuple[RewardedTrial, ...]:
        """Of a learner that reads the log anew at each call."""
        learner = Learner()
        learner.rebuild(self._database.logs.get(team_id, ()))
        return learner.trials()

    async def learned_practices(self, team_id: str) -> tuple[PracticeVersion, ...]:
        """The team's practices that agents drew from jobs, in use or not, oldest first."""
        found = [
            PracticeVersion(practice=item, state=self._database.states.get(item.id, "active"))
            for item in self._database.experiences.values()
            if item.team_id == team_id and item.is_learned_practice
        ]
        return tuple(sorted(found, key=lambda one: (one.practice.created_at, one.practice.id)))

    async def merge(self, team_id: str, pairs: Sequence[tuple[str, str]], actor: str) -> int:
        """Make one of each (kept, absorbed) pair; how many were absorbed."""
        count = 0
        for kept, absorbed in pairs:
            if self._move(team_id, [absorbed], "merged"):
                log = self._database.logs.setdefault(team_id, [])
                log.append(MergeEntry(seq=len(log) + 1, kept=kept, absorbed=absorbed))
                count += 1
        if count:
            self._audit(team_id, "merge", f"{count} experiences", "near-duplicates", actor)
        return count

    async def untidied(self, team_id: str) -> int:
        """Experiences that came since `tidied` was called last."""
        return self._ever(team_id) - self._database.tidied.get(team_id, 0)

    async def tidied(self, team_id: str) -> None:
        """Maintenance has seen everything there is."""
        self._database.tidied[team_id] = self._ever(team_id)

    async def share(self, team_id: str, reader: str, actor: str, *, granted: bool = True) -> None:
        """Let another team recall this team's experiences, or no longer. Raises `NotFoundError`."""
        if granted:
            if reader not in self._database.teams:
                raise NotFoundError(f"no team {reader}")
            share = MemoryShare(team_id=team_id, reader=reader, granted_by=actor, at=self._database.clock.now())
            self._database.shares.setdefault((team_id, reader), share)
        else:
            self._database.shares.pop((team_id, reader), None)
        self._audit(team_id, "share" if granted else "unshare", reader, "", actor)

    async def shares(self, team_id: str) -> tuple[MemoryShare, ...]:
        """The shares that a team has given or got."""
        return tuple(share for key, share in sorted(self._database.shares.items()) if team_id in key)

    def _use(self, step: Step, experience_id: str) -> StepUse:
        ranked = {use.experience_id: use for use in self._database.uses.get((step.job_id, step.index), ())}
        use = ranked.get(experience_id)
        return StepUse(
            job_id=step.job_id,
            step=step.index,
            candidate_id=step.candidate_id,
            stage=step.stage,
            similarity=None if use is None else use.similarity,
            value=None if use is None else use.value,
            verdict=step.verdict,
            reward=step.reward,
            at=step.finished_at,
        )

    def _own(self, team_id: str) -> list[Experience]:
        return [item for item in self._database.in_use() if item.team_id == team_id]

    def _ever(self, team_id: str) -> int:
        return sum(item.team_id == team_id for item in self._database.experiences.values())

    def _move(self, team_id: str, names: Sequence[str], state: str) -> int:
        """Experiences that leave recall, or leave it for another reason; how many changed."""
        known = self._database.experiences
        own = [name for name in names if name in known and known[name].team_id == team_id]
        changed = [name for name in own if self._database.states.get(name) != state]
        self._database.states.update(dict.fromkeys(changed, state))
        return len(changed)

    def _subject(self, team_id: str, subject: str) -> tuple[str | None, list[str]]:
        item = self._database.experiences.get(subject)
        own = item is not None and item.team_id == team_id
        candidate = item.candidate_id if item is not None and own else self._candidate(team_id, subject)
        if candidate is None:
            if not own:
                raise NotFoundError(f"no experience, candidate or evaluation {subject}")
            return None, [subject]
        names = {
            one.id
            for one in self._database.experiences.values()
            if one.team_id == team_id and one.candidate_id == candidate
        }
        return candidate, sorted(names | ({subject} if own else set()))

    def _candidate(self, team_id: str, subject: str) -> str | None:
        steps = [step for some in self._database.steps.values() for step in some if step.team_id == team_id]
        by_step = next((one.candidate_id for one in steps if subject in (one.candidate_id, one.evaluation_id)), None)
        own = (item for item in self._database.experiences.values() if item.team_id == team_id)
        return by_step or next((one.candidate_id for one in own if one.candidate_id == subject), None)

    def _outcome(self, team_id: str, evaluation: str) -> OutcomeEntry | None:
        log = self._database.logs.get(team_id, ())
        return next((one for one in log if isinstance(one, OutcomeEntry) and one.evaluation_id == evaluation), None)

    def _is_retracted(self, team_id: str, evaluation: str) -> bool:
        log = self._database.logs.get(team_id, ())
        return any(isinstance(one, RetractionEntry) and one.evaluation_id == evaluation for one in log)

    def _audit(self, team_id: str, action: str, subject: str, reason: str, actor: str) -> None:
        line = MemoryAction(action=action, subject=subject, reason=reason, actor=actor, at=self._database.clock.now())
        self._database.audits.setdefault(team_id, []).append(line)
