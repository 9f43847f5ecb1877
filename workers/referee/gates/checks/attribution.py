"""Whose code did the work, by the time it took: samples of every thread of the candidate, taken from outside.

Everything but timed calls is sampled, and so are calls among them, chosen at random, that leave no figure: for the
candidate they are like the others. It cannot know when it is sampled, since nothing stops it. Those calls are on values
of every kind, and their outputs are judged: a candidate that has been tried must stay right.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Mapping, Sequence

from services.domain.gates import GateName
from workers.ipc.tensors import flatten
from workers.referee.boundary.slots import Slot
from workers.referee.boundary.worker_client import SeenTime
from workers.referee.boundary.worker_messages import TimeShares
from workers.referee.costs.output_paths import only_moves
from workers.referee.gates.checks.calls import judge_inputs, judge_on_values, try_draw
from workers.referee.gates.finding import GateFinding, failed, suspicious
from workers.referee.inputs.distributions import OWN, TELLING, Distribution
from workers.referee.screen.rules import (
    CHEAP_OPERATORS,
    CHECKING_OPERATORS,
    COPYING_OPERATORS,
    LIBRARY_ALIASES,
    permitted,
)
from workers.referee.trial import Trial
from workers.runner.answers import BatchTimed
from workers.runner.protocol import TimeBatch
from workers.runner.step import DENSE

WORK = ("own", "library", "generated", "math", "vector_math")
"""Owners of code that computes; the others wait, move memory or run the protocol."""
FOREIGN = ("library", "generated")
HARD_SHARE, HARD_OF_ALL, HARD_SAMPLES = 0.3, 0.12, 24
SOFT_SHARE, SOFT_OF_ALL, SOFT_SAMPLES = 0.12, 0.06, 16
"""Of what is clearly the candidate's or a library's, and of all the time at work: the C library's mathematics may have
been called by either. A partial sum that torch finishes is no library kernel."""
LARGE_SHARE = 8
"""A library operator that touches an eighth of the largest tensor does the main work."""
ENOUGH = 2 * HARD_SAMPLES
"""Samples at work among timed calls, below which further calls follow."""
PLENTY = 200
"""Samples at work that settle it."""
FURTHER_S, LITTLE_S = 0.08, 0.02
"""How long calls follow the timed ones, where there are few samples and where there are plenty."""
MOST_TURNS = 4
"""How often they follow for so long: a busy machine gives few samples a second."""
HELPERS = 0.2
"""Of permitted kernels' time: what they call besides, under names that do not show whose they are."""
WATCHED_CALLS = 3
WATCHED_OF_BATCH = 6
OWN_SHARE = 1 / 3
"""Of watched calls: those on the problem's own values; the others are on every kind in turn."""
TELLING_MORE = 2
"""How often more than others those kinds come that look like the problem's own nearly everywhere."""
WATCHED_S = 0.02
STILL_S = 0.25
"""How long an input set's further kinds of values are tried among the timed calls: all of them were tried before."""
_FAMILIES = {
    "matmul": r"gem[mv]|_dot|mkl_blas|mkl_serv|^mm_|dnnl|openblas|blas|omp_parallel_[ab]copy|xbyak",
    "linear": r"gem[mv]|_dot|mkl_blas|mkl_serv|^mm_|dnnl|openblas|blas|omp_parallel_[ab]copy|xbyak",
    "conv": r"conv|dnnl|gem[mv]|mkl_blas|mkl_serv|^mm_|im2col|vol2col",
    "attention": r"attention|gem[mv]|mkl_blas|mkl_serv|^mm_|dnnl|softmax|exp",
}
"""Functions that belong to families of operators which a problem may permit. MKL's kernels have no symbols: a
sample gets the symbol before them, which is one of MKL's memory or thread functions."""
_GENERATING = ("matmul", "linear", "conv", "attention")
"""Families whose kernels oneDNN generates at run time."""


def sampling(trial: Trial, *, on: bool) -> None:
    """Pause or resume. A GPU's candidates are not sampled: their device's time is accounted for elsewhere."""
    if trial.runner is not None and not trial.state.place.is_gpu:
        trial.state.link.sampling(trial.runner, on=on)


