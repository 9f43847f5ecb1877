"""Are the outputs of one call those of the reference? One answer for candidates and for baselines."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch

from workers.ipc.tensors import TensorMeta, flatten, shares_memory
from workers.referee.comparison.call_outputs import Fetched, Output
from workers.referee.comparison.error_log import Account
from workers.referee.comparison.error_scales import is_counted, other_elements, same_bytes
from workers.referee.comparison.one_sided import one_sided
from workers.referee.comparison.output_structure import Answer, ContractError, Selection, places
from workers.referee.comparison.tolerance import ErrorScale, Tolerance, examine, finite_slices, worse
from workers.referee.inputs.distributions import Distribution
from workers.referee.inputs.float8 import is_eight_bit, widened
from workers.runner.outputs import INFERENCE

LEAST_TURNED = 64 << 10
"""Bytes of an output from which on its order in memory is looked at: turning less takes microseconds."""
LEAST_CHOSEN, CHOSEN_OF = 2, 256
"""Elements, of any output and for each so many of a larger one, in which equal values met by chance."""
SLICES_OF = 64
"""Leading slices, or elements, in one of which values of which one is chosen were as good as equal."""
UNSURE_OF = 32
"""Elements that hang on a rounding, in one of which a candidate may choose as none of the others do."""
NEARLY_TOO_LARGE = 0.25
"""Share of a dtype's largest number from which on a sum in another order may overflow."""
NOT_PASSED_ON = "a NaN or infinity among the inputs gives another output than the reference's (other slices are right)"

ONLY_READ = (
    "PROVEN FOR OUTPUTS THAT ARE ONLY READ: one is an inference tensor, which its caller can neither change in place "
    "nor use in a graph"
)
NAN_CHOOSES = "a NaN or infinity among the inputs gives other whole numbers than the reference's"
NAN_IS_LOST = "where the reference's output is NaN, this one's is a number (other elements are right)"


class Contract(Protocol):
    """What a problem says about its outputs."""

    @property
    def tolerances(self) -> Mapping[str, Tolerance]:
        """By dtype name."""

    @property
    def gradient_names(self) -> tuple[str, ...]:
        """Names of the gradients among the outputs, which are the last ones."""


class Accuracy(Protocol):
    """How exact a reference is, and what else it may give."""

    def scales_on(
        self, arguments: list[Any], outputs: list[torch.Tensor], distribution: Distribution, *, in_place: bool = False
    ) -> tuple[ErrorScale, ...] | None:
        """How exact the reference is on these very arguments; None where a rounding decides too much. With `in_place`,
        `outputs` are the arguments' tensors as the reference leaves them."""

    def with_line_errors(
        self, scales: Sequence[ErrorScale], arguments: list[Any], outputs: list[torch.Tensor]
    ) -> tuple[ErrorScale, ...]:
        """Scales with what roundings of the arguments change in single rows and columns."""

    def otherwise_rounded(self, arguments: list[Any], outputs: list[torch.Tensor]) -> list[list[torch.Tensor]]:
        """What the reference makes of them in float64, in the outputs' dtypes; and, where it chooses among values that
        it computes, of arguments that are rounded once more. Empty where it cannot be run so."""

    def other_choices(self, arguments: list[Any]) -> list[list[torch.Tensor]]:
        """What the reference makes of them where it chooses others of equal values; empty where it does not choose."""


class Standard(Protocol):
    """What outputs are judged by."""

    @property
    def problem(self) -> Contract:
        """What the problem's file says."""

    @property
    def aliases(self) -> frozenset[tuple[int, int]]:
        """Outputs of the reference that lie in the memory of arguments: the number of each, and of the argument."""

    @property
    def shares(self) -> frozenset[tuple[int, int | None]]:
        """Outputs of the reference that lie in each other's memory, or with None in the model's."""

    @property
    def modes(self) -> frozenset[tuple[int, str]]:
        """Outputs of the reference that a mode of torch makes other tensors than usual, and what they are."""

    @property
    def accuracy(self) -> Accuracy:
        """How exact the reference is."""


