"""The default rule: sample from a joint posterior over which experiences help a family, and take those that do.

Each experience of a family either helps or does not; a step's reward depends on how many helpful ones were in its
context, so credit is shared by the set instead of being given to each item alone. Gibbs sampling draws the helpful
set; base and uplift, and how the chance of helping depends on similarity, are shared between families. Older trials
fade, so that values follow when helpfulness drifts. Cost is bounded: a rule sees its pool and a window of trials.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from services.memory.drift import Forgetting
from services.memory.likelihood import LARGEST_DEVIATION, LEVELS, Floats, Likelihood, likelihood_of
from services.memory.selection import Evidence, PoolItem, RewardedStep, SelectionRequest

Ints = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class JointPosterior:
    """Spike-and-slab posterior over a family's helpful experiences, with Thompson sampling."""

    name: str = "joint_posterior"
    window: int = 512
    """Most recent trials looked at."""
    forgetting: Forgetting = field(default_factory=Forgetting)
    bands: int = 40
    """Bands of similarity over 0…1 that have their own prior chance of helping; 1 means the same for all."""
    prior_helpful: float = 0.3
    """Pseudo-count of helpful items in a band."""
    prior_idle: float = 2.7
    """Pseudo-count of items that do not help in a band."""
    known_after: float = 0.2
    """Recent uses after which an item counts half in its band's prior."""
    burn_in: int = 1
    """Gibbs sweeps before the first draw; the chain starts from the family's digested evidence."""
    draws: int = 4
    """Draws of the helpful set that may fill the places (Thompson); 0 takes the likeliest to help."""
    digest_sweeps: int = 6
    """Gibbs sweeps that a digest averages over."""

    def choose(self, request: SelectionRequest, rng: np.random.Generator) -> tuple[str, ...]:
        """The helpful items of one draw after another until the places are filled, then the likeliest to help.

        Several draws, because one often holds fewer helpful items than there are places: what a further draw believes
        in is a better use of a place than the runner-up by chance.
        """
        if not request.pool:
            return ()
        chain, size = self._chain(request, rng), len(request.pool)
        for _ in range(self.burn_in):
            chance = chain.sweep(size)
        chosen: list[int] = []
        for _ in range(self.draws):
            chance = chain.sweep(size)
            helpful = np.flatnonzero(chain.helps[:size])
            chosen += [int(index) for index in helpful[np.argsort(-chance[helpful])] if index not in chosen]
            if len(chosen) >= request.count:
                break
        chosen += [int(index) for index in np.argsort(-chance - 1e-3 * rng.random(size)) if index not in chosen]
        return tuple(request.pool[index].experience_id for index in chosen[: request.count])

    def digest(self, request: SelectionRequest, rng: np.random.Generator) -> Evidence:
        """Level table, bands and chances of helping, averaged over the second half of the sweeps."""
        chain = self._chain(request, rng)
        kept = []
        for sweep in range(self.digest_sweeps):
            chance = chain.sweep(chain.size)
            if 2 * sweep >= self.digest_sweeps:
                kept.append((chance, chain.level_table(), chain.band_table()))
        mean = [np.mean([draw[part] for draw in kept], axis=0) for part in range(3)]
        tried = {name: float(mean[0][index]) for name, index in chain.place.items() if len(chain.uses[index])}
        return Evidence(levels=_rows(mean[1]), bins=_rows(mean[2]), helpful=tried)

    def _chain(self, request: SelectionRequest, rng: np.random.Generator) -> _Chain:
        return _Chain(self, request, request.trials[-self.window :], rng)


