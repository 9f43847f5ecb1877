"""A learner at one position of its log, as bytes: what a process starts from instead of reading the log from its start.

A snapshot holds nothing that the log does not give, and is thrown away whenever that is in doubt: it names the rules it
was made under (`fingerprint`), and a retraction or merge behind its position makes readers fold the whole log again.
Loading is lazy: values and provenance stay in arrays until an experience is asked for, so 100,000 of them cost
milliseconds. Plain arrays and JSON, never pickle: bytes from a database must not be able to run code.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from services.domain.candidates import content_hash
from services.domain.jobs import Stage
from services.memory.learner import FamilyTrials, Learner
from services.memory.log import Amendments
from services.memory.selection import Evidence, RewardedStep
from services.memory.values import Estimate, Moments, Values, ValueScope

FORMAT = 2
K = TypeVar("K")
V = TypeVar("V")
EstimateKey = tuple[Stage, str, ValueScope]
Arrays = dict[str, NDArray[Any]]


class SnapshotError(ValueError):
    """The bytes are no snapshot that this program can read."""


def fingerprint(learner: Learner) -> str:
    """Names everything beside the log that a learner's state depends on."""
    parts = (FORMAT, learner.rule, learner.rules, learner.window, learner.digest_every)
    return content_hash("\x1f".join(map(repr, parts)))[:16]


def dump(learner: Learner) -> bytes:
    """The learner's state."""
    values = learner.values
    names = _NumberedExperiences()
    arrays: Arrays = {}
    scopes = _pack_estimates(values, names, arrays)
    _pack_edges("parents", values.parents, names, arrays)
    _pack_edges("children", values.children, names, arrays)
    families = [_family_data(key, known, names) for key, known in learner.families.items()]
    meta = {
        "fingerprint": fingerprint(learner),
        "last_seq": learner.last_seq,
        "outcomes": learner.outcomes,
        "scopes": scopes,
        "moments": [[at, *scope, m.count, m.mean, m.square] for (at, scope), m in values.moments.items()],
        "best_us": values.best_us,
        "evaluations": sorted(values.amendments.evaluations),
        "experiences": sorted(values.amendments.experiences),
        "survivors": dict(values.amendments.survivors),
        "families": families,
    }
    arrays["meta"] = _bytes(json.dumps(meta))
    arrays["names"] = _bytes("\n".join(names.known))
    arrays["seen"] = _bytes("\n".join(values.seen))
    file = io.BytesIO()
    np.savez(file, **arrays)  # type: ignore[arg-type]
    return file.getvalue()


def load(learner: Learner, content: bytes) -> None:
    """Put an empty learner where the snapshot was taken. Raises `SnapshotError`, and then nothing is changed."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        meta = json.loads(arrays["meta"].tobytes())
        if meta["fingerprint"] != fingerprint(learner):
            raise SnapshotError("made under other rules")
        names = _lines(arrays["names"])
        values = _values(learner, meta, arrays, names)
        families = {(Stage(at), name): _family(learner, data, names) for at, name, data in meta["families"]}
    except (ValueError, KeyError, TypeError, IndexError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise SnapshotError(f"cannot be read: {error}") from error
    learner.restore(values, families, last_seq=meta["last_seq"], outcomes=meta["outcomes"])


class Layered(dict[K, V]):
    """A dictionary over a base that is read entry by entry, at the first question about each."""

    def __init__(self, base: Callable[[K], V | None], keys: Callable[[], Iterable[K]]) -> None:
        super().__init__()
        self._base = base
        self._keys = keys

    def get(self, key: K, default: Any = None) -> Any:
        """As a dictionary's."""
        found = super().get(key)
        if found is None and (found := self._base(key)) is not None:
            self[key] = found
        return default if found is None else found

    def setdefault(self, key: K, default: Any = None) -> Any:
        """As a dictionary's."""
        found = self.get(key)
        if found is None:
            found = self[key] = default
        return found

    def __contains__(self, key: object) -> bool:
        return self.get(key) is not None  # type: ignore[arg-type]

    def __missing__(self, key: K) -> V:
        found = self._base(key)
        if found is None:
            raise KeyError(key)
        self[key] = found
        return found

    def complete(self) -> dict[K, V]:
        """Everything, read from the base where nobody asked before."""
        for key in self._keys():
            self.get(key)
        return dict(self)


class _NumberedExperiences:
    def __init__(self) -> None:
        self.known: dict[str, int] = {}

    def number(self, name: str) -> int:
        return self.known.setdefault(name, len(self.known))


@dataclass(frozen=True, kw_only=True)
class _Estimates:
    """Values by experience: rows `starts[n]` to `starts[n + 1]` belong to experience n."""

    index: Mapping[str, int]
    slots: Mapping[tuple[Stage, ValueScope], int]
    """Number of a stage and scope, as in `slot`."""
    starts: NDArray[np.int64]
    slot: NDArray[np.int32]
    value: NDArray[np.float64]
    visits: NDArray[np.float64]

    def get(self, key: EstimateKey) -> Estimate | None:
        stage, name, scope = key
        number, wanted = self.index.get(name), self.slots.get((stage, scope))
        if number is None or wanted is None or number + 1 >= len(self.starts):
            return None
        for row in range(int(self.starts[number]), int(self.starts[number + 1])):
            if self.slot[row] == wanted:
                return Estimate(value=float(self.value[row]), visits=float(self.visits[row]))
        return None

    def keys(self) -> Iterator[EstimateKey]:
        scopes = {number: pair for pair, number in self.slots.items()}
        for name, number in self.index.items():
            if number + 1 < len(self.starts):
                for row in range(int(self.starts[number]), int(self.starts[number + 1])):
                    stage, scope = scopes[int(self.slot[row])]
                    yield stage, name, scope


