"""Which kinds of values is a candidate tried on? Those that mean something to its reference, and that it takes."""

from __future__ import annotations

import dataclasses
import itertools
import random
from collections.abc import Callable, Sequence
from typing import Any

import torch

from workers.ipc.tensors import flatten
from workers.referee.boundary.isolated_problem import IsolatedProblem
from workers.referee.comparison.error_scales import is_by_range
from workers.referee.comparison.tolerance import ErrorScale
from workers.referee.costs import operator_costs as operators
from workers.referee.costs.named_numbers import named_numbers
from workers.referee.costs.reference_traits import ReferenceTraits
from workers.referee.inputs import distributions as kinds
from workers.referee.inputs.distributions import Distribution, all_but, alone, loose, not_finite_in, with_numbers
from workers.referee.inputs.float8 import is_eight_bit, widened
from workers.referee.inputs.row_features import is_of_unit
from workers.referee.inputs.transforms import FARTHEST, offset, tiny
from workers.referee.inputs.value_kinds import (
    hold_any_whole,
    holds_nan,
    is_code,
    is_constant,
    is_continuous,
    is_whole,
    may_repeat,
)

SMALL_BYTES = 16 << 20
"""Inputs of a call up to which every distribution is tried: draws, the reference and comparing cost time."""
COMPARED_DRAWS = 3
"""Draws that are compared to see which arguments never change, and whether indices are alike."""
MOST_LATER, FEW_LATER = 4, 2
"""Tensors beside the first of which is looked whether they alone may hold what is not finite; and those that do."""
FEW = 3
"""Distributions tried, besides the telling ones, where inputs are larger."""
MOST_ALONE = 3
"""Tensors each of which is minute, and huge, beside the others."""