class _Chain:
    """One Gibbs chain over a family's helpful set and the shared parameters."""

    def __init__(
        self, rule: JointPosterior, request: SelectionRequest, trials: Sequence[RewardedStep], rng: np.random.Generator
    ) -> None:
        self._rule = rule
        self._rng = rng
        self._likelihood: Likelihood = likelihood_of(request.stage)
        self.place = _places(request.pool, trials)
        self.size = len(self.place)
        self._rewards = np.clip([trial.reward for trial in trials], -LARGEST_DEVIATION, LARGEST_DEVIATION)
        self._weight = rule.forgetting.weights(trials)
        self.uses = _uses(self.place, trials)
        self._band = _bands(self.place, request.pool, trials, rule.bands)
        flat, ends = _flat(self.uses)
        owner = np.repeat(np.arange(self.size), np.diff(ends, prepend=0))
        weight: Floats = np.bincount(owner, weights=self._weight[flat], minlength=self.size).astype(np.float64)
        self._known = weight / (weight + rule.known_after)
        self._other_levels = _total([evidence.levels for evidence in request.others], (3, LEVELS))
        self._other_bins = _total([evidence.bins for evidence in request.others], (2, rule.bands))
        believed = np.array([request.own.helpful.get(name, 0.0) for name in self.place])
        self._helps: list[int] = (rng.random(self.size) < believed).astype(np.int64).tolist()
        self._level = np.zeros(len(trials), dtype=np.int64)
        for index in np.flatnonzero(self._helps):
            self._level[self.uses[index]] += 1
        self._width = max([LEVELS - 1, *(len(trial.items) for trial in trials)])
        scaled = flat * self._width
        self._offsets = [scaled[end - len(use) : end] for use, end in zip(self.uses, ends.tolist(), strict=True)]

    def sweep(self, items: int) -> Floats:
        """Draw the shared parameters, then the first `items` in random order; each one's chance of helping when drawn.

        The others stay as the digested evidence has them, so a choice costs no more than its pool."""
        prior = self._draw_prior()
        gains = self._draw_gains().ravel()
        chance = prior.tolist()
        log_odds = np.log(prior / (1.0 - prior)).tolist()
        coins = self._rng.random(items).tolist()
        for index in self._rng.permutation(items).tolist():
            use, helps = self.uses[index], self._helps[index]
            if len(use):
                odds = log_odds[index] + float(gains.take(self._offsets[index] + self._level[use] - helps).sum())
                chance[index] = 1.0 / (1.0 + math.exp(-min(max(odds, -30.0), 30.0)))
            drawn = int(coins[index] < chance[index])
            if drawn != helps:
                self._level[use] += drawn - helps
                self._helps[index] = drawn
        return np.array(chance[:items])

    @property
    def helps(self) -> Ints:
        """The drawn set: 1 where an item helps, shape (items,)."""
        return np.array(self._helps, dtype=np.int64)

    def level_table(self) -> Floats:
        """Weighted count, sum and sum of squares of the rewards by number of helpful items, shape (3, LEVELS)."""
        level = np.minimum(self._level, LEVELS - 1)
        powers = (self._weight, self._weight * self._rewards, self._weight * self._rewards**2)
        return np.array([np.bincount(level, weights=power, minlength=LEVELS) for power in powers])

    def band_table(self) -> Floats:
        """Helpful items and items by band, weighted by how much is known of them, shape (2, bands)."""
        helpful = np.bincount(self._band, weights=self._known * self.helps, minlength=self._rule.bands)
        return np.array([helpful, np.bincount(self._band, weights=self._known, minlength=self._rule.bands)])

    def _draw_gains(self) -> Floats:
        """What one more helpful item adds to each trial's log likelihood at each level, shape (trials, self._width)."""
        likelihood = self._likelihood.of_table(self.level_table() + self._other_levels)
        share = np.exp(likelihood - likelihood.max())
        point = int(self._rng.choice(len(share), p=share / share.sum()))
        gains = np.zeros((len(self._rewards), self._width))
        gains[:, : LEVELS - 1] = np.diff(self._likelihood.of_rewards(self._rewards, point), axis=1)
        weighted: Floats = gains * self._weight[:, None]
        return weighted

    def _draw_prior(self) -> Floats:
        """Each item's prior chance of helping, drawn from its band's Beta posterior."""
        helpful, items = self.band_table() + self._other_bins
        drawn = self._rng.beta(self._rule.prior_helpful + helpful, self._rule.prior_idle + items - helpful)
        prior: Floats = np.clip(drawn, 1e-4, 0.9)[self._band]
        return prior


def _places(pool: Sequence[PoolItem], trials: Sequence[RewardedStep]) -> dict[str, int]:
    """Index of every item: the pool first, then what else the trials used."""
    place = {item.experience_id: index for index, item in enumerate(pool)}
    for trial in trials:
        for name in trial.items:
            place.setdefault(name, len(place))
    return place


def _uses(place: dict[str, int], trials: Sequence[RewardedStep]) -> list[Ints]:
    """Indices of the trials that each item was in."""
    uses: list[list[int]] = [[] for _ in place]
    for index, trial in enumerate(trials):
        for name in trial.items:
            uses[place[name]].append(index)
    return [np.array(use, dtype=np.int64) for use in uses]


def _flat(uses: Sequence[Ints]) -> tuple[Ints, Ints]:
    """All uses behind one another, and where each item's end: thousands of items cost one numpy call each otherwise."""
    ends: Ints = np.cumsum([len(use) for use in uses], dtype=np.int64)
    flat: Ints = np.concatenate(uses) if len(uses) else np.empty(0, dtype=np.int64)
    return flat, ends


def _bands(place: dict[str, int], pool: Sequence[PoolItem], trials: Sequence[RewardedStep], bands: int) -> Ints:
    """Band of each item's similarity: its running mean over the trials, else what the pool says."""
    similarity: dict[str, float] = {}
    for trial in trials:
        for name, value in zip(trial.items, trial.similarities, strict=True):
            known = similarity.get(name)
            similarity[name] = value if known is None else 0.7 * known + 0.3 * value
    for item in pool:
        similarity.setdefault(item.experience_id, item.similarity)
    band = np.array([similarity[name] * bands for name in place], dtype=np.float64)
    return np.clip(band.astype(np.int64), 0, bands - 1)


def _total(tables: Sequence[tuple[tuple[float, ...], ...]], shape: tuple[int, int]) -> Floats:
    """Sum of tables of one shape; a table of another shape (an older setting) is left out."""
    total = np.zeros(shape)
    for table in tables:
        array = np.array(table, dtype=np.float64)
        if array.shape == shape:
            total += array
    return total


def _rows(table: Floats) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(float(value) for value in row) for row in table)
