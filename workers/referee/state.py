"""What a referee knows about its problem and keeps between candidates."""

from __future__ import annotations

import dataclasses
import itertools
import random
import secrets
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from services.domain.devices import DeviceSheet
from services.domain.measurements import Baselines
from services.domain.problems import ProblemAnalysis
from workers.ipc.placement import TensorDevice
from workers.ipc.tensors import TensorMeta, flatten
from workers.referee.baselines.measurement import STATIC_SETS, BaselineBench
from workers.referee.baselines.overhead import ReferenceCost
from workers.referee.boundary.isolated_problem import IsolatedProblem
from workers.referee.boundary.problem_messages import Manners
from workers.referee.boundary.worker_client import WorkerLink
from workers.referee.comparison.block_errors import real_pairs
from workers.referee.comparison.error_scales import (
    has_jumps,
    has_other_elements,
    is_by_range,
    is_counted,
    largest_finite,
    same_bytes,
    scales_of,
    with_shifts,
    with_steps,
    within_range,
    without_faint_lines,
    without_lines,
)
from workers.referee.comparison.output_structure import Answer, Selection
from workers.referee.comparison.tolerance import (
    ERROR_MULTIPLE,
    ErrorScale,
    all_finite,
    moved_apart,
    partly_finite,
    tells_elements,
    worse,
)
from workers.referee.comparison.trivial_outputs import Tensors, TrivialOutputs
from workers.referee.comparison.usual_magnitudes import Slots, usual_magnitudes
from workers.referee.costs.named_numbers import named_numbers
from workers.referee.costs.operator_costs import (
    ABOUT_ONE,
    CHOOSERS,
    COMPARING,
    CONVERTING,
    EXPONENTIALS,
    INDEXING,
    INDEXING_BY_FLOATS,
    KINKED,
    KINKED_BY_ITSELF,
    LARGEST,
    PERIODIC,
    PLACES,
    REMAINDERS,
    RUNNING_PRODUCTS,
    SATURATING,
    SCANS,
    SEES_NAN,
    SOFTMAXES,
    SPREADING,
    SUMMING,
    TAILED,
    TAKING_AWAY,
    WHOLE_NAMES,
    WIDE_INSIDE,
    WRITES,
    base_name,
    converts_or_masks,
    counts_floats,
    is_product,
    longest_sum,
)
from workers.referee.costs.output_paths import (
    choices,
    chooses_computed,
    exact_outputs,
    is_clamped,
    only_compares_whole,
    settles_ties,
)
from workers.referee.errors import Refused
from workers.referee.inputs.constraints import is_same
from workers.referee.inputs.distributions import (
    ADJACENT,
    ALL_MAGNITUDES,
    ANY_WHOLE,
    COARSE,
    CODES,
    CONSTANTS,
    DEGENERATE,
    ENDED,
    ENDS,
    FAR,
    FLATTER,
    HUGE,
    HUGEST,
    LARGER,
    LAYOUTS,
    MANY_FEATURES,
    MASKED,
    MINUTE,
    NAN_AMONG_NAN,
    NOT_FINITE,
    ORDERED,
    OTHER_NAN,
    OTHERS,
    OWN,
    PADDED,
    REPEATED,
    ROUNDING,
    SUBNORMAL,
    TAILS,
    TELLING,
    UNEVEN,
    UP_AND_DOWN,
    WHOLE,
    WHOLE_QUOTIENTS,
    WHOLE_TURNS,
    WIDE,
    Distribution,
    all_but,
    alone,
    changes,
    drawn,
    flushed,
    is_one_several,
    loose,
    not_finite_in,
    nudged,
    rebuilt,
    with_numbers,
    without_ties,
)
from workers.referee.inputs.float8 import is_eight_bit, widened
from workers.referee.inputs.fresh_values import FreshValues, mixable
from workers.referee.inputs.large_inputs import is_large, telling_part
from workers.referee.inputs.row_features import is_of_unit
from workers.referee.inputs.transforms import FARTHEST, offset, tiny
from workers.referee.inputs.unvarying import unvarying
from workers.referee.inputs.value_kinds import (
    hold_any_whole,
    holds_nan,
    is_code,
    is_constant,
    is_continuous,
    is_whole,
    may_repeat,
)
from workers.runner.step import GraphUse

FORWARD = GraphUse(gradients=())
"""Of a step, that nobody asks for a gradient."""
SEED_BITS = 31
TIMED_HELD_OUT = 8
"""Held-out input sets that are timed, at most: each costs half a second and, once, a compilation of the baseline."""
LONG_SUM = 2.0**-24 / ERROR_MULTIPLE
"""Relative error of a sum in float by the root of its terms, as the share that the bound multiplies."""
TIED_SUM = 2.0**-24 / 4 / ERROR_MULTIPLE
"""The same by its terms, where these are a few values: each rounds alike and errors add up. Running sums of float were
8.2e-5 off over 16 384 terms in the worst of 60 tied draws (rows 9.3e-5), 2.5e-5 over 4096, 9.7e-6 over 2048: a tenth of
a rounding a term, of which this permits a quarter. Over 16 384 terms of any other kind of values it was 2.6e-6."""
MOST_TIED = 1e-3 / ERROR_MULTIPLE
TERMS_ALIKE, MOST_ALIKE = 64, 16
"""Equal terms by which a sum of them, added in vectors, is off by one rounding more; and most such roundings."""
ONE_ROUNDED, MOST_OF_ONE = 2.0**-23, 1e-4
"""What pointwise formulas of exponentials lose that pass through numbers about 1 (`exp(x) - 1`), over the root mean
square of the output, and the most that is made of it: small inputs show it (2.7e-5 for `expm1` of 1e-3)."""
FAINT_ERROR = 1.5e-6
"""Of the root mean square of all elements: what pointwise formulas lose that are written otherwise (`exp(x) - 1` for
`expm1`, `log(1 + exp(x))`: up to 1e-6 for mish), where theirs are faint."""
SMALL_BYTES = 16 << 20
"""Inputs of a call up to which every distribution is tried: draws, the reference and comparing cost time."""
COMPARED_DRAWS = 3
"""Draws that are compared to see which arguments never change."""
MOST_MOVED = 1 / 8
"""Share of a tensor's elements that may be moved back into the range that the problem promises: a tensor that is mostly
one value shows little, and what is left of its variance is rounding."""
MOST_LATER, FEW_LATER = 4, 2
"""Tensors beside the first of which is looked whether they alone may hold what is not finite; and those that do."""
FEW = 3
"""Distributions tried, besides the telling ones, where inputs are larger."""
ILL_CONDITIONED = {torch.float32: 1e-3, torch.float64: 1e-9}
ILL_CONDITIONED_HALF = 9e-3
"""Relative error of the reference's own gradient from which on it is what is left of terms that cancel each other (of a
softmax's or a norm's under a cotangent that is the same everywhere): no kernel's is right there."""
OF_A_STEP = 4
"""Roundings of its arguments that an honest step may be off by, beside something huge."""
BY_ANOTHER_FORMULA = 4 * ROUNDING
"""How far another way to compute the same may be off, beside a rounding of its inputs."""
NEARLY = 1 / 4
"""Of the largest number, from which on another one may be infinite."""
MOST_ZEROS = 0.25
"""Share of a gradient's elements that are zero up to which it has not vanished."""
BOUNDED_BY = 1.05
"""How many times the largest output of the problem's own values one of huge values may be, where bounded."""
OWN_OF_STATE = 8.0
"""How many times the reference's own error a tensor that is changed in place may be off, in addition to what its change
may."""