def watched_calls(trial: Trial, number: int, slots: Sequence[Slot]) -> GateFinding | None:
    """Some sampled calls among the timed ones, on any values, each in one of these slots. They are like them for the
    candidate, and leave no figure; what is wrong with an output."""
    if trial.state.place.is_gpu:
        return _watched_batch(trial, number, slots)
    finding = None
    sampling(trial, on=True)
    until = time.monotonic() + WATCHED_S
    for _ in range(random.SystemRandom().randint(1, WATCHED_CALLS)):
        kind = OWN if random.SystemRandom().random() < OWN_SHARE else _following(trial, number)
        slot = random.SystemRandom().choice(slots) if kind.layout == DENSE else None  # another layout has its own slot
        arguments = trial.draw_as_timed(number, kind) if slot is not None else trial.draw(number, kind)
        hold = slot is not None and _may_hold(trial, slot, kind)
        finding = try_draw(trial, number, kind, arguments, observe=False, slot=slot, hold=hold)
        if finding is not None or time.monotonic() > until:
            break
    sampling(trial, on=False)
    return finding


def _watched_batch(trial: Trial, number: int, slots: Sequence[Slot]) -> GateFinding | None:
    """On a GPU, where a single call differs from those of a batch: a batch like a timed one, of which some calls, on
    values of any kinds, are judged."""
    generator = random.SystemRandom()
    size = max(1, generator.choice([len(slots), len(slots) // 2]))
    judged = generator.sample(range(size), min(WATCHED_OF_BATCH, size))
    kinds = [OWN] * size
    for place in judged:
        kind = OWN if generator.random() < OWN_SHARE else _following(trial, number)
        kinds[place] = kind if kind.layout == DENSE else OWN
    given = [trial.draw_as_timed(number, kind) for kind in kinds]
    for slot, arguments in zip(slots, given, strict=False):
        slot.write(flatten(arguments))
    trial.session.ask(TimeBatch(slots=tuple(slot.number for slot in slots[:size]), model="plain"), BatchTimed)
    for place in judged:
        fetched, arguments, kind = trial.session.fetch(slots[place], place), given[place], kinds[place]
        answer, scales = trial.state.expected(arguments), trial.state.scales(number, kind) or ()
        where = f"{kind.name} values"
        finding = judge_inputs(trial, slots[place], arguments, answer, kind, where) or judge_on_values(
            trial, fetched, arguments, answer, kind, scales, where
        )
        if finding is not None:
            return finding
    return None


def _may_hold(trial: Trial, slot: Slot, kind: Distribution) -> bool:
    """Whether what a call returns is held, until the end or until another's is: on the problem's own values, which are
    judged again by what is known of them, where the slot stays open."""
    return kind is OWN and slot in trial.slots.values()


def still_right(trial: Trial, number: int) -> GateFinding | None:
    """What is wrong on those kinds of values that have not come among the timed calls, as many as there is time for:
    one at least, drawn at random. For the candidate these calls are further timed ones."""
    until = time.monotonic() + STILL_S
    while not trial.state.place.is_gpu:
        kind = _following(trial, number)
        slot, arguments = trial.slots[number], trial.draw_as_timed(number, kind)
        finding = try_draw(trial, number, kind, arguments, observe=False, hold=_may_hold(trial, slot, kind))
        if finding is not None or not trial.untried[number] or time.monotonic() > until:
            return finding
    return None


def _following(trial: Trial, number: int) -> Distribution:
    """A kind of values that has not come yet, in a random order."""
    left = trial.untried.setdefault(number, [])
    if not left:
        kinds = [one for one in trial.state.tried.usable(number) if not one.has_ties]  # sums of equals drift in float
        left += [*kinds, *[one for one in TELLING if one in kinds] * TELLING_MORE]
        random.SystemRandom().shuffle(left)
    return left.pop()


def library_work(trial: Trial) -> GateFinding | None:
    """PyTorch operators that did the main work in the observed call: copies too, where the reference only moves."""
    state = trial.state
    sizes = [spec.elements for spec in state.analysis.inputs]
    sizes += [max(1, meta.nbytes // meta.torch_dtype.itemsize) for meta in state.metas(0)]
    threshold = max([*sizes, LARGE_SHARE]) // LARGE_SHARE
    for operator, elements in trial.operators.items():
        name = operator.rsplit("::", 1)[-1]
        is_work = name not in CHEAP_OPERATORS or (name in COPYING_OPERATORS and only_moves(state.analysis))
        least = max(threshold, state.analysis.flops // LARGE_SHARE) if name in CHECKING_OPERATORS else threshold
        if is_work and elements >= least and not permitted(name, state.problem.library):
            return failed(f"torch's `{name}` worked on {elements} elements: the library does the candidate's work")
    return None


def seen_time(trial: Trial, timed_from: float) -> SeenTime | None:
    """Where the time of sampled calls went, after further ones where they were too few; None on GPUs."""
    if trial.state.place.is_gpu or trial.runner is None:
        return None
    link, runner, session = trial.state.link, trial.runner, trial.session
    sampling(trial, on=True)
    whole = found = link.samples(runner, session.calls)
    if not whole.why:
        few = _at_work(whole.by_owner) < PLENTY
        for _ in range(MOST_TURNS):
            _call_on(trial, FURTHER_S if few else LITTLE_S)
            found = link.samples(runner, _since(session.calls, timed_from))
            if found.why or _at_work(found.by_owner) >= ENOUGH:
                break
    return SeenTime(whole_life=whole, since_timed=found)


def _since(calls: Sequence[tuple[float, float]], start: float) -> list[tuple[float, float]]:
    return [call for call in calls if call[0] >= start]


def _call_on(trial: Trial, seconds: float) -> None:
    """Further calls like the timed ones, one at least."""
    arguments = trial.draw_as_timed(0, OWN)
    slot, tensors = trial.slot(0, arguments), flatten(arguments)
    until = time.monotonic() + seconds
    while True:
        slot.write(tensors)
        trial.session.call(slot)
        trial.session.drop()
        if time.monotonic() >= until:
            return


def foreign_time(seen: SeenTime, library: frozenset[str]) -> GateFinding | None:
    """What is to be said of time that libraries took: evidence first."""
    findings = [library_time(seen.since_timed, library), library_time(seen.whole_life, library)]
    return min((one for one in findings if one is not None), key=lambda one: one.gate is None, default=None)


def library_time(found: TimeShares, library: frozenset[str]) -> GateFinding | None:
    """What is to be said of time that libraries took; nothing where it is little, or permitted."""
    work, own = _at_work(found.by_owner), found.by_owner.get("own", 0)
    foreign = sum(found.by_owner.get(owner, 0) for owner in FOREIGN) - _permitted(found, library)
    if foreign < SOFT_SAMPLES or foreign < SOFT_SHARE * (foreign + own) or foreign < SOFT_OF_ALL * work:
        return None
    names = _named(_refused(found.functions, library))
    said = (
        f"{foreign / work:.0%} of the time at work is spent in kernels of libraries ({names}), "
        f"{own / work:.0%} in the candidate's own ({work} samples taken from outside)"
    )
    is_hard = foreign >= HARD_SAMPLES and foreign >= HARD_SHARE * (foreign + own) and foreign >= HARD_OF_ALL * work
    return failed(said, GateName.INTEGRITY) if is_hard else suspicious(said)


def _at_work(by_owner: Mapping[str, int]) -> int:
    return sum(by_owner.get(owner, 0) for owner in WORK)


def _permitted(found: TimeShares, library: frozenset[str]) -> int:
    named = sum(found.functions.values()) - sum(_refused(found.functions, library).values())
    generates = any(_family(name) in _GENERATING for name in library)
    kernels = named + (found.by_owner.get("generated", 0) if generates else 0)
    return kernels + round(HELPERS * kernels)


def _refused(functions: Mapping[str, int], library: frozenset[str]) -> dict[str, int]:
    """The functions of libraries that the problem does not permit."""
    patterns = [re.compile(_FAMILIES.get(_family(name), re.escape(name)), re.IGNORECASE) for name in library]
    return {name: count for name, count in functions.items() if not any(pattern.search(name) for pattern in patterns)}


def _family(name: str) -> str:
    return next((family for family, names in LIBRARY_ALIASES.items() if name == family or name in names), name)


def _named(functions: Mapping[str, int]) -> str:
    """The functions most samples lie in, as short as they can be distinguished by."""
    names = [_short(name) for name in list(functions)[:3]]
    return ", ".join(dict.fromkeys(names)) or "without names"


def _short(symbol: str) -> str:
    """`silu_kernel` of a mangled name: its longest word that is the name of an operator's kernel."""
    if not symbol.startswith("_Z"):
        return symbol[:60]
    words: list[str] = re.findall(r"(?<=\d)[a-zA-Z_]\w*?(?=I|E|R|K|P|\d|$)", symbol)
    kernels = [word for word in words if "kernel" in word.lower() or "softmax" in word or "pool" in word]
    return (kernels or [word for word in words if len(word) > 5] or [symbol])[0][:60]
