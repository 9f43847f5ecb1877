"""How exact is a reference on given arguments? An output is judged by that, and not where a rounding decides."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import torch

from workers.ipc.tensors import TensorMeta, flatten
from workers.referee.boundary.isolated_problem import IsolatedProblem
from workers.referee.comparison.block_errors import real_pairs
from workers.referee.comparison.error_scales import (
    has_jumps,
    has_other_elements,
    is_counted,
    largest_finite,
    scales_of,
    with_lines_of,
    with_shifts,
    with_steps,
    within_range,
    without_faint_lines,
    without_lines,
)
from workers.referee.comparison.output_structure import Answer
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
from workers.referee.costs.operator_costs import INDEXING, PERIODIC, PLACES, longest_sum
from workers.referee.costs.reference_traits import ReferenceTraits
from workers.referee.errors import Refused
from workers.referee.inputs import distributions as kinds
from workers.referee.inputs.constraints import is_same
from workers.referee.inputs.distributions import Distribution, flushed, is_one_several, nudged, rebuilt, without_ties
from workers.referee.inputs.float8 import is_eight_bit, widened
from workers.referee.inputs.large_inputs import telling_part
from workers.runner.step import GraphUse

LONG_SUM = 2.0**-24 / ERROR_MULTIPLE
"""Relative error of a sum in float by the root of its terms, as the share that the bound multiplies."""
TIED_SUM = 2.0**-24 / 4 / ERROR_MULTIPLE
"""The same by its terms, where these are a few values: each rounds alike and errors add up. Running sums of float were
8.2e-5 off over 16 384 terms in the worst of 60 tied draws (rows 9.3e-5), 2.5e-5 over 4096, 9.7e-6 over 2048: a tenth of
a rounding a term, of which this permits a quarter. Over 16 384 terms of any other kind of values it was 2.6e-6."""
MOST_TIED = 1e-3 / ERROR_MULTIPLE
"""The most that is made of it."""
TERMS_ALIKE, MOST_ALIKE = 64, 16
"""Equal terms by which a sum of them, added in vectors, is off by one rounding more; and most such roundings."""
ONE_ROUNDED, MOST_OF_ONE = 2.0**-23, 1e-4
"""What pointwise formulas of exponentials lose that pass through numbers about 1 (`exp(x) - 1`), over the root mean
square of the output, and the most that is made of it: small inputs show it (2.7e-5 for `expm1` of 1e-3)."""
FAINT_ERROR = 1.5e-6
"""Of the root mean square of all elements: what pointwise formulas lose that are written otherwise (`exp(x) - 1` for
`expm1`, `log(1 + exp(x))`: up to 1e-6 for mish), where theirs are faint."""
ILL_CONDITIONED = {torch.float32: 1e-3, torch.float64: 1e-9}
"""Relative error of the reference's own gradient from which on it is what is left of terms that cancel each other (of a
softmax's or a norm's under a cotangent that is the same everywhere): no kernel's is right there."""
ILL_CONDITIONED_HALF = 9e-3
"""The same in other dtypes, which are half precision or less."""
OF_A_STEP = 4
"""Roundings of its arguments that an honest step may be off by, beside something huge."""
BY_ANOTHER_FORMULA = 4 * kinds.ROUNDING
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
NEARLY_NOTHING = 1e10
"""Of the smallest normal number: a kernel that flushes smaller ones to zero loses digits of its sums, and one that
divides products by lengths bounded below gets zero where the reference, which divides first, has a number still."""
NEIGHBOURS = 8
"""Of a call's arguments, on which the reference is asked whether it takes them, and what it chooses."""
SPREAD = 8
"""The errors of a sum in float, in those of rounded terms: as large as a kernel's may be before it chooses."""
ROUNDED_AGAIN = 4
"""Draws of the errors in an output's worst lines. Of 2,500 honest transposed convolutions with faint rows, 13 were off
by more than the bound that one draw gives, and none by more than that of three."""
MINUTEST = frozenset(one.transform for one in kinds.MINUTE)
"""What makes values minute."""
DECOMPOSING = ("linalg_", "_linalg_", "cholesky")
"""Beginnings of the names of operators that refuse what is nearly singular."""