class DeviceCare:
    """Keeps others off a GPU while it is used, and does not use one that a candidate may have broken."""

    def __init__(self, place: TensorDevice, hold: Callable[[], float]) -> None:
        self._place = place
        self._hold = hold
        self.doubtful = False
        """Whether a candidate's process ended so that the device has to show that it still works."""

    def take(self) -> float:
        """Have the device until the request is answered; the seconds that took. Raises `InfrastructureError`."""
        if not self._place.is_gpu:
            return 0.0
        waited = self._hold()
        if self.doubtful:
            self._place.check_health()
            self.doubtful = False
        return waited


MOST_ALONE = 3
"""Tensors each of which is minute, and huge, beside the others."""
NEARLY_NOTHING = 1e10
"""Of the smallest normal number: a kernel that flushes smaller ones to zero loses digits of its sums, and one that
divides products by lengths bounded below gets zero where the reference, which divides first, has a number still."""
NEIGHBOURS = 8
"""Of a call's arguments, on which the reference is asked whether it takes them, and what it chooses."""
SPREAD = 8
"""The errors of a sum in float, in those of rounded terms: as large as a kernel's may be before it chooses."""
MINUTEST = frozenset(one.transform for one in MINUTE)
DECOMPOSING = ("linalg_", "_linalg_", "cholesky")
"""Beginnings of the names of operators that refuse what is nearly singular."""