@dataclass(kw_only=True)
class Judgement:
    """What was found about the tensors of one call."""

    wrong: str | None = None
    """The first thing that is; None where all is right."""
    is_forged: bool = False
    """Whether no honest code does that."""
    accounts: list[tuple[str, Account]] = field(default_factory=list)
    """How far the tensors are off, each under its name, up to the first that is wrong."""
    remarks: list[str] = field(default_factory=list)
    """What is to be said of them though it is not wrong."""
    is_one_sided: bool = False
    """Whether that was said of an output's errors."""

    def found(self, wrong: str, *, is_forged: bool = False) -> Judgement:
        """The same with what is wrong."""
        self.wrong, self.is_forged = wrong, is_forged
        return self


def judged_outputs(
    standard: Standard,
    fetched: Fetched,
    answer: Answer,
    scales: Sequence[ErrorScale],
    *,
    finite_only: bool = False,
    by_element: bool = False,
    may_overflow: bool = False,
) -> Judgement:
    """What is wrong with the outputs of one call.

    With `finite_only`, leading slices that the reference itself does not keep finite are not judged; with `by_element`,
    elements that it makes NaN; with `may_overflow`, elements that overflow in it, or nearly do."""
    judgement = Judgement()
    wrong_type = next((out for out in fetched.outputs if out.meta is None), None)
    if wrong_type is not None:
        return judgement.found(f"returned {wrong_type.kind}, not a plain torch.Tensor", is_forged=True)
    try:
        order = places(fetched.structure, answer.shape)
        outputs = [fetched.outputs[place] for place in order]
    except ContractError as error:
        return judgement.found(str(error))
    except IndexError:
        return judgement.found("an output is not described", is_forged=True)
    for index, (output, wanted) in enumerate(zip(outputs, answer.tensors, strict=True)):
        label = _called(standard, index, len(outputs))
        place = _misplaced(standard, index, output, order, wanted, judgement)
        if output.value is not None and _selects_equals(answer, index, output.value):
            wanted = output.value
        if by_element and output.value is not None and output.meta == TensorMeta.of(wanted):
            output = dataclasses.replace(output, value=_where_not_nan(output.value, wanted, judgement))
        if may_overflow and output.value is not None and output.meta == TensorMeta.of(wanted):
            output = dataclasses.replace(output, value=_where_nothing_overflows(output.value, wanted))
        wrong, account = _compared(standard, output, wanted, scales[index], place, judgement, finite_only=finite_only)
        if account is not None:
            judgement.accounts.append((label.removeprefix("the "), account))
        if wrong is not None:
            return judgement.found(f"{label} {wrong}")
    return judgement


def judged_on_values(
    standard: Standard,
    fetched: Fetched,
    arguments: list[Any],
    answer: Answer,
    distribution: Distribution,
    scales: Sequence[ErrorScale],
) -> Judgement:
    """The same for arguments that are still at hand. What is found is judged once more by how exact the reference is
    on these very values: how large errors are differs from draw to draw, and no kernel is accused by chance. Nor is one
    that chose another of equal values than the reference, where that may choose either."""
    judged = functools.partial(
        judged_outputs,
        standard,
        fetched,
        finite_only=not (distribution.finite or distribution.by_element),
        by_element=distribution.by_element and not distribution.about_nan,
        may_overflow=distribution.may_overflow,
    )
    judgement = judged(answer, scales)
    if judgement.wrong is None or judgement.is_forged:
        return judgement
    own = standard.accuracy.scales_on(arguments, answer.tensors, distribution)
    if own is not None:
        scales = [worse(one, other) for one, other in zip(own, scales, strict=True)] if scales else own
        scales = standard.accuracy.with_line_errors(scales, arguments, answer.tensors)
        again = judged(answer, scales)
        again.remarks += judgement.remarks
        judgement = again
    if judgement.wrong is None or not scales:
        return judgement
    chosen = _as_chosen(fetched, answer, lambda: standard.accuracy.other_choices(arguments))
    if chosen is not None:
        judgement = judged(chosen, scales)
    if judgement.wrong is None:
        return judgement
    rounded = standard.accuracy.otherwise_rounded(arguments, answer.tensors)
    chosen = _as_chosen(fetched, answer, lambda: rounded, SLICES_OF)
    for other in (*rounded[:1], *_by_slices(fetched, answer, rounded), *([chosen.tensors] if chosen else [])):
        again = judged(dataclasses.replace(answer, tensors=other), scales)
        if again.wrong is None:
            return again
    return judgement