class Expected(Protocol):
    """What a reference makes of arguments."""

    def __call__(self, arguments: list[Any], use: GraphUse | None = None) -> Answer:
        """Of a step, with such a use of its graph. Raises `Refused`."""


class ReferenceAccuracy:
    """How exact a reference is on given arguments, and whether a kernel can be judged by what it makes of them."""

    def __init__(
        self, problem: IsolatedProblem, traits: ReferenceTraits, *, expected: Expected, usual: Callable[[], Answer]
    ) -> None:
        """`usual` tells what the reference makes of a draw of the problem's own values."""
        self._problem, self._traits, self._analysis = problem, traits, traits.analysis
        self._expected, self._usual = expected, usual
        self._trivial, self._trivial_in_place = (
            TrivialOutputs(
                self._analysis,
                problem.tolerances,
                longest_sum=self._longest_sum,
                has_exponentials=traits.has_exponentials,
            )
            for _ in range(2)
        )

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
            answer = self._expected(given, use)
            return answer.inputs or [] if in_place else answer.tensors

        def run_double(given: list[Any]) -> list[torch.Tensor]:
            return self._problem.run_double(given, with_inputs=in_place, use=use)

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
        harsh = distribution.harsh or self._traits.has_kinks
        if exact_tensors and (harsh or whole):
            moved = run_double(nudged(arguments))
            is_rounded = not (distribution.steady and _round_nothing(outputs, exact_tensors))
            judged = rounded if whole and self._may_jump(distribution, is_rounded=is_rounded) else []
            further = run_double(nudged(arguments, BY_ANOTHER_FORMULA)) if judged else moved
            if has_jumps(further, exact_tensors, judged):
                return None  # whole numbers too large for a float to tell one from the next
            if harsh and is_rounded:
                by = self._rounded_by(distribution)
                others = [moved] if by <= kinds.ROUNDING else [moved, run_double(nudged(arguments, by))]
                apart = run_double(nudged(arguments, apart=True)) if is_one_several(arguments) else None
                scales = _worse_by(scales, others, apart, exact_tensors, usual)
        if exact_tensors and distribution.harsh and self._traits.has_exponentials:
            scales = with_shifts(scales, flatten(arguments), outputs)
        if exact_tensors and whole:
            coarse = run_double(nudged(arguments, kinds.COARSE))
            scales = tuple(map(with_steps, scales, coarse, moved, exact_tensors, outputs))
        scales = tuple(map(_where_exact, scales, exact))
        if distribution.transform is None:
            trivial = self._trivial_in_place if in_place else self._trivial
            scales = trivial.limited(scales, arguments, outputs, exact_tensors, self._tensors(run))
            scales = self._with_changes(scales, arguments, outputs, run) if in_place else scales
        self._problem.place.release()
        return scales

    def with_line_errors(
        self, scales: Sequence[ErrorScale], arguments: list[Any], outputs: list[torch.Tensor]
    ) -> tuple[ErrorScale, ...]:
        """Scales with what roundings of the arguments change in single rows and columns. The error of the worst line is
        one draw of a random figure, most of all where its few terms nearly cancel."""
        arguments, outputs = self._in_part(arguments, outputs, lambda given: self._expected(given).tensors)
        exact = self._problem.run_double(arguments)
        for _ in range(ROUNDED_AGAIN if exact else 0):
            moved = scales_of(self._problem.run_double(nudged(arguments)), exact, [()] * len(exact))
            scales = tuple(map(with_lines_of, scales, moved))
        self._problem.place.release()
        return tuple(scales)

    def fit_scales(
        self, arguments: list[Any], outputs: list[torch.Tensor], distribution: Distribution
    ) -> tuple[ErrorScale, ...] | None:
        """How exact the reference is for these arguments; None where they are not fit to judge a kernel by."""
        scales = self.scales_on(arguments, outputs, distribution)
        if scales is not None and distribution.steady and not are_steady(scales, outputs):
            return self._scales_of_range(scales, arguments, outputs, distribution)
        is_unknown = distribution.name == kinds.MANY_FEATURES.name and not self._traits.names  # whether it chooses
        if distribution.transform is not None and self._hangs_on_a_rounding(arguments, outputs, is_unknown=is_unknown):
            return None
        if scales is None or distribution == kinds.OWN:
            return scales
        if self.cancels(scales, outputs) or (distribution.harsh and self._vanishes(outputs)):
            return None
        first = len(outputs) - len(self._problem.gradient_names)
        return (*scales[:first], *map(without_faint_lines, scales[first:])) if distribution.harsh else scales

    def with_depth(self, scale: ErrorScale, output: torch.Tensor, *, ties: bool) -> ErrorScale:
        """With the error of a long sum in float, one term after the other, whatever the reference sums in. Of equal
        values all are rounded the same way, so in 8 bits a single one near the middle of two numbers is many elements:
        there any share may be one step off, and untied draws tell who rounds wrongly."""
        if ties and is_eight_bit(output):
            return dataclasses.replace(scale, steps=1.0)
        if output.dtype is not torch.float32:
            return scale
        elements = max((spec.elements for spec in self._analysis.inputs), default=1)
        depth = elements / max(1, output.numel())
        is_scan = self._analysis.family == "scan"
        if is_scan:
            depth = max([depth, *output.shape])
        relative = LONG_SUM * depth**0.5
        if ties and depth > 1:
            relative = max(relative, min(MOST_TIED, TIED_SUM * depth))
        pointwise = self._analysis.family == "pointwise" and (depth <= 1 or not self._problem.is_step)
        if pointwise and scale.rms and self._traits.has_exponentials:
            relative = max(relative, min(MOST_OF_ONE, ONE_ROUNDED / scale.rms) / ERROR_MULTIPLE)
        peak = ERROR_MULTIPLE * relative * (scale.rms or 0.0)
        widest = max(scale.relative, relative)
        faint = max(FAINT_ERROR, ERROR_MULTIPLE * widest) if pointwise else scale.faint
        block = 1.0 if is_scan else scale.block  # neighbours in a running sum are faint together
        return dataclasses.replace(scale, relative=widest, peak=max(scale.peak, peak), faint=faint, block=block)

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
        return partly_finite([one for one in outputs if not (self._traits.names & PLACES and is_counted(one))])

    def cancels(self, scales: Sequence[ErrorScale], outputs: Sequence[torch.Tensor]) -> bool:
        """Whether a gradient is what is left of terms that cancel each other."""
        first = len(outputs) - len(self._problem.gradient_names)
        return self.is_ill_conditioned(scales[first:], outputs[first:])

    def is_rounding_noise(self, scales: Sequence[ErrorScale], outputs: Sequence[torch.Tensor]) -> bool:
        """Whether a gradient is rounding noise: what is left of terms that cancel each other, as of a row of one number
        that is divided by its length, or zero in the reference by chance."""
        return self.cancels(scales, outputs) or self._vanishes(outputs)

    @staticmethod
    def is_ill_conditioned(scales: Sequence[ErrorScale], outputs: Sequence[torch.Tensor]) -> bool:
        """Whether one of the reference's outputs is what is left of terms that cancel each other."""
        judged = zip(scales, outputs, strict=True)
        return any(scale.relative > ILL_CONDITIONED.get(one.dtype, ILL_CONDITIONED_HALF) for scale, one in judged)

    def is_steady_on(self, arguments: list[Any]) -> bool:
        """Whether the reference takes arguments, with the parameters that it has now, and is exact there."""
        return self.steady_answer(arguments, kinds.OWN) is not None

    def steady_answer(
        self, arguments: list[Any], distribution: Distribution
    ) -> tuple[Answer, tuple[ErrorScale, ...]] | None:
        """What the reference makes of arguments with the parameters that it has now, and how exact it is; None where
        it does not take them, or is not exact there."""
        try:
            answer = self._expected(arguments)
        except Refused:
            return None
        outputs = answer.tensors
        scales = self.scales_on(arguments, outputs, distribution) if all_finite(outputs) else None
        is_fit = scales is not None and are_steady(scales, outputs) and not self.cancels(scales, outputs)
        return (answer, scales) if scales is not None and is_fit else None

    def otherwise_rounded(self, arguments: list[Any], outputs: list[torch.Tensor]) -> list[list[torch.Tensor]]:
        """What the reference makes of them in float64, in the outputs' dtypes; and, where it chooses among values that
        it computes, of arguments that are rounded once more. Empty where it cannot be run so. Of what it only moves and
        compares no float64 makes another result: there, of arguments whose subnormal numbers are zero."""
        if self._traits.is_all_exact and not is_same(zeros := flushed(arguments), arguments):
            return [self._expected(zeros).tensors]
        if telling_part(arguments, outputs) is not None:
            return []  # too large for a run in float64
        exact = self._problem.run_double(arguments)
        near = self._near(arguments, spread=SPREAD) if self._traits.chooses_computed else ()
        found = [exact, *(one for one in near if one is not None)]
        if any([one.shape for one in tensors] != [one.shape for one in outputs] for tensors in found):
            return []
        return [[one.to(other.dtype) for one, other in zip(tensors, outputs, strict=True)] for tensors in found]

    def hardly_takes(self, arguments: list[Any]) -> bool:
        """Whether the reference refuses arguments that differ from these by a rounding."""
        return any(one is None for one in self._near(arguments))

    def other_choices(self, arguments: list[Any]) -> list[list[torch.Tensor]]:
        """What the reference makes of arguments where of equal values it chooses the first, and the last; nothing where
        it does not choose among values, or cannot be run so."""
        if not self._traits.chooses:
            return []
        return self._with_either_order(arguments)

    def ties_matter(self, arguments: list[Any]) -> bool:
        """Whether the model that is the reference now gives something else where of equal values another one is the
        larger by next to nothing, or whether that is not known."""
        first, last = ([one.nan_to_num() for one in tensors] for tensors in self._with_either_order(arguments))
        return not first or len(first) != len(last) or any(map(has_other_elements, first, last))

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
        is_given = any(one.given for one in self._problem.tolerances.values())
        if distribution not in (kinds.HUGE, kinds.DEGENERATE) or is_given or any(is_counted(one) for one in outputs):
            return None
        usual = self._usual().tensors
        ends = [(largest_finite(one), largest_finite(other)) for one, other in zip(outputs, usual, strict=True)]
        if distribution is kinds.HUGE:
            may_judge = bool(self._traits.names & PERIODIC) and all(here <= BOUNDED_BY * there for here, there in ends)
        else:
            exact = self._problem.run_double(arguments)
            may_judge = bool(exact) and all_finite([*outputs, *exact])
        return (
            tuple(within_range(one, max(both)) for one, both in zip(scales, ends, strict=True)) if may_judge else None
        )

    def _vanishes(self, outputs: Sequence[torch.Tensor]) -> bool:
        """Whether a gradient is mostly zero that usually is not, as a softmax's is where one of its terms is all of the
        sum: the terms cancel each other to the bit in the reference, and but for a rounding in a kernel."""
        first = len(outputs) - len(self._problem.gradient_names)
        if first == len(outputs):
            return False
        usual = self._usual().tensors
        pairs = zip(outputs[first:], usual[first:], strict=True)
        return any(_share_of_zeros(here) > MOST_ZEROS >= _share_of_zeros(there) for here, there in pairs)

    def _in_part(
        self, arguments: list[Any], outputs: list[torch.Tensor], run: Callable[[list[Any]], list[torch.Tensor]]
    ) -> tuple[list[Any], list[torch.Tensor]]:
        """Arguments and outputs that leave room for a run in float64: themselves, or a stretch of large ones."""
        part = None if self._problem.is_step else telling_part(arguments, outputs)
        if part is None:
            return arguments, outputs
        try:
            made = run(part)
        except Refused:
            return arguments, outputs
        return (part, made) if [one.dtype for one in made] == [one.dtype for one in outputs] else (arguments, outputs)

    def _rounded_by(self, distribution: Distribution) -> float:
        """The relative error of a sum of such terms in several lanes: of equal ones, all of a lane's round alike."""
        terms = longest_sum(self._analysis) if self._analysis.operators and distribution.has_ties else 1.0
        return kinds.ROUNDING * max(OF_A_STEP if self._problem.is_step else 0.0, min(MOST_ALIKE, terms / TERMS_ALIKE))

    def _may_jump(self, distribution: Distribution, *, is_rounded: bool) -> bool:
        """Whether a rounding may change results by more than a little; not of huge numbers that are only converted."""
        if distribution.transform is None or distribution is kinds.ADJACENT:  # which nothing is computed of
            return False
        is_pointwise = self._analysis.family == "pointwise"  # no value is chosen by chance
        return is_rounded or not (is_pointwise and distribution is kinds.HUGE)

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
            tolerance = self._problem.tolerances.get(TensorMeta.of(after).dtype)
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
        forward = len(outputs) - len(self._problem.gradient_names)
        if index not in self._traits.exact or forward != len(self._analysis.outputs) or len(exact) != len(outputs):
            return False
        one, other = widened(outputs[index]), widened(exact[index].to(outputs[index].dtype))
        return one.shape == other.shape and (
            torch.equal(one, other)
            or ((one.is_floating_point() or one.is_complex()) and not bool(moved_apart(one, other).any()))
        )

    def _tensors(self, run: Callable[[list[Any]], list[torch.Tensor]]) -> Tensors:
        """What may be left out of a call. On a GPU, zeros are not tried where they may become indices: one out of range
        costs the process its device."""
        names = self._traits.names
        return Tensors(
            run=run,
            without=None if self._problem.is_varied else self._problem.without,
            may_zero=not self._problem.place.is_gpu or bool(names and not names & INDEXING),
        )

    def _longest_sum(self, output: torch.Tensor) -> float:
        """Terms of the longest sum that an output may be made of; of backward passes no graph tells."""
        if self._analysis.operators and not self._problem.is_step:
            return longest_sum(self._analysis)
        specs = (*self._analysis.inputs, *(one for item in self._analysis.operators for one in item.outputs))
        largest = max((spec.elements for spec in specs), default=1)
        return max(1.0, largest / max(1, output.shape[-1] if output.dim() else 1))

    def _hangs_on_a_rounding(
        self, arguments: list[Any], outputs: list[torch.Tensor], *, is_unknown: bool = False
    ) -> bool:
        """Whether what the reference refuses, or which of its computed values it chooses, changes where its arguments
        are rounded once more. Where it may be `is_unknown` whether it does, that is looked at too."""
        decomposes = any(name.startswith(DECOMPOSING) for name in self._traits.names)
        if not (is_unknown or self._traits.chooses_computed or decomposes):
            return False
        return any(near is None or any(map(has_other_elements, near, outputs)) for near in self._near(arguments))

    def _near(self, arguments: list[Any], spread: int = 1) -> Iterator[list[torch.Tensor] | None]:
        """What the reference makes of arguments that differ from these by a rounding, the last by `spread` times as
        much; None where it refuses them."""
        for number in range(NEIGHBOURS):
            by = 2 * kinds.ROUNDING * spread ** (number / (NEIGHBOURS - 1))
            pairs = zip(flatten(nudged(arguments, by)), flatten(arguments), strict=True)
            try:
                yield self._expected(list(rebuilt(arguments, [near.to(one.dtype) for near, one in pairs]))).tensors
            except Refused:
                yield None

    def _with_either_order(self, arguments: list[Any]) -> list[list[torch.Tensor]]:
        """What the reference makes, in float64, of arguments of which equal values are not equal any more."""
        return [self._problem.run_double(without_ties(arguments, later_is_larger=one)) for one in (False, True)]


def are_steady(scales: Sequence[ErrorScale], outputs: Sequence[torch.Tensor]) -> bool:
    """Whether the reference is known to be exact in every output that has an error in proportion."""
    return all(
        is_counted(one) or (scale.known and scale.relative <= ILL_CONDITIONED.get(one.dtype, ILL_CONDITIONED_HALF))
        for scale, one in zip(scales, outputs, strict=True)
    )


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


def _where_exact(scale: ErrorScale, is_exact: bool) -> ErrorScale:
    """A scale by which an exact output may not be off by a step."""
    return dataclasses.replace(scale, exact=is_exact, steps=0.0 if is_exact else scale.steps)


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
