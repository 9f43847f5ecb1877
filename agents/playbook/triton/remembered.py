"""What recalled experiences say about the catalogue's kernels: which was the fastest, and which are valued."""

from __future__ import annotations

from agents.playbook.remembered import ALIKE, usable, worth
from agents.playbook.triton.catalogue import TritonKernel, kernels
from services.domain.chat import Facts


def in_order(facts: Facts) -> tuple[TritonKernel, ...]:
    """The kernels for a problem: first the one that was fastest on it, or on the most similar problems, by a remembered
    speedup; then those with a learned value, the highest first; then the rest as the catalogue has them.

    A kernel is known again by its name, so that what is written is always today's template."""
    best, values = _fastest(facts), worth(facts)

    def rank(kernel: TritonKernel) -> tuple[bool, float]:
        return kernel.name != best, -values.get(kernel.name, 0.0)

    return tuple(sorted(kernels(facts.analysis), key=rank))


def recommended(facts: Facts, kernel: TritonKernel) -> str | None:
    """What memory says for a kernel, in words; None where it says nothing."""
    if kernel.name == _fastest(facts):
        return "the fastest remembered kernel of this family was made so"
    value = worth(facts).get(kernel.name)
    return None if value is None else f"its learned value is {value:.2f}"


def _fastest(facts: Facts) -> str | None:
    """The catalogue's kernel that was fastest on this very problem, else on those most similar to it."""
    known = {kernel.name for kernel in kernels(facts.analysis)}
    accepted = [item for item in facts.experiences if usable(facts, item.experience)]
    found = [item for item in accepted if not known.isdisjoint(item.experience.moves)]
    own = [item for item in found if item.experience.text.startswith(facts.analysis.subject)]
    nearest = max((item.similarity for item in found), default=0.0)
    near = own or [item for item in found if item.similarity >= nearest - ALIKE]
    best = max(near, key=lambda item: (item.experience.speedup or 0.0, item.value or 0.0), default=None)
    return next((move for move in best.experience.moves if move in known), None) if best is not None else None