def _by_slices(fetched: Fetched, answer: Answer, others: Sequence[list[torch.Tensor]]) -> Iterator[list[torch.Tensor]]:
    """The answer with few leading slices of it as in others, where the candidate's are like those."""
    counts = {one.shape[0] if one.dim() else 0 for one in answer.tensors}
    if not others or len(counts) != 1 or counts == {0}:
        return
    try:
        outputs = [fetched.outputs[place].value for place in places(fetched.structure, answer.shape)]
    except (ContractError, IndexError):
        return
    values = [one for one in outputs if one is not None]
    if [TensorMeta.of(one) for one in values] != [TensorMeta.of(one) for one in answer.tensors]:
        return
    apart = ~_alike(values, answer.tensors)
    if not 0 < int(apart.sum()) <= max(LEAST_CHOSEN, apart.numel() // SLICES_OF):
        return
    mixed = [one.clone() for one in answer.tensors]
    for other in others:
        chosen = apart & _alike(values, other)
        for tensor, source in zip(mixed, other, strict=True):
            tensor[chosen] = source[chosen]
    yield mixed


def _alike(values: Sequence[torch.Tensor], others: Sequence[torch.Tensor]) -> torch.Tensor:
    """Which leading slices of all tensors are alike but for roundings."""
    kept = torch.ones(values[0].shape[0], dtype=torch.bool, device=values[0].device)
    for value, other in zip(values, others, strict=True):
        kept &= ~other_elements(value, other).reshape(kept.numel(), -1).any(dim=1)
    return kept


def _as_chosen(
    fetched: Fetched, answer: Answer, others: Callable[[], list[list[torch.Tensor]]], one_of: int = CHOSEN_OF
) -> Answer | None:
    """The answer with the few whole numbers in which the candidate chose another one of values that happen to be equal,
    as `topk` may; None where it did not. `others`: the reference's answers for other choices. Where those differ often,
    a few elements may be as in none of them."""
    try:
        outputs = [fetched.outputs[place].value for place in places(fetched.structure, answer.shape)]
    except (ContractError, IndexError):
        return None
    tensors = list(answer.tensors)
    for index, (value, wanted) in enumerate(zip(outputs, answer.tensors, strict=True)):
        if value is None or wanted.is_floating_point() or wanted.is_complex():
            continue
        if value.dtype is not wanted.dtype or value.shape != wanted.shape:
            continue
        apart = value != wanted
        if 0 < int(apart.sum()) <= max(LEAST_CHOSEN, wanted.numel() // one_of):
            known = [other[index] for other in others() if len(other) == len(tensors)]
            known = [other for other in known if other.shape == wanted.shape]
            tensors[index] = torch.where(_are_choices(value, wanted, known), value, wanted)
    changed = any(one is not other for one, other in zip(tensors, answer.tensors, strict=True))
    return dataclasses.replace(answer, tensors=tensors) if changed else None


def _are_choices(value: torch.Tensor, wanted: torch.Tensor, others: Sequence[torch.Tensor]) -> torch.Tensor:
    """Where a tensor is as in one of others; as in none of them may be few for each that hangs on a rounding."""
    known, unsure = torch.zeros_like(value, dtype=torch.bool), torch.zeros_like(value, dtype=torch.bool)
    for other in others:
        known |= value == other
        unsure |= wanted != other
    left = ~known & (value != wanted)
    return known | left if int(left.sum()) <= int(unsure.sum()) // UNSURE_OF else known


def _selects_equals(answer: Answer, index: int, places: torch.Tensor | None) -> bool:
    """Whether an output holds places of the same values as the reference's, none of them twice along their dimension,
    where equal ones may be chosen in any order."""
    wanted, selection = answer.tensors[index], answer.selections.get(index)
    if selection is None or places is None or TensorMeta.of(places) != TensorMeta.of(wanted) or wanted.numel() == 0:
        return False
    if torch.equal(places, wanted):
        return False  # then there is nothing to look up
    values, dim = _chosen_from(answer, index, selection), selection.dim
    if values is not None and wanted.dim() == values.dim() - 1:
        places, wanted = places.unsqueeze(dim), wanted.unsqueeze(dim)
    if values is None or wanted.dim() != values.dim() or wanted.dim() == 0:
        return False
    if int(places.min()) < 0 or int(places.max()) >= values.shape[dim]:
        return False
    chosen, meant = values.gather(dim, places), values.gather(dim, wanted)
    if not bool(((places == wanted) | (chosen == meant) | ((chosen != chosen) & (meant != meant))).all()):
        return False
    ordered = places.sort(dim=dim).values
    size = ordered.shape[dim]
    return not bool((ordered.narrow(dim, 1, size - 1) == ordered.narrow(dim, 0, size - 1)).any())


def _chosen_from(answer: Answer, index: int, selection: Selection) -> torch.Tensor | None:
    """The values that places are of: an argument, or what is known of an intermediate result by those returned; the
    rest of it is NaN, but so is no number."""
    if selection.source is not None:
        return widened(selection.source)
    if selection.values is None:
        return None
    places, values, dim = answer.tensors[index], widened(answer.tensors[selection.values]), selection.dim
    if (
        not values.is_floating_point()
        or values.dim() == 0
        or places.shape != values.shape
        or bool((values != values).any())
    ):
        return None
    shape = list(values.shape)
    shape[dim] = max(int(places.max()) + 1, shape[dim])
    whole = torch.full(shape, torch.nan, dtype=values.dtype, device=values.device)
    return whole.scatter_(dim, places, values)


def judged_inputs(
    standard: Standard,
    seen: Sequence[torch.Tensor],
    arguments: list[Any],
    answer: Answer,
    distribution: Distribution,
) -> Judgement:
    """What is wrong with the arguments after a call: as they were, or as the reference leaves them, where it
    writes, within bounds like an output's. `seen` are their tensors afterwards, `arguments` as before it."""
    judgement, tensors = Judgement(), flatten(arguments)
    left = answer.inputs or tensors
    scales: Sequence[ErrorScale] | None = None
    for index, (found, own, wanted) in enumerate(zip(seen, tensors, left, strict=True)):
        if same_bytes(own, wanted):
            if not same_bytes(found, own):
                return judgement.found(f"input {index} was changed by the call", is_forged=True)
            continue
        if scales is None:
            scales = standard.accuracy.scales_on(arguments, left, distribution, in_place=True)
            scales = scales or [ErrorScale()] * len(left)
        compared = examine(found, wanted, scales[index], standard.problem.tolerances)
        judgement.remarks += scales[index].remarks
        if compared.account is not None:
            judgement.accounts.append((f"input {index}", compared.account))
        if compared.mismatch is not None:
            return judgement.found(f"input {index}, which the reference changes in place, {compared.mismatch.detail}")
    return judgement


def _compared(
    standard: Standard,
    output: Output,
    wanted: torch.Tensor,
    scale: ErrorScale,
    place: str | None,
    judgement: Judgement,
    *,
    finite_only: bool,
) -> tuple[str | None, Account | None]:
    """What is wrong with one output, in words that follow its name, and how far it is off, where that was compared."""
    if output.meta != TensorMeta.of(wanted):
        return f"is {output.meta}, expected {TensorMeta.of(wanted)}", None
    if output.value is None:
        return "could not be read as dense memory: return a strided tensor on the problem's device", None
    if place is not None:
        return place, None
    value = output.value
    if finite_only and is_counted(wanted) and not is_eight_bit(wanted):
        if not torch.equal(value, wanted):
            judgement.remarks.append(NAN_CHOOSES)
        return None, None
    if finite_only:
        kept = finite_slices(wanted)
        if _is_not_finite_elsewhere(value, wanted):
            judgement.remarks.append(NOT_PASSED_ON)
        value, wanted = value[kept], wanted[kept]
    compared = examine(value, wanted, scale, standard.problem.tolerances)
    judgement.remarks += scale.remarks
    if compared.mismatch is None and not judgement.is_one_sided and (remark := one_sided(value, wanted)):
        judgement.is_one_sided = True
        judgement.remarks.append(remark)
    return (None if compared.mismatch is None else compared.mismatch.detail), compared.account


def _where_not_nan(value: torch.Tensor, wanted: torch.Tensor, judgement: Judgement) -> torch.Tensor:
    """An output with the reference's NaN, of which it is said where the output has none."""
    if not (wanted.is_floating_point() or wanted.is_complex()):
        return value
    is_nan = torch.isnan(widened(wanted))
    if not bool(is_nan.any()):
        return value
    if not bool(torch.isnan(widened(value)[is_nan]).all()):
        judgement.remarks.append(NAN_IS_LOST)
    return torch.where(is_nan, wanted, value)


def _where_nothing_overflows(value: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
    """An output with the reference's elements where that one is not finite, or so large that another order of sums may
    overflow and does."""
    if not wanted.is_floating_point() or is_eight_bit(wanted):
        return value
    is_finite = torch.isfinite(wanted)
    if bool(is_finite.all()) and bool(torch.isfinite(value).all()):
        return value
    is_near = wanted.abs() > NEARLY_TOO_LARGE * torch.finfo(wanted.dtype).max
    return torch.where(~is_finite | (is_near & ~torch.isfinite(value)), wanted, value)


def _called(standard: Standard, index: int, count: int) -> str:
    """The name of one of the tensors that a call hands over."""
    gradients = standard.problem.gradient_names
    own = count - len(gradients)
    if index >= own:
        return f"the gradient of {gradients[index - own]}"
    return f"output {index}" if own > 1 else "the output"


def _misplaced(
    standard: Standard,
    index: int,
    output: Output,
    order: Sequence[int],
    wanted: torch.Tensor,
    judgement: Judgement,
) -> str | None:
    """Where an output lies that the reference's, which has the number `index`, does not. `order` has the numbers by
    which the candidate speaks of its own."""
    if output.mode is not None and (index, output.mode) not in standard.modes:
        if output.mode != INFERENCE:
            return f"is {output.mode} though none are recorded, the reference's is not: compute it under no_grad"
        judgement.remarks.append(ONLY_READ)
    if output.alias is not None and (index, output.alias) not in standard.aliases:
        return f"lies in the memory of input {output.alias}, the reference's does not"
    if output.shared is not None and (index, number_of(output.shared, order)) not in standard.shares:
        return f"lies in the memory of {output.shared}, the reference's does not: give it memory of its own"
    if not output.written_out and not (shares_memory(wanted) or wanted.is_conj() or wanted.is_neg()):
        return "has elements that share memory, or are negated by the reader; the reference's has none: write it out"
    if is_turned(output.strides, wanted):
        return (
            f"has the strides {list(output.strides)}, the reference's {list(wanted.stride())}: its reader would "
            f"have to turn it; return it in row-major order or in the reference's"
        )
    return None


def number_of(shared: str, order: Sequence[int]) -> int | None:
    """The reference's number of the output that another one is said to lie in; None for the model's memory."""
    place = shared.removeprefix("output ")
    return order.index(int(place)) if place.isdecimal() and int(place) in order else None


def is_turned(strides: Sequence[int], wanted: torch.Tensor) -> bool:
    """Whether an output of some size lies in another order of dimensions than row-major and the reference's: then
    putting it in order is left to the reader. Gaps between rows do not matter."""
    if wanted.nbytes < LEAST_TURNED or len(strides) != wanted.dim():
        return False
    dims = [dim for dim in range(wanted.dim()) if wanted.shape[dim] > 1]
    as_wanted = sorted(dims, key=wanted.stride().__getitem__, reverse=True)
    return not any(
        all(strides[one] >= strides[other] for one, other in itertools.pairwise(order)) for order in (dims, as_wanted)
    )


def _is_not_finite_elsewhere(value: torch.Tensor, wanted: torch.Tensor) -> bool:
    """Whether NaN and infinities of the inputs come out otherwise than from the reference."""
    value, wanted = widened(value), widened(wanted)
    return not (
        torch.equal(torch.isnan(value), torch.isnan(wanted)) and torch.equal(torch.isinf(value), torch.isinf(wanted))
    )