class ReferenceState:
    """A loaded problem with its baselines, how exact its reference is, and which draws it can take."""

    def __init__(
        self,
        *,
        problem: IsolatedProblem,
        analysis: ProblemAnalysis,
        device: DeviceSheet,
        link: WorkerLink,
        baselines: Baselines,
        baselines_age_s: float = 0.0,
    ) -> None:
        self.problem = problem
        self.analysis = analysis
        self.device = device
        self.link = link
        self.place = problem.place
        self.threads = self.place.host_threads(device.units)
        self.bench = BaselineBench(link, problem, baselines, self.threads, reference=self, age_s=baselines_age_s)
        self.care = DeviceCare(self.place, link.hold_device)
        self.reference_bytes = 0
        """The most device memory that a run of the reference took, besides its inputs."""
        self.reference_costs: dict[str, ReferenceCost] = {}
        """By baseline, where that was looked at."""
        self._scales: dict[tuple[int, str], tuple[ErrorScale, ...] | None] = {}
        self._usable: dict[int, list[Distribution]] = {}
        self._left: list[Distribution] = []
        self._metas: dict[int, list[TensorMeta]] = {}
        self._mixable: dict[int, list[bool]] = {}
        self._unvarying: list[int] | None = None
        self._is_large: bool | None = None
        self._manners: Manners | None = None
        self._overwritable: tuple[tuple[int, ...], tuple[int, ...]] | None = None
        self._exact = exact_outputs(analysis).intersection(*map(exact_outputs, analysis.other_forms))
        """Outputs that no rounding has a share in; see `exact_outputs`."""
        self._settles_ties = all(map(settles_ties, (analysis, *analysis.other_forms)))
        """Whether PyTorch promises what the reference does with equal values."""
        self._choices = {} if analysis.other_forms else choices(analysis)
        """Outputs that hold places of values."""
        self._only_compares_whole = all(map(only_compares_whole, (analysis, *analysis.other_forms)))
        """Whether the inputs' whole numbers may be any of their dtype."""
        self._trivial, self._trivial_in_place = (
            TrivialOutputs(
                analysis,
                problem.tolerances,
                longest_sum=self._longest_sum,
                has_exponentials=self._has_exponentials(),
            )
            for _ in range(2)
        )

    def keep_weights_secret(self) -> None:
        """Where a candidate was given the seed of the weights, draw others for the next, in the baselines' process too.
        How exact the reference is, and what it can take, is not a matter of the very weights."""
        if self.problem.seed_is_out:
            self.problem.draw_weights_anew()
            self.bench.restart()

    def draw(self, number: int, distribution: Distribution) -> list[Any]:
        """Fresh arguments for an input set."""
        arguments = self.problem.make_inputs(number, secrets.randbits(SEED_BITS), distribution.layout)
        return self.changed(arguments, distribution)

    def changed(self, arguments: list[Any], distribution: Distribution) -> list[Any]:
        """Arguments changed as a distribution has it, as far as the problem's promises permit."""
        changed = drawn(arguments, distribution)
        if distribution.own_cotangents:
            count = len(self.problem.forward_arguments(arguments))
            changed = [*changed[:count], *arguments[count:]]
        return self.problem.limits.kept(arguments, changed) if self.problem.limits else changed

    def expected(self, arguments: list[Any], use: GraphUse | None = None) -> Answer:
        """What the reference makes of arguments, which stay as they are; of a step, with such a use of its graph."""
        answer = self.problem.run(arguments, with_inputs=self.mutates, use=use)
        self.reference_bytes = max(self.reference_bytes, answer.peak_bytes)
        if self._choices:
            return dataclasses.replace(answer, selections=self._selections(arguments, answer))
        return answer

    def scales(self, number: int, distribution: Distribution) -> tuple[ErrorScale, ...] | None:
        """How exact the reference is for such draws, one figure an output; None when it cannot take them."""
        key = (number, distribution.name)
        if key not in self._scales:
            self._scales[key] = self.measured_scales(number, distribution)
        return self._scales[key]

    def values(
        self, number: int, pool: Sequence[Sequence[torch.Tensor]], draw: Callable[[], Sequence[torch.Tensor]]
    ) -> FreshValues:
        """The values of an input set's timed calls, from some draws of it and what makes another."""
        if number not in self._mixable:
            self._mixable[number] = mixable(pool)
        return FreshValues(pool, draw, known=self._mixable[number])

    @property
    def unvarying(self) -> list[int]:
        """Numbers of the leaves of `forward`'s arguments that no draw of the first input set changes."""
        if self._unvarying is None:
            draws = (self.problem.forward_arguments(self.draw(0, OWN)) for _ in range(COMPARED_DRAWS))
            self._unvarying = unvarying(draws)
        return self._unvarying

    @property
    def named_indices(self) -> tuple[int, ...]:
        """Whole numbers that the model names and that indices may meet."""
        return named_numbers(self.analysis.operators)[1]

    def usable(self, number: int) -> list[Distribution]:
        """The distributions tried on an input set, the problem's own first: those whose draws the reference can take.

        Which they are is chosen at random for the life of the referee where inputs are large, and on further sets."""
        if number not in self._usable:
            self._usable[number] = [OWN, *(d for d in self._tried(number) if self.scales(number, d) is not None)]
        return self._usable[number]

    @property
    def left_out(self) -> list[Distribution]:
        """The kinds of values that the first input set is not tried on, since its inputs are large."""
        self.usable(0)
        return self._left

    def known_scales(self, distribution: Distribution) -> tuple[ErrorScale, ...]:
        """How exact the reference is for such draws of the first input set, where that was measured, or for its own."""
        return self._scales.get((0, distribution.name)) or self.scales(0, OWN) or ()

    def _tried(self, number: int) -> list[Distribution]:
        tensors = flatten(self.draw(number, OWN))
        size = sum(tensor.nbytes for tensor in tensors)
        others = list(OTHERS) if self.knows_ties else [d for d in OTHERS if not d.has_ties]
        if number != 0 or size > SMALL_BYTES:
            fewest = 1 if self.is_one_of_many else FEW - 1
            kept = set(random.SystemRandom().sample(range(len(others)), FEW if number == 0 else fewest))
            if number == 0:
                self._left = [d for index, d in enumerate(others) if index not in kept]
            others = [d for index, d in enumerate(others) if index in kept]
        drowns = chooses_computed(self.analysis)  # what tells values apart: in zeros, or in a term that all have
        others = [d for d in others if not (drowns and (d.harsh or d.transform is tiny))]
        far = [FAR] if not drowns and self._has_range(tensors) and self.scales(number, FAR) is not None else []
        if far and not self._has_exponentials():
            others = [d for d in others if d is not WIDE]  # of which it is more
        ended = self._ended(number, tensors, is_small=size <= SMALL_BYTES)
        others = [
            d for d in others if not (d.transform is offset and len(ended) == len(ENDED))
        ]  # of which that is more
        wide = [self._largest(number) if d is WIDE else d for d in others]
        free = loose(tensors)
        repeats = self.knows_ties or self._may_repeat_indices()
        whole = [d for d in WHOLE if not d.has_ties or repeats] if any(map(is_whole, free)) else []
        whole = whole or (list(REPEATED) if repeats and self._repeats_indices(number) else [])
        anywhere = list(ANY_WHOLE) if self._only_compares_whole and hold_any_whole(tensors) else []
        if self.place.is_gpu:  # an index out of range costs the process its device
            whole = [d for d in whole if d.has_ties]
            anywhere = [] if self.names & INDEXING else anywhere
        codes = CODES if self.knows_ties and any(map(is_code, free)) else ()
        constants = CONSTANTS if any(map(is_constant, tensors)) else ()
        layouts = LAYOUTS if self.problem.is_step else ()
        bounds, _ = named_numbers(self.analysis.operators)
        named = [with_numbers(bounds)] if bounds and self.knows_ties else []
        further = [UNEVEN] if len(free) < len(tensors) else []
        of_nan = [OTHER_NAN] if any(holds_nan(widened(one)) for one in tensors) else []
        further += [NOT_FINITE, NAN_AMONG_NAN] if self.names & SEES_NAN else of_nan
        further += self._degenerate(tensors) if number == 0 else []
        further += [ORDERED] if self.names & COMPARING and not self.names & SUMMING else []
        huge = [HUGE, HUGEST] if number == 0 and not far and self._may_be_huge() else []
        overflows = (
            self.names & WIDE_INSIDE or self._has_whole_inside or any(map(counts_floats, self.analysis.operators))
        )
        huge = [d for d in huge if d is HUGE or not overflows]
        further += self._alone(number, tensors, huge)
        if huge and self._is_all_exact:
            huge = [ALL_MAGNITUDES]
        further += self._further_floats(number, others)
        further += [*ended, *self._row_by_row(number, is_small=size <= SMALL_BYTES)]
        further += self._telling_apart(tensors, is_small=size <= SMALL_BYTES) if number == 0 else []
        return [*TELLING, *whole, *anywhere, *codes, *constants, *named, *further, *far, *wide, *huge, *layouts]

    def _largest(self, number: int) -> Distribution:
        """Wide values, or in their place the largest ones that the reference takes."""
        return next((one for one in (WIDE, *LARGER) if self.scales(number, one) is not None), LARGER[-1])

    def _ended(self, number: int, tensors: Sequence[torch.Tensor], *, is_small: bool) -> list[Distribution]:
        """Values at either end of what the reference tells apart, where it may saturate and no variance is summed."""
        if number != 0 or not is_small or not self.takes_ties or self.names & (SPREADING | TAILED):
            return []
        if not (self.names & SATURATING or any(is_continuous(one) and is_of_unit(one) for one in tensors)):
            return []
        return [one for one in ENDED if self.scales(number, one) is not None]

    def _row_by_row(self, number: int, *, is_small: bool) -> list[Distribution]:
        """Rows with features of their own, or flatter ones where the reference is not exact for those."""
        if number != 0 or not is_small:
            return []
        harsh = bool(self.names) and not chooses_computed(self.analysis)
        kinds = (dataclasses.replace(one, harsh=harsh) for one in (MANY_FEATURES, FLATTER))
        return list(itertools.islice((one for one in kinds if self.scales(number, one) is not None), 1))

    def _further_floats(self, number: int, others: Sequence[Distribution]) -> list[Distribution]:
        """Kinds of floats that mean something to some operators only."""
        found = [WHOLE_TURNS] if self.names & PERIODIC else []
        found += [WHOLE_QUOTIENTS] if self.names & REMAINDERS and not found else []
        found += TAILS if self.names & TAILED else ()
        found += [UP_AND_DOWN] if self.names & RUNNING_PRODUCTS else []
        has_domain = number == 0 and self.knows_ties and WIDE in others and self.scales(number, WIDE) is None
        return [*found, ENDS] if has_domain else found

    def _telling_apart(self, tensors: Sequence[torch.Tensor], *, is_small: bool) -> list[Distribution]:
        """Floats that are hardly different, and what is not finite in another tensor than the first; of large inputs
        one of them."""
        is_looser = any(tolerance.looser for tolerance in self.problem.tolerances.values())
        if self.problem.is_step or not self.names or is_looser or any(map(is_eight_bit, tensors)):
            return []
        found = list[Distribution]()
        known = self._exact | {index for index, choice in self._choices.items() if choice.source is not None}
        if len(known) == len(self.analysis.outputs) and not chooses_computed(self.analysis):
            found += [ADJACENT, SUBNORMAL] if self._is_all_exact else [ADJACENT]
        is_mixing = self.names & SCANS or any(is_product(item.target) for item in self.analysis.operators)
        if not (is_mixing or self._converts or self.names & INDEXING_BY_FLOATS):
            later = range(1, sum(map(is_continuous, tensors)))
            tried = random.SystemRandom().sample(later, min(MOST_LATER, len(later)))
            found += [one for one in map(not_finite_in, tried) if self.scales(0, one) is not None][:FEW_LATER]
        return found if is_small else random.SystemRandom().sample(found, min(1, len(found)))

    @property
    def _converts(self) -> bool:
        """Whether floats may become whole numbers: of NaN, any."""
        return self._has_whole_inside and bool(self.names & CONVERTING)

    @property
    def _is_all_exact(self) -> bool:
        """Whether no rounding has a share in any output."""
        return bool(self.names) and len(self._exact) == len(self.analysis.outputs)

    def _alone(self, number: int, tensors: Sequence[torch.Tensor], huge: Sequence[Distribution]) -> list[Distribution]:
        """One tensor minute where the others are not, and huge, and all others minute: each as far as the reference
        takes it, of conversions to whole numbers as far as these have room. Of many tensors, some are chosen at
        random."""
        count = sum(is_continuous(widened(one)) for one in tensors)
        is_large = sum(one.nbytes for one in tensors) > SMALL_BYTES
        if number != 0 or count < 2 or is_large or self._converts_or_masks() or self.names & REMAINDERS:
            return []
        minute = self._minute(tensors)[: 1 if self._has_whole_inside else None]
        found = list[Distribution]()
        for chosen in random.SystemRandom().sample(range(count), min(MOST_ALONE, count)):
            ways = [[alone(one, chosen) for one in reversed(kinds)] for kinds in (minute, huge)]
            ways += [[all_but(one, chosen) for one in minute]] if count > 2 else []  # of two, that is the other alone
            usable = (next((one for one in way if self.scales(0, one) is not None), None) for way in ways)
            found += [one for one in usable if one is not None]
        return found

    def _minute(self, tensors: Sequence[torch.Tensor]) -> Sequence[Distribution]:
        """Minute values, where these mean something to the reference."""
        return () if self.problem.is_step else self._minute_at_all(tensors)

    @property
    def minute_forward(self) -> Sequence[Distribution]:
        """Minute values, where these mean something to a step's forward."""
        return self._minute_at_all(flatten(self.problem.forward_arguments(self.draw(0, OWN))))

    def _minute_at_all(self, tensors: Sequence[torch.Tensor]) -> Sequence[Distribution]:
        if not self.names or chooses_computed(self.analysis):
            return ()
        is_looser = any(tolerance.looser for tolerance in self.problem.tolerances.values())
        if is_looser or any(map(is_eight_bit, tensors)) or self.names & ABOUT_ONE:
            return ()
        return MINUTE[:1] if self.names & WIDE_INSIDE else MINUTE

    @property
    def _has_whole_inside(self) -> bool:
        return any(spec.dtype in WHOLE_NAMES for item in self.analysis.operators for spec in item.outputs)

    def _degenerate(self, tensors: Sequence[torch.Tensor]) -> list[Distribution]:
        """Rows with nothing in them, masked scores and minute values, where these mean something to the reference; of
        large inputs one of them."""
        if self.problem.is_step or not self.names or chooses_computed(self.analysis):
            return []
        found = list[Distribution]()
        if self.takes_ties:
            found += self._without_spread()
        has_softmax = self.names & SOFTMAXES or ("exp" in self.names and self.names & LARGEST)
        if has_softmax and not self.chooses and not any(is_product(item.target) for item in self.analysis.operators):
            found.append(MASKED)  # parts of an infinity, as products of several parts have, are no numbers
        found += self._minute(tensors)
        if sum(tensor.nbytes for tensor in tensors) > SMALL_BYTES:
            return random.SystemRandom().sample(found, min(1, len(found)))
        return found

    def _without_spread(self) -> list[Distribution]:
        """Rows of one value, or of zeros alone where digits hang on a rounding otherwise."""
        one_value, zeros = (self.scales(0, one) for one in (DEGENERATE, PADDED))
        if self.names & RUNNING_PRODUCTS:  # of one value, these leave the range of floats
            one_value = None
        is_exact = one_value is not None and not any(map(is_by_range, one_value))
        found = [DEGENERATE] if one_value is not None else []
        return found if is_exact or zeros is None else [*found, PADDED]

    def _may_be_huge(self) -> bool:
        """Whether numbers that hardly any problem has mean something to the reference: it converts none to integers of
        few bits or an exponent that it has not clamped, and names none that stands for infinity."""
        if self.problem.is_step or not self.names or self.place.is_gpu or self._has_exponentials():
            return False
        if chooses_computed(self.analysis):
            return False
        if any(tolerance.looser for tolerance in self.problem.tolerances.values()):
            return False
        return not self._converts_or_masks()

    def _converts_or_masks(self) -> bool:
        """Whether numbers of some size would overflow in a conversion, or mean the same as infinity."""
        return any(converts_or_masks(item) and not is_clamped(self.analysis, item) for item in self.analysis.operators)

    def _has_range(self, tensors: Sequence[torch.Tensor]) -> bool:
        """Whether products have a range that half precision lacks, and the problem does not say that it may be less."""
        if not any(is_product(item.target) for item in self.analysis.operators):
            return False
        if any(tolerance.looser for tolerance in self.problem.tolerances.values()):
            return False
        return any(tensor.is_floating_point() and torch.finfo(tensor.dtype).max > FARTHEST for tensor in tensors)

    @property
    def knows_ties(self) -> bool:
        """Whether what the reference does with equal values is known."""
        names = self.names
        return bool(names) and not self.chooses and not self._has_kinks()

    @property
    def takes_ties(self) -> bool:
        """Whether rows of equal values may be tried, of zeros among them, and no gradient has to be known there."""
        return not self.problem.is_step and self.knows_ties and self.takes_ties_forward

    @property
    def takes_ties_forward(self) -> bool:
        """Whether they may be tried as far as the forward is concerned, whatever its gradients are there."""
        return bool(self.names) and not chooses_computed(self.analysis) and not self._converts

    def ties_matter(self, arguments: list[Any]) -> bool:
        """Whether the model that is the reference now gives something else where of equal values another one is the
        larger by next to nothing, or whether that is not known."""
        first, last = ([one.nan_to_num() for one in tensors] for tensors in self._with_either_order(arguments))
        return not first or len(first) != len(last) or any(map(has_other_elements, first, last))

    @property
    def chooses(self) -> bool:
        """Whether the reference chooses among equal values, as it likes: PyTorch promises nothing of them, or they may
        be equal by a rounding."""
        return bool(self.names & CHOOSERS) and not self._settles_ties

    def _has_kinks(self) -> bool:
        """Whether gradients are judged of a formula that has none at some values: which is taken there, of those from
        either side, does not matter, and a rounding decides on which side a value lies."""
        return self.problem.is_step and bool(self.names & KINKED or not self.names)

    def _may_repeat_indices(self) -> bool:
        """Whether whole numbers may be alike though gradients are judged of a formula with kinks: these are then kinks
        of single floats, and no two that are alike are taken from each other."""
        is_apart = not any(name in TAKING_AWAY or "norm" in name for name in self.names)
        return bool(self.names) and is_apart and not self.names & KINKED - KINKED_BY_ITSELF

    def _repeats_indices(self, number: int) -> bool:
        """Whether a step's whole numbers are no choice of different ones: in one of a few draws, some are alike."""
        if not self.problem.is_step or self.names & WRITES:
            return False
        draws = (loose(flatten(self.draw(number, OWN))) for _ in range(COMPARED_DRAWS))
        found = (one for tensors in draws for one in tensors if may_repeat(one) and not is_code(one))
        return any(int(torch.unique(one).numel()) < one.numel() for one in found)

    @property
    def names(self) -> set[str]:
        """The operators of the reference's forward; empty where it could not be traced."""
        return {base_name(item.target) for item in self.analysis.operators}

    def metas(self, number: int) -> list[TensorMeta]:
        """Shapes and dtypes of the outputs of an input set."""
        if number not in self._metas:
            self.scales(number, OWN)
        return self._metas[number]

    @property
    def is_large(self) -> bool:
        """Whether a call's tensors are such that copies of them must be few; see `inputs.large_inputs`."""
        if self._is_large is None:
            self._is_large = self.place.is_gpu and is_large(self.place, flatten(self.draw(0, OWN)), self.metas(0))
        return self._is_large

    @property
    def mutates(self) -> bool:
        """Whether the reference changes its arguments."""
        return self._learned().mutates

    @property
    def aliases(self) -> frozenset[tuple[int, int]]:
        """Outputs of the reference that lie in the memory of arguments: the number of each, and of the argument."""
        return frozenset(self._learned().aliases)

    @property
    def shares(self) -> frozenset[tuple[int, int | None]]:
        """Outputs of the reference that lie in each other's memory: the later one's number and the earlier one's, or
        None where that is the model's."""
        return frozenset(self._learned().shares)

    @property
    def modes(self) -> frozenset[tuple[int, str]]:
        """Outputs of the reference that a mode of torch makes other tensors than usual, and what they are."""
        return frozenset(self._learned().modes)

    def _learned(self) -> Manners:
        if self._manners is None:
            self._manners = self.problem.manners(self.draw(0, OWN))
        return self._manners

    def overwritable(self, count: int, outputs: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Of a step with so many tensors among its arguments and outputs: those of either that may change in place
        between forward and backward, as the reference has the same gradients then."""
        if self._overwritable is None:
            arguments = self.draw(0, OWN)
            usual = self.expected(arguments).tensors

            def keeps(use: GraphUse) -> bool:
                try:
                    made = self.expected(arguments, use).tensors
                except Refused:
                    return False
                return all(map(same_bytes, made, usual))

            self._overwritable = (
                tuple(one for one in range(count) if keeps(GraphUse(overwritten=(one,)))),
                tuple(one for one in range(outputs) if keeps(GraphUse(overwritten_outputs=(one,)))),
            )
        return self._overwritable

    @property
    def set_numbers(self) -> list[int]:
        """All open input sets: 0 for `get_inputs`, then INPUT_SETS, then those announced of SHAPES."""
        return list(range(self.problem.input_sets + 1))

    @property
    def is_one_of_many(self) -> bool:
        """Whether there are so many input sets that each gives its memory back, and gets less time than a few would."""
        return self.problem.input_sets >= STATIC_SETS

    @property
    def held_out_numbers(self) -> list[int]:
        """The held-out input sets."""
        return [-index - 1 for index in range(self.problem.held_out)]

    @property
    def timed_held_out(self) -> list[int]:
        """Those of them that are timed at a job's end; of many a random sample."""
        numbers = self.held_out_numbers
        return (
            numbers
            if len(numbers) <= TIMED_HELD_OUT
            else sorted(random.SystemRandom().sample(numbers, TIMED_HELD_OUT), reverse=True)
        )

    def measured_scales(
        self, number: int, distribution: Distribution, metas: Sequence[TensorMeta] | None = None
    ) -> tuple[ErrorScale, ...] | None:
        """The same of the model that is the reference now. `metas`: what its outputs are for the problem's own values,
        where it is built with other settings."""
        arguments = self.problem.make_inputs(number, secrets.randbits(SEED_BITS), distribution.layout)
        if not changes(arguments, distribution):
            return None  # whether the reference takes it is not known
        if self.problem.limits and not self._is_within_limits(arguments, distribution):
            return None
        arguments = self.changed(arguments, distribution)
        try:
            outputs = self.expected(arguments).tensors
        except Refused:
            if distribution.transform is None:
                raise
            return None  # it was not written for such values
        if distribution.transform is None:
            self._metas[number] = [TensorMeta.of(tensor) for tensor in outputs]
        elif not self.can_judge(outputs, distribution):
            return None
        elif [TensorMeta.of(tensor) for tensor in outputs] != (metas or self.metas(number)):
            return None  # outputs as large as the inputs' values say
        return self.fit_scales(arguments, outputs, distribution)

    def forward_scales(self, arguments: list[Any], distribution: Distribution) -> tuple[ErrorScale, ...] | None:
        """How exact a step's forward is for changed arguments, beside zeros for gradients; None where that is not fit
        to judge a kernel by."""
        try:
            outputs = self.expected(arguments, FORWARD).tensors
        except Refused:
            return None
        first = self.first_gradient
        if [TensorMeta.of(one) for one in outputs] != self.metas(0):
            return None
        if not self.can_judge(outputs[:first], distribution):
            return None
        scales = self.scales_on(arguments, outputs, distribution, use=FORWARD)
        if scales is None or not _are_steady(scales[:first], outputs[:first]):
            return None
        in_lines = [dataclasses.replace(one, relative=max(one.row, one.column)) for one in scales[:first]]
        return scales if _are_steady(in_lines, outputs[:first]) else None

    @property
    def first_gradient(self) -> int:
        """The number of the first gradient among a call's outputs; that of the outputs where there is none."""
        return len(self.metas(0)) - len(self.problem.gradient_names)

    def fit_scales(
        self, arguments: list[Any], outputs: list[torch.Tensor], distribution: Distribution
    ) -> tuple[ErrorScale, ...] | None:
        """How exact the reference is for these arguments; None where they are not fit to judge a kernel by."""
        scales = self.scales_on(arguments, outputs, distribution)
        if scales is not None and distribution.steady and not _are_steady(scales, outputs):
            return self._scales_of_range(scales, arguments, outputs, distribution)
        is_unknown = distribution.name == MANY_FEATURES.name and not self.names  # whether it chooses
        if distribution.transform is not None and self._hangs_on_a_rounding(arguments, outputs, is_unknown=is_unknown):
            return None
        if scales is None or distribution == OWN:
            return scales
        if self.cancels(scales, outputs) or (distribution.harsh and self._vanishes(outputs)):
            return None
        first = len(outputs) - len(self.problem.gradient_names)
        return (*scales[:first], *map(without_faint_lines, scales[first:])) if distribution.harsh else scales

    def _vanishes(self, outputs: Sequence[torch.Tensor]) -> bool:
        """Whether a gradient is mostly zero that usually is not, as a softmax's is where one of its terms is all of the
        sum: the terms cancel each other to the bit in the reference, and but for a rounding in a kernel."""
        first = len(outputs) - len(self.problem.gradient_names)
        if first == len(outputs):
            return False
        usual = self.expected(self.draw(0, OWN)).tensors
        pairs = zip(outputs[first:], usual[first:], strict=True)
        return any(_share_of_zeros(here) > MOST_ZEROS >= _share_of_zeros(there) for here, there in pairs)

    def _is_within_limits(self, arguments: list[Any], distribution: Distribution) -> bool:
        """Whether a kind of values is worth a try where the problem promises something: it changes what it may change,
        and hardly anything has to be moved back into its range, nothing where ties are not specified."""
        if distribution.transform is None:
            return True
        changed = drawn(arguments, distribution)
        kept = self.problem.limits.kept(arguments, changed)
        if is_same(kept, arguments) or (distribution.uneven and not is_same(kept, changed)):
            return False
        return self.problem.limits.moved_share(changed, kept) <= (MOST_MOVED if self.knows_ties else 0.0)

    def _in_part(
        self, arguments: list[Any], outputs: list[torch.Tensor], run: Callable[[list[Any]], list[torch.Tensor]]
    ) -> tuple[list[Any], list[torch.Tensor]]:
        """Arguments and outputs that leave room for a run in float64: themselves, or a stretch of large ones."""
        part = None if self.problem.is_step else telling_part(arguments, outputs)
        if part is None:
            return arguments, outputs
        try:
            made = run(part)
        except Refused:
            return arguments, outputs
        return (part, made) if [one.dtype for one in made] == [one.dtype for one in outputs] else (arguments, outputs)

    def is_steady_on(self, arguments: list[Any]) -> bool:
        """Whether the reference takes arguments, with the parameters that it has now, and is exact there."""
        return self.steady_answer(arguments, OWN) is not None

    def steady_answer(
        self, arguments: list[Any], distribution: Distribution
    ) -> tuple[Answer, tuple[ErrorScale, ...]] | None:
        """What the reference makes of arguments with the parameters that it has now, and how exact it is; None where
        it does not take them, or is not exact there."""
        try:
            answer = self.expected(arguments)
        except Refused:
            return None
        outputs = answer.tensors
        scales = self.scales_on(arguments, outputs, distribution) if all_finite(outputs) else None
        is_fit = scales is not None and _are_steady(scales, outputs) and not self.cancels(scales, outputs)
        return (answer, scales) if scales is not None and is_fit else None

    def _scales_of_range(
        self,
        scales: tuple[ErrorScale, ...],
        arguments: list[Any],
        outputs: list[torch.Tensor],
        distribution: Distribution,
    ) -> tuple[ErrorScale, ...] | None:
        """Where digits hang on a rounding: scales by which only what is far outside of the range is wrong, or not
        finite. None where that may hang on one as well: for huge values, where outputs are not bounded; for rows of one
        value, where float64 gives something that is not finite."""
        is_given = any(one.given for one in self.problem.tolerances.values())
        if distribution not in (HUGE, DEGENERATE) or is_given or any(is_counted(one) for one in outputs):
            return None
        usual = self.expected(self.draw(0, OWN)).tensors
        ends = [(largest_finite(one), largest_finite(other)) for one, other in zip(outputs, usual, strict=True)]
        if distribution is HUGE:
            may_judge = bool(self.names & PERIODIC) and all(here <= BOUNDED_BY * there for here, there in ends)
        else:
            exact = self.problem.run_double(arguments)
            may_judge = bool(exact) and all_finite([*outputs, *exact])
        return (
            tuple(within_range(one, max(both)) for one, both in zip(scales, ends, strict=True)) if may_judge else None
        )

    def can_judge(self, outputs: list[torch.Tensor], distribution: Distribution) -> bool:
        """Whether what the reference makes of a changed draw is fit to be compared with."""
        if distribution.about_nan:
            return True
        if distribution.by_element:
            return tells_elements(outputs) and not any(map(_nearly_overflows, outputs))
        if distribution.transform in MINUTEST and any(map(_is_nearly_nothing, outputs)):
            return False
        if distribution.finite:
            return all_finite(list(map(real_pairs, outputs)))
        return partly_finite([one for one in outputs if not (self.names & PLACES and is_counted(one))])

    def cancels(self, scales: Sequence[ErrorScale], outputs: Sequence[torch.Tensor]) -> bool:
        """Whether a gradient is what is left of terms that cancel each other."""
        first = len(outputs) - len(self.problem.gradient_names)
        return self.is_ill_conditioned(scales[first:], outputs[first:])

    @staticmethod
    def is_ill_conditioned(scales: Sequence[ErrorScale], outputs: Sequence[torch.Tensor]) -> bool:
        """Whether one of the reference's outputs is what is left of terms that cancel each other."""
        judged = zip(scales, outputs, strict=True)
        return any(scale.relative > ILL_CONDITIONED.get(one.dtype, ILL_CONDITIONED_HALF) for scale, one in judged)

    def scales_on(
        self,
        arguments: list[Any],
        outputs: list[torch.Tensor],
        distribution: Distribution,
        *,
        in_place: bool = False,
        use: GraphUse | None = None,
    ) -> tuple[ErrorScale, ...] | None:
        """How exact the reference's outputs are for these very arguments, or a part of large ones, and such a use of a
        step's graph; None where a rounding decides too much. With `in_place`, `outputs` are the arguments' tensors as
        the reference leaves them."""
        wholes = outputs

        def run(given: list[Any]) -> list[torch.Tensor]:
            answer = self.expected(given, use)
            return answer.inputs or [] if in_place else answer.tensors

        def run_double(given: list[Any]) -> list[torch.Tensor]:
            return self.problem.run_double(given, with_inputs=in_place, use=use)

        arguments, outputs = self._in_part(arguments, outputs, run)
        exact_tensors = run_double(arguments)
        usual = usual_magnitudes(arguments, outputs, run)
        scales = tuple(
            self.with_depth(scale, whole, ties=distribution.has_ties)
            for scale, whole in zip(scales_of(outputs, exact_tensors, usual), wholes, strict=True)
        )
        if distribution.piles_up:
            scales = tuple(map(without_lines, scales))
        exact = [not in_place and self._is_exact(index, outputs, exact_tensors) for index in range(len(outputs))]
        rounded = [index for index, is_exact in enumerate(exact) if not is_exact]
        whole = any(is_counted(outputs[index]) for index in rounded)
        harsh = distribution.harsh or self._has_kinks()
        if exact_tensors and (harsh or whole):
            moved = run_double(nudged(arguments))
            is_rounded = not (distribution.steady and _round_nothing(outputs, exact_tensors))
            judged = rounded if whole and self._may_jump(distribution, is_rounded=is_rounded) else []
            further = run_double(nudged(arguments, BY_ANOTHER_FORMULA)) if judged else moved
            if has_jumps(further, exact_tensors, judged):
                return None  # whole numbers too large for a float to tell one from the next
            if harsh and is_rounded:
                by = self._rounded_by(distribution)
                others = [moved] if by <= ROUNDING else [moved, run_double(nudged(arguments, by))]
                apart = run_double(nudged(arguments, apart=True)) if is_one_several(arguments) else None
                scales = _worse_by(scales, others, apart, exact_tensors, usual)
        if exact_tensors and distribution.harsh and self._has_exponentials():
            scales = with_shifts(scales, flatten(arguments), outputs)
        if exact_tensors and whole:
            coarse = run_double(nudged(arguments, COARSE))
            scales = tuple(map(with_steps, scales, coarse, moved, exact_tensors, outputs))
        scales = tuple(
            dataclasses.replace(scale, exact=is_exact, steps=0.0 if is_exact else scale.steps)
            for scale, is_exact in zip(scales, exact, strict=True)
        )
        if distribution.transform is None:
            trivial = self._trivial_in_place if in_place else self._trivial
            scales = trivial.limited(scales, arguments, outputs, exact_tensors, self._tensors(run))
            scales = self._with_changes(scales, arguments, outputs, run) if in_place else scales
        self.place.release()
        return scales

    def _rounded_by(self, distribution: Distribution) -> float:
        """The relative error of a sum of such terms in several lanes: of equal ones, all of a lane's round alike."""
        terms = longest_sum(self.analysis) if self.analysis.operators and distribution.has_ties else 1.0
        return ROUNDING * max(OF_A_STEP if self.problem.is_step else 0.0, min(MOST_ALIKE, terms / TERMS_ALIKE))

    def _may_jump(self, distribution: Distribution, *, is_rounded: bool) -> bool:
        """Whether a rounding may change results by more than a little; not of huge numbers that are only converted."""
        is_converted = distribution is HUGE and self.analysis.family == "pointwise"  # no value is chosen by chance
        if distribution.transform is None or distribution is ADJACENT:  # which nothing is computed of
            return False
        return is_rounded or not is_converted

    def _with_changes(
        self,
        scales: tuple[ErrorScale, ...],
        arguments: list[Any],
        left: Sequence[torch.Tensor],
        run: Callable[[list[Any]], list[torch.Tensor]],
    ) -> tuple[ErrorScale, ...]:
        """Of tensors that are changed in place element by element: with the usual bound on the change, not on all that
        is there. Errors add up from call to call."""
        given = flatten(arguments)
        limited = list(scales)
        for index, (scale, before, after) in enumerate(zip(scales, given, left, strict=True)):
            tolerance = self.problem.tolerances.get(TensorMeta.of(after).dtype)
            if after.dtype is not torch.float32 or tolerance is None or tolerance.looser or not scale.known:
                continue
            change = float((after - before).norm()) / max(1, after.numel()) ** 0.5
            most = OWN_OF_STATE * max(scale.relative, 2.0**-25) * (scale.rms or 0.0) + tolerance.error_floor * change
            if change > 0.0 and most < scale.most and self._is_elementwise(arguments, index, after, run):
                nearest = f"the call changes it by {change:.3g}, and errors add up from call to call"
                limited[index] = dataclasses.replace(scale, most=most, nearest=nearest)
        return tuple(limited)

    def _is_elementwise(
        self, arguments: list[Any], index: int, left: torch.Tensor, run: Callable[[list[Any]], list[torch.Tensor]]
    ) -> bool:
        """Whether an argument's second half is left as it is by the reference where the first halves of all of its
        size are others."""
        given = flatten(arguments)
        half, others = given[index].numel() // 2, list[torch.Tensor]()
        for one in given:
            other = one.clone().contiguous()
            if one.is_floating_point() and one.shape == left.shape:
                other.view(-1)[:half] *= 1.5
            others.append(other)
        try:
            made = run(list(rebuilt(arguments, others)))[index]
        except Refused:
            return False
        return torch.equal(made.reshape(-1)[half:], left.reshape(-1)[half:])

    def _is_exact(self, index: int, outputs: list[torch.Tensor], exact: list[torch.Tensor]) -> bool:
        """Whether an output has the values of inputs or constants: so says the graph, and a run in float64 agrees."""
        forward = len(outputs) - len(self.problem.gradient_names)
        if index not in self._exact or forward != len(self.analysis.outputs) or len(exact) != len(outputs):
            return False
        one, other = widened(outputs[index]), widened(exact[index].to(outputs[index].dtype))
        return one.shape == other.shape and (
            torch.equal(one, other)
            or ((one.is_floating_point() or one.is_complex()) and not bool(moved_apart(one, other).any()))
        )

    def _selections(self, arguments: list[Any], answer: Answer) -> dict[int, Selection]:
        """What outputs hold places of, where it may be looked up."""
        given = flatten(self.problem.forward_arguments(arguments))
        if len(answer.tensors) - len(self.problem.gradient_names) != len(self.analysis.outputs):
            return {}
        known = len(given) == len(self.analysis.inputs)
        return {
            index: Selection(
                dim=choice.dim,
                source=given[choice.source] if known and choice.source is not None else None,
                values=choice.values,
            )
            for index, choice in self._choices.items()
        }

    def _tensors(self, run: Callable[[list[Any]], list[torch.Tensor]]) -> Tensors:
        """What may be left out of a call. On a GPU, zeros are not tried where they may become indices: one out of range
        costs the process its device."""
        names = self.names
        return Tensors(
            run=run,
            without=None if self.problem.is_varied else self.problem.without,
            may_zero=not self.place.is_gpu or bool(names and not names & INDEXING),
        )

    def _longest_sum(self, output: torch.Tensor) -> float:
        """Terms of the longest sum that an output may be made of; of backward passes no graph tells."""
        if self.analysis.operators and not self.problem.is_step:
            return longest_sum(self.analysis)
        specs = (*self.analysis.inputs, *(one for item in self.analysis.operators for one in item.outputs))
        largest = max((spec.elements for spec in specs), default=1)
        return max(1.0, largest / max(1, output.shape[-1] if output.dim() else 1))

    def otherwise_rounded(self, arguments: list[Any], outputs: list[torch.Tensor]) -> list[list[torch.Tensor]]:
        """What the reference makes of them in float64, in the outputs' dtypes; and, where it chooses among values that
        it computes, of arguments that are rounded once more. Empty where it cannot be run so. Of what it only moves and
        compares no float64 makes another result: there, of arguments whose subnormal numbers are zero."""
        if self._is_all_exact and not is_same(zeros := flushed(arguments), arguments):
            return [self.expected(zeros).tensors]
        if telling_part(arguments, outputs) is not None:
            return []  # too large for a run in float64
        exact = self.problem.run_double(arguments)
        near = self._near(arguments, spread=SPREAD) if chooses_computed(self.analysis) else ()
        found = [exact, *(one for one in near if one is not None)]
        if any([one.shape for one in tensors] != [one.shape for one in outputs] for tensors in found):
            return []
        return [[one.to(other.dtype) for one, other in zip(tensors, outputs, strict=True)] for tensors in found]

    def hardly_takes(self, arguments: list[Any]) -> bool:
        """Whether the reference refuses arguments that differ from these by a rounding."""
        return any(one is None for one in self._near(arguments))

    def _hangs_on_a_rounding(
        self, arguments: list[Any], outputs: list[torch.Tensor], *, is_unknown: bool = False
    ) -> bool:
        """Whether what the reference refuses, or which of its computed values it chooses, changes where its arguments
        are rounded once more. Where it may be `is_unknown` whether it does, that is looked at too."""
        if not (
            is_unknown or chooses_computed(self.analysis) or any(name.startswith(DECOMPOSING) for name in self.names)
        ):
            return False
        return any(near is None or any(map(has_other_elements, near, outputs)) for near in self._near(arguments))

    def _near(self, arguments: list[Any], spread: int = 1) -> Iterator[list[torch.Tensor] | None]:
        """What the reference makes of arguments that differ from these by a rounding, the last by `spread` times as
        much; None where it refuses them."""
        for number in range(NEIGHBOURS):
            by = 2 * ROUNDING * spread ** (number / (NEIGHBOURS - 1))
            pairs = zip(flatten(nudged(arguments, by)), flatten(arguments), strict=True)
            try:
                yield self.expected(list(rebuilt(arguments, [near.to(one.dtype) for near, one in pairs]))).tensors
            except Refused:
                yield None

    def other_choices(self, arguments: list[Any]) -> list[list[torch.Tensor]]:
        """What the reference makes of arguments where of equal values it chooses the first, and the last; nothing where
        it does not choose among values, or cannot be run so."""
        if not self.chooses:
            return []
        return self._with_either_order(arguments)

    def _with_either_order(self, arguments: list[Any]) -> list[list[torch.Tensor]]:
        """What the reference makes, in float64, of arguments of which equal values are not equal any more."""
        return [self.problem.run_double(without_ties(arguments, later_is_larger=one)) for one in (False, True)]

    def with_depth(self, scale: ErrorScale, output: torch.Tensor, *, ties: bool) -> ErrorScale:
        """With the error of a long sum in float, one term after the other, whatever the reference sums in. Of equal
        values all are rounded the same way, so in 8 bits a single one near the middle of two numbers is many elements:
        there any share may be one step off, and untied draws tell who rounds wrongly."""
        if ties and is_eight_bit(output):
            return dataclasses.replace(scale, steps=1.0)
        if output.dtype is not torch.float32:
            return scale
        elements = max((spec.elements for spec in self.analysis.inputs), default=1)
        depth = elements / max(1, output.numel())
        if self.analysis.family == "scan":
            depth = max([depth, *output.shape])
        relative = LONG_SUM * depth**0.5
        if ties and depth > 1:
            relative = max(relative, min(MOST_TIED, TIED_SUM * depth))
        pointwise = self.analysis.family == "pointwise" and (depth <= 1 or not self.problem.is_step)
        if pointwise and scale.rms and self._has_exponentials():
            relative = max(relative, min(MOST_OF_ONE, ONE_ROUNDED / scale.rms) / ERROR_MULTIPLE)
        peak = ERROR_MULTIPLE * relative * (scale.rms or 0.0)
        widest = max(scale.relative, relative)
        faint = max(FAINT_ERROR, ERROR_MULTIPLE * widest) if pointwise else scale.faint
        block = 1.0 if self.analysis.family == "scan" else scale.block  # neighbours in a running sum are faint together
        return dataclasses.replace(scale, relative=widest, peak=max(scale.peak, peak), faint=faint, block=block)

    def _has_exponentials(self) -> bool:
        names = self.names
        return not names or bool(names & EXPONENTIALS)


def _worse_by(
    scales: tuple[ErrorScale, ...],
    moved: Sequence[list[torch.Tensor]],
    apart: list[torch.Tensor] | None,
    exact: list[torch.Tensor],
    usual: list[Slots],
) -> tuple[ErrorScale, ...]:
    """Scales by what roundings of the arguments change, too. `apart` is what it changes where one tensor was given
    several times: copies of it in registers are rounded apart from each other."""
    for one in moved:
        scales = tuple(map(worse, scales, scales_of(one, exact, usual)))
    if apart is None:
        return scales
    others = zip(scales, scales_of(apart, exact, usual), exact, strict=True)
    return tuple(scale if is_counted(tensor) else worse(scale, other) for scale, other, tensor in others)


def _nearly_overflows(output: torch.Tensor) -> bool:
    """Whether an output has numbers that a rounding of a longer product makes infinite."""
    if not output.is_floating_point() or is_eight_bit(output):
        return False
    return largest_finite(output) > torch.finfo(output.dtype).max * NEARLY


def _share_of_zeros(tensor: torch.Tensor) -> float:
    return float((tensor == 0).double().mean()) if tensor.numel() else 0.0


def _round_nothing(outputs: Sequence[torch.Tensor], exact: Sequence[torch.Tensor]) -> bool:
    """Whether floats hold the exact results, as those of a fraction or a comparison: no kernel has to round there."""
    return all(torch.equal(widened(one).to(other.dtype), other) for one, other in zip(outputs, exact, strict=True))


def _is_nearly_nothing(output: torch.Tensor) -> bool:
    """Whether an output is about as small as what is flushed to zero."""
    if not (output.is_floating_point() or output.is_complex()) or is_eight_bit(output):
        return False
    return largest_finite(real_pairs(output)) < NEARLY_NOTHING * torch.finfo(output.dtype).tiny


def _are_steady(scales: Sequence[ErrorScale], outputs: Sequence[torch.Tensor]) -> bool:
    """Whether the reference is known to be exact in every output that has an error in proportion."""
    return all(
        is_counted(one) or (scale.known and scale.relative <= ILL_CONDITIONED.get(one.dtype, ILL_CONDITIONED_HALF))
        for scale, one in zip(scales, outputs, strict=True)
    )


def ensure_set(state: ReferenceState, names: tuple[str, ...], number: int) -> None:
    """Have the baselines measured on an input set other than the first, and give the memory of it back."""
    state.bench.ensure_set(names, number, lambda: state.draw(number, OWN), lambda: state.metas(number))
    if state.is_one_of_many:
        state.bench.release(number)
