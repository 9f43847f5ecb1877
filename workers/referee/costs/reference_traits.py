"""What the graph of a reference says of it: its operators, its choices among values, and where it rounds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from services.domain.problems import ProblemAnalysis
from workers.referee.costs import operator_costs as operators
from workers.referee.costs import output_paths as paths
from workers.referee.costs.named_numbers import named_numbers


@dataclass(frozen=True)
class ReferenceTraits:
    """What is known of a problem's reference without running it. Of one that could not be traced that is little."""

    analysis: ProblemAnalysis
    is_step: bool
    """Whether both passes are judged."""

    @property
    def _forms(self) -> tuple[ProblemAnalysis, ...]:
        """The graphs that the reference may have."""
        return (self.analysis, *self.analysis.other_forms)

    @cached_property
    def exact(self) -> frozenset[int]:
        """Outputs that no rounding has a share in; see `paths.exact_outputs`."""
        return frozenset.intersection(*map(paths.exact_outputs, self._forms))

    @cached_property
    def choices(self) -> dict[int, paths.ValuesChoice]:
        """Outputs that hold places of values."""
        return {} if self.analysis.other_forms else paths.choices(self.analysis)

    @cached_property
    def only_compares_whole(self) -> bool:
        """Whether the inputs' whole numbers may be any of their dtype."""
        return all(map(paths.only_compares_whole, self._forms))

    @cached_property
    def chooses_computed(self) -> bool:
        """Whether values are chosen that are computed; see `paths.chooses_computed`."""
        return paths.chooses_computed(self.analysis)

    @property
    def names(self) -> set[str]:
        """The operators of the reference's forward; empty where it could not be traced."""
        return {operators.base_name(item.target) for item in self.analysis.operators}

    @property
    def named_indices(self) -> tuple[int, ...]:
        """Whole numbers that the model names and that indices may meet."""
        return named_numbers(self.analysis.operators)[1]

    @property
    def knows_ties(self) -> bool:
        """Whether what the reference does with equal values is known."""
        return bool(self.names) and not self.chooses and not self.has_kinks

    @property
    def takes_ties(self) -> bool:
        """Whether rows of equal values may be tried, of zeros among them, and no gradient has to be known there."""
        return not self.is_step and self.knows_ties and self.takes_ties_forward

    @property
    def takes_ties_forward(self) -> bool:
        """Whether they may be tried as far as the forward is concerned, whatever its gradients are there."""
        return bool(self.names) and not self.chooses_computed and not self.converts

    @cached_property
    def chooses(self) -> bool:
        """Whether the reference chooses among equal values, as it likes: PyTorch promises nothing of them, or they may
        be equal by a rounding."""
        return bool(self.names & operators.CHOOSERS) and not all(map(paths.settles_ties, self._forms))

    @property
    def has_kinks(self) -> bool:
        """Whether gradients are judged of a formula that has none at some values: which is taken there, of those from
        either side, does not matter, and a rounding decides on which side a value lies."""
        return self.is_step and bool(self.names & operators.KINKED or not self.names)

    @property
    def has_exponentials(self) -> bool:
        """Whether exponentials are computed, or that is not known."""
        return not self.names or bool(self.names & operators.EXPONENTIALS)

    @property
    def may_repeat_indices(self) -> bool:
        """Whether whole numbers may be alike though gradients are judged of a formula with kinks: these are then kinks
        of single floats, and no two that are alike are taken from each other."""
        is_apart = not any(name in operators.TAKING_AWAY or "norm" in name for name in self.names)
        return bool(self.names) and is_apart and not self.names & operators.KINKED - operators.KINKED_BY_ITSELF

    @property
    def converts(self) -> bool:
        """Whether floats may become whole numbers: of NaN, any."""
        return self.has_whole_inside and bool(self.names & operators.CONVERTING)

    @property
    def is_all_exact(self) -> bool:
        """Whether no rounding has a share in any output."""
        return bool(self.names) and len(self.exact) == len(self.analysis.outputs)

    @property
    def has_whole_inside(self) -> bool:
        """Whether an operator's result is whole numbers."""
        return any(spec.dtype in operators.WHOLE_NAMES for item in self.analysis.operators for spec in item.outputs)

    @property
    def converts_or_masks(self) -> bool:
        """Whether numbers of some size would overflow in a conversion, or mean the same as infinity."""
        found = filter(operators.converts_or_masks, self.analysis.operators)
        return not all(paths.is_clamped(self.analysis, item) for item in found)