@dataclass(frozen=True, kw_only=True)
class _Edges:
    """Experiences by experience."""

    names: Sequence[str]
    row: Mapping[int, int]
    """Row of an experience that has edges."""
    index: Mapping[str, int]
    starts: NDArray[np.int64]
    ends: NDArray[np.int32]

    def get(self, name: str) -> tuple[str, ...] | None:
        row = self.row.get(self.index.get(name, -1))
        if row is None:
            return None
        return tuple(self.names[end] for end in self.ends[self.starts[row] : self.starts[row + 1]].tolist())

    def keys(self) -> Iterator[str]:
        return (self.names[number] for number in self.row)


def _pack_estimates(values: Values, names: _NumberedExperiences, arrays: Arrays) -> list[list[str]]:
    """Fill the arrays of the estimates; the stages and scopes by number."""
    slots: dict[tuple[Stage, ValueScope], int] = {}
    estimates = _everything(values.estimates)
    numbers = np.array([names.number(name) for _, name, _ in estimates], dtype=np.int64)
    slot = np.array([slots.setdefault((at, scope), len(slots)) for at, _, scope in estimates], dtype=np.int32)
    order = np.argsort(numbers, kind="stable")
    arrays["slot"] = slot[order]
    arrays["value"] = np.array([one.value for one in estimates.values()], dtype=np.float64)[order]
    arrays["visits"] = np.array([one.visits for one in estimates.values()], dtype=np.float64)[order]
    counts = np.bincount(numbers, minlength=len(names.known))
    arrays["starts"] = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return [[at.value, *scope] for at, scope in slots]


def _pack_edges(title: str, edges: Mapping[str, tuple[str, ...]], names: _NumberedExperiences, arrays: Arrays) -> None:
    whole = _everything(edges)
    arrays[f"{title}_of"] = np.array([names.number(name) for name in whole], dtype=np.int32)
    arrays[f"{title}_ends"] = np.array([names.number(end) for ends in whole.values() for end in ends], dtype=np.int32)
    lengths = np.array([len(ends) for ends in whole.values()], dtype=np.int64)
    arrays[f"{title}_starts"] = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def _everything(given: Mapping[K, V]) -> Mapping[K, V]:
    return given.complete() if isinstance(given, Layered) else given


def _values(learner: Learner, meta: dict[str, Any], arrays: Arrays, names: list[str]) -> Values:
    index = {name: number for number, name in enumerate(names)}
    slots = {(Stage(at), ValueScope(family, site)): number for number, (at, family, site) in enumerate(meta["scopes"])}
    estimates = _Estimates(
        index=index,
        slots=slots,
        starts=arrays["starts"],
        slot=arrays["slot"],
        value=arrays["value"],
        visits=arrays["visits"],
    )
    parents, children = (_edges(title, arrays, names, index) for title in ("parents", "children"))
    return Values(
        rules=learner.rules,
        amendments=Amendments(
            evaluations=frozenset(meta["evaluations"]),
            experiences=frozenset(meta["experiences"]),
            survivors=meta["survivors"],
        ),
        estimates=Layered(estimates.get, estimates.keys),
        moments={
            (Stage(at), ValueScope(family, site)): Moments(count=count, mean=mean, square=square)
            for at, family, site, count, mean, square in meta["moments"]
        },
        best_us=meta["best_us"],
        parents=Layered(parents.get, parents.keys),
        children=Layered(children.get, children.keys),
        seen=set(_lines(arrays["seen"])),
    )


def _edges(title: str, arrays: Arrays, names: list[str], index: dict[str, int]) -> _Edges:
    row = {number: at for at, number in enumerate(arrays[f"{title}_of"].tolist())}
    return _Edges(names=names, row=row, index=index, starts=arrays[f"{title}_starts"], ends=arrays[f"{title}_ends"])


def _family_data(key: tuple[Stage, str], known: FamilyTrials, names: _NumberedExperiences) -> list[Any]:
    stage, family = key
    trials = [
        [[names.number(item) for item in trial.items], trial.similarities, trial.reward, trial.job_id, trial.earned]
        for trial in known.trials
    ]
    evidence = {"levels": known.evidence.levels, "bins": known.evidence.bins, "helpful": dict(known.evidence.helpful)}
    return [stage.value, family, {"trials": trials, "evidence": evidence, "outcomes": known.outcomes}]


def _family(learner: Learner, data: dict[str, Any], names: list[str]) -> FamilyTrials:
    trials = (
        RewardedStep(
            items=tuple(names[number] for number in items),
            similarities=tuple(similarities),
            reward=reward,
            earned=earned,
            job_id=job_id,
        )
        for items, similarities, reward, job_id, earned in data["trials"]
    )
    evidence = Evidence(
        levels=tuple(map(tuple, data["evidence"]["levels"])),
        bins=tuple(map(tuple, data["evidence"]["bins"])),
        helpful=data["evidence"]["helpful"],
    )
    return FamilyTrials(trials=deque(trials, maxlen=learner.window), evidence=evidence, outcomes=data["outcomes"])


def _bytes(text: str) -> NDArray[np.uint8]:
    return np.frombuffer(text.encode(errors="surrogatepass"), dtype=np.uint8)


def _lines(array: NDArray[Any]) -> list[str]:
    text = array.tobytes().decode(errors="surrogatepass")
    return text.split("\n") if text else []