class TriedValues:
    """The kinds of values that candidates are tried on, of those that mean something to the reference and it takes."""

    def __init__(
        self,
        problem: IsolatedProblem,
        traits: ReferenceTraits,
        *,
        is_one_of_many: bool,
        draw: Callable[[int, Distribution], list[Any]],
        scales: Callable[[int, Distribution], tuple[ErrorScale, ...] | None],
    ) -> None:
        """`is_one_of_many`: whether an input set is one of so many that few kinds are tried on each."""
        self._problem, self._traits, self._analysis = problem, traits, traits.analysis
        self._is_one_of_many = is_one_of_many
        self._draw, self._scales = draw, scales
        self._usable: dict[int, list[Distribution]] = {}
        self._left: list[Distribution] = []

    def usable(self, number: int) -> list[Distribution]:
        """The distributions tried on an input set, the problem's own first: those whose draws the reference can take.

        Which they are is chosen at random for the life of the referee where inputs are large, and on further sets."""
        if number not in self._usable:
            self._usable[number] = [kinds.OWN, *(d for d in self._tried(number) if self._takes(number, d))]
        return self._usable[number]

    @property
    def left_out(self) -> list[Distribution]:
        """The kinds of values that the first input set is not tried on, since its inputs are large."""
        self.usable(0)
        return self._left

    def _tried(self, number: int) -> list[Distribution]:
        """Kinds of values that mean something to the reference; of large inputs and further sets, some at random."""
        tensors = flatten(self._draw(number, kinds.OWN))
        traits, names = self._traits, self._traits.names
        size = sum(tensor.nbytes for tensor in tensors)
        others = list(kinds.OTHERS) if traits.knows_ties else [d for d in kinds.OTHERS if not d.has_ties]
        if number != 0 or size > SMALL_BYTES:
            fewest = 1 if self._is_one_of_many else FEW - 1
            kept = set(random.SystemRandom().sample(range(len(others)), FEW if number == 0 else fewest))
            if number == 0:
                self._left = [d for index, d in enumerate(others) if index not in kept]
            others = [d for index, d in enumerate(others) if index in kept]
        drowns = traits.chooses_computed  # what tells values apart: in zeros, or in a term that all have
        others = [d for d in others if not (drowns and (d.harsh or d.transform is tiny))]
        far = [kinds.FAR] if not drowns and self._has_range(tensors) and self._takes(number, kinds.FAR) else []
        if far and not traits.has_exponentials:
            others = [d for d in others if d is not kinds.WIDE]  # of which it is more
        ended = self._ended(number, tensors, is_small=size <= SMALL_BYTES)
        if len(ended) == len(kinds.ENDED):
            others = [d for d in others if d.transform is not offset]  # of which that is more
        wide = [self._largest(number) if d is kinds.WIDE else d for d in others]
        free = loose(tensors)
        repeats = traits.knows_ties or traits.may_repeat_indices
        whole = [d for d in kinds.WHOLE if not d.has_ties or repeats] if any(map(is_whole, free)) else []
        whole = whole or (list(kinds.REPEATED) if repeats and self._repeats_indices(number) else [])
        anywhere = list(kinds.ANY_WHOLE) if traits.only_compares_whole and hold_any_whole(tensors) else []
        if self._problem.place.is_gpu:  # an index out of range costs the process its device
            whole = [d for d in whole if d.has_ties]
            anywhere = [] if names & operators.INDEXING else anywhere
        codes = kinds.CODES if traits.knows_ties and any(map(is_code, free)) else ()
        constants = kinds.CONSTANTS if any(map(is_constant, tensors)) else ()
        layouts = kinds.LAYOUTS if self._problem.is_step else ()
        bounds, _ = named_numbers(self._analysis.operators)
        named = [with_numbers(bounds)] if bounds and traits.knows_ties else []
        further = [kinds.UNEVEN] if len(free) < len(tensors) else []
        of_nan = [kinds.OTHER_NAN] if any(holds_nan(widened(one)) for one in tensors) else []
        further += [kinds.NOT_FINITE, kinds.NAN_AMONG_NAN] if names & operators.SEES_NAN else of_nan
        further += self._degenerate(tensors) if number == 0 else []
        further += [kinds.ORDERED] if names & operators.COMPARING and not names & operators.SUMMING else []
        huge = [kinds.HUGE, kinds.HUGEST] if number == 0 and not far and self._may_be_huge() else []
        overflows = names & operators.WIDE_INSIDE or traits.has_whole_inside
        overflows = overflows or any(map(operators.counts_floats, self._analysis.operators))
        huge = [d for d in huge if d is kinds.HUGE or not overflows]
        further += self._alone(number, tensors, huge)
        if huge and traits.is_all_exact:
            huge = [kinds.ALL_MAGNITUDES]
        further += self._further_floats(number, others)
        further += [*ended, *self._row_by_row(number, is_small=size <= SMALL_BYTES)]
        further += self._telling_apart(tensors, is_small=size <= SMALL_BYTES) if number == 0 else []
        return [*kinds.TELLING, *whole, *anywhere, *codes, *constants, *named, *further, *far, *wide, *huge, *layouts]

    def _takes(self, number: int, distribution: Distribution) -> bool:
        """Whether the reference takes such draws."""
        return self._scales(number, distribution) is not None

    def _largest(self, number: int) -> Distribution:
        """Wide values, or in their place the largest ones that the reference takes."""
        return next((one for one in (kinds.WIDE, *kinds.LARGER) if self._takes(number, one)), kinds.LARGER[-1])

    def _ended(self, number: int, tensors: Sequence[torch.Tensor], *, is_small: bool) -> list[Distribution]:
        """Values at either end of what the reference tells apart, where it may saturate and no variance is summed."""
        names = self._traits.names
        if number != 0 or not is_small or not self._traits.takes_ties:
            return []
        if names & (operators.SPREADING | operators.TAILED):
            return []
        if not (names & operators.SATURATING or any(is_continuous(one) and is_of_unit(one) for one in tensors)):
            return []
        return [one for one in kinds.ENDED if self._takes(number, one)]

    def _row_by_row(self, number: int, *, is_small: bool) -> list[Distribution]:
        """Rows with features of their own, or flatter ones where the reference is not exact for those."""
        if number != 0 or not is_small:
            return []
        harsh = bool(self._traits.names) and not self._traits.chooses_computed
        rows = (dataclasses.replace(one, harsh=harsh) for one in (kinds.MANY_FEATURES, kinds.FLATTER))
        return list(itertools.islice((one for one in rows if self._takes(number, one)), 1))

    def _further_floats(self, number: int, others: Sequence[Distribution]) -> list[Distribution]:
        """Kinds of floats that mean something to some operators only."""
        names = self._traits.names
        found = [kinds.WHOLE_TURNS] if names & operators.PERIODIC else []
        found += [kinds.WHOLE_QUOTIENTS] if names & operators.REMAINDERS and not found else []
        found += kinds.TAILS if names & operators.TAILED else ()
        found += [kinds.UP_AND_DOWN] if names & operators.RUNNING_PRODUCTS else []
        is_wide = number == 0 and self._traits.knows_ties and kinds.WIDE in others
        return [*found, kinds.ENDS] if is_wide and not self._takes(number, kinds.WIDE) else found  # it has a domain

    def _telling_apart(self, tensors: Sequence[torch.Tensor], *, is_small: bool) -> list[Distribution]:
        """Floats that are hardly different, and what is not finite in another tensor than the first; of large inputs
        one of them."""
        if self._problem.is_step or not self._traits.names or self._is_looser or any(map(is_eight_bit, tensors)):
            return []
        found = list[Distribution]()
        looked_up = {index for index, choice in self._traits.choices.items() if choice.source is not None}
        known = self._traits.exact | looked_up
        if len(known) == len(self._analysis.outputs) and not self._traits.chooses_computed:
            found += [kinds.ADJACENT, kinds.SUBNORMAL] if self._traits.is_all_exact else [kinds.ADJACENT]
        is_mixing = self._traits.names & operators.SCANS or self._has_products
        if not (is_mixing or self._traits.converts or self._traits.names & operators.INDEXING_BY_FLOATS):
            later = range(1, sum(map(is_continuous, tensors)))
            tried = random.SystemRandom().sample(later, min(MOST_LATER, len(later)))
            found += [one for one in map(not_finite_in, tried) if self._takes(0, one)][:FEW_LATER]
        return found if is_small else random.SystemRandom().sample(found, min(1, len(found)))

    def _alone(self, number: int, tensors: Sequence[torch.Tensor], huge: Sequence[Distribution]) -> list[Distribution]:
        """One tensor minute where the others are not, and huge, and all others minute: each as far as the reference
        takes it, of conversions to whole numbers as far as these have room. Of many tensors, some are chosen at
        random."""
        count = sum(is_continuous(widened(one)) for one in tensors)
        if number != 0 or count < 2 or sum(one.nbytes for one in tensors) > SMALL_BYTES:
            return []
        if self._traits.converts_or_masks or self._traits.names & operators.REMAINDERS:
            return []
        minute = self._minute(tensors)[: 1 if self._traits.has_whole_inside else None]
        found = list[Distribution]()
        for chosen in random.SystemRandom().sample(range(count), min(MOST_ALONE, count)):
            ways = [[alone(one, chosen) for one in reversed(sort)] for sort in (minute, huge)]
            ways += [[all_but(one, chosen) for one in minute]] if count > 2 else []  # of two, that is the other alone
            usable = (next((one for one in way if self._takes(0, one)), None) for way in ways)
            found += [one for one in usable if one is not None]
        return found

    @property
    def minute_forward(self) -> Sequence[Distribution]:
        """Minute values, where these mean something to a step's forward."""
        return self._minute_at_all(flatten(self._problem.forward_arguments(self._draw(0, kinds.OWN))))

    def _minute(self, tensors: Sequence[torch.Tensor]) -> Sequence[Distribution]:
        """Minute values, where these mean something to the reference."""
        return () if self._problem.is_step else self._minute_at_all(tensors)

    def _minute_at_all(self, tensors: Sequence[torch.Tensor]) -> Sequence[Distribution]:
        if not self._traits.names or self._traits.chooses_computed:
            return ()
        if self._is_looser or any(map(is_eight_bit, tensors)) or self._traits.names & operators.ABOUT_ONE:
            return ()
        return kinds.MINUTE[:1] if self._traits.names & operators.WIDE_INSIDE else kinds.MINUTE

    def _degenerate(self, tensors: Sequence[torch.Tensor]) -> list[Distribution]:
        """Rows with nothing in them, masked scores and minute values, where these mean something to the reference; of
        large inputs one of them."""
        names = self._traits.names
        if self._problem.is_step or not names or self._traits.chooses_computed:
            return []
        found = list[Distribution]()
        if self._traits.takes_ties:
            found += self._without_spread()
        has_softmax = names & operators.SOFTMAXES or ("exp" in names and names & operators.LARGEST)
        if has_softmax and not self._traits.chooses and not self._has_products:
            found.append(kinds.MASKED)  # parts of an infinity, as products of several parts have, are no numbers
        found += self._minute(tensors)
        if sum(tensor.nbytes for tensor in tensors) > SMALL_BYTES:
            return random.SystemRandom().sample(found, min(1, len(found)))
        return found

    def _without_spread(self) -> list[Distribution]:
        """Rows of one value, or of zeros alone where digits hang on a rounding otherwise."""
        one_value, zeros = (self._scales(0, one) for one in (kinds.DEGENERATE, kinds.PADDED))
        if self._traits.names & operators.RUNNING_PRODUCTS:  # of one value, these leave the range of floats
            one_value = None
        is_exact = one_value is not None and not any(map(is_by_range, one_value))
        found = [kinds.DEGENERATE] if one_value is not None else []
        return found if is_exact or zeros is None else [*found, kinds.PADDED]

    def _may_be_huge(self) -> bool:
        """Whether numbers that hardly any problem has mean something to the reference: it converts none to integers of
        few bits or an exponent that it has not clamped, and names none that stands for infinity."""
        if self._problem.is_step or not self._traits.names or self._problem.place.is_gpu:
            return False
        if self._traits.has_exponentials or self._traits.chooses_computed:
            return False
        return not (self._is_looser or self._traits.converts_or_masks)

    def _has_range(self, tensors: Sequence[torch.Tensor]) -> bool:
        """Whether products have a range that half precision lacks, and the problem does not say that it may be less."""
        if self._is_looser or not self._has_products:
            return False
        return any(tensor.is_floating_point() and torch.finfo(tensor.dtype).max > FARTHEST for tensor in tensors)

    def _repeats_indices(self, number: int) -> bool:
        """Whether a step's whole numbers are no choice of different ones: in one of a few draws, some are alike."""
        if not self._problem.is_step or self._traits.names & operators.WRITES:
            return False
        draws = (loose(flatten(self._draw(number, kinds.OWN))) for _ in range(COMPARED_DRAWS))
        found = (one for tensors in draws for one in tensors if may_repeat(one) and not is_code(one))
        return any(int(torch.unique(one).numel()) < one.numel() for one in found)

    @property
    def _is_looser(self) -> bool:
        """Whether the problem permits larger errors than usual."""
        return any(tolerance.looser for tolerance in self._problem.tolerances.values())

    @property
    def _has_products(self) -> bool:
        """Whether the reference multiplies matrices, or convolves."""
        return any(operators.is_product(item.target) for item in self._analysis.operators)
