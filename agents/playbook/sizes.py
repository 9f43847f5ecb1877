"""Integer polynomials over named sizes and loop variables: shapes and memory offsets as the generator reasons on them.

A shape's entry is a polynomial over size symbols (`n0_1`: size 1 of input 0), an index one over loop variables too, and
an address is Σ stride·index. Symbols that must be equal (broadcasting) are united in `Sizes`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from agents.playbook.errors import NoTemplateError

Monomial = tuple[str, ...]


@dataclass(frozen=True)
class Poly:
    """A sum of integer multiples of products of atoms, in canonical order."""

    terms: tuple[tuple[Monomial, int], ...] = ()

    def __add__(self, other: Poly | int) -> Poly:
        total = dict(self.terms)
        for monomial, factor in poly(other).terms:
            total[monomial] = total.get(monomial, 0) + factor
        return _canonical(total)

    def __sub__(self, other: Poly | int) -> Poly:
        return self + poly(other) * -1

    def __mul__(self, other: Poly | int) -> Poly:
        total: dict[Monomial, int] = {}
        for left, a in self.terms:
            for right, b in poly(other).terms:
                monomial = tuple(sorted(left + right))
                total[monomial] = total.get(monomial, 0) + a * b
        return _canonical(total)

    @property
    def constant(self) -> int | None:
        """The value of a polynomial without atoms, else None."""
        if not self.terms:
            return 0
        return self.terms[0][1] if self.terms[0][0] == () and len(self.terms) == 1 else None

    @property
    def atoms(self) -> frozenset[str]:
        """Every name in it."""
        return frozenset(atom for monomial, _ in self.terms for atom in monomial)

    def coefficient(self, atom: str) -> Poly:
        """What multiplies `atom`, where it occurs linearly."""
        found: dict[Monomial, int] = {}
        for monomial, factor in self.terms:
            if atom in monomial:
                rest = list(monomial)
                rest.remove(atom)
                found[tuple(rest)] = factor
        return _canonical(found)

    def substitute(self, values: Mapping[str, Poly]) -> Poly:
        """With atoms replaced."""
        if not self.atoms & values.keys():
            return self
        total = Poly()
        for monomial, factor in self.terms:
            product = poly(factor)
            for atom in monomial:
                product = product * values.get(atom, symbol(atom))
            total = total + product
        return total

    def divide(self, other: Poly) -> Poly | None:
        """The exact quotient by a single term, or None."""
        if len(other.terms) != 1:
            return None
        (monomial, factor) = other.terms[0]
        quotient: dict[Monomial, int] = {}
        for own, value in self.terms:
            rest = list(own)
            for atom in monomial:
                if atom not in rest:
                    return None
                rest.remove(atom)
            if value % factor:
                return None
            quotient[tuple(rest)] = value // factor
        return _canonical(quotient)

    def c(self) -> str:
        """As a C or Python expression."""
        if not self.terms:
            return "0"
        text = ""
        for monomial, factor in self.terms:
            size = abs(factor)
            product = "*".join(([] if size == 1 and monomial else [str(size)]) + list(monomial))
            sign = "-" if factor < 0 else "+"
            text += f" {sign} {product}" if text else (f"-{product}" if factor < 0 else product)
        return text if len(self.terms) == 1 and "*" not in text and not text.startswith("-") else f"({text})"


def _canonical(terms: Mapping[Monomial, int]) -> Poly:
    return Poly(tuple(sorted((key, value) for key, value in terms.items() if value)))


def poly(value: Poly | int) -> Poly:
    """A constant as a polynomial."""
    if isinstance(value, Poly):
        return value
    return Poly((((), value),)) if value else Poly()


def symbol(name: str) -> Poly:
    """A single atom."""
    return Poly((((name,), 1),))


ONE = poly(1)
ZERO = poly(0)
Shape = tuple[Poly, ...]


def product(sizes: Iterable[Poly]) -> Poly:
    """The number of elements."""
    total = ONE
    for size in sizes:
        total = total * size
    return total


def strides(shape: Sequence[Poly]) -> tuple[Poly, ...]:
    """Row-major strides in elements."""
    result: list[Poly] = []
    step = ONE
    for size in reversed(shape):
        result.append(step)
        step = step * size
    return tuple(reversed(result))


class Sizes:
    """Size symbols with the values they had in the trace, and which of them are the same."""

    def __init__(self) -> None:
        self.hints: dict[str, int] = {}
        self.quotients: dict[tuple[Poly, int], Poly] = {}
        """What stands for a size divided and rounded down, which is no polynomial."""
        self.equal: dict[tuple[Poly, Poly], None] = {}
        """Pairs of sums and products that are equal, where none is a symbol to be replaced by the other."""
        self._parents: dict[str, Poly] = {}

    def new(self, name: str, hint: int) -> Poly:
        """A symbol; a size of one stays the constant one, since broadcasting depends on it."""
        if hint == 1:
            return ONE
        self.hints[name] = hint
        return self.resolve(symbol(name))

    def quotient(self, value: Poly, divisor: int) -> Poly:
        """A size divided by a positive number and rounded down: a symbol of its own where the division may leave a
        rest."""
        value = self.resolve(value)
        exact = value.divide(poly(divisor))
        if exact is not None:
            return exact
        if value.constant is not None:
            return poly(value.constant // divisor)
        if (value, divisor) not in self.quotients:
            name = f"f{len(self.quotients)}"
            self.hints[name] = self.value(value) // divisor
            self.quotients[value, divisor] = symbol(name)
        return self.resolve(self.quotients[value, divisor])

    def resolve(self, value: Poly) -> Poly:
        """With every united symbol replaced by its representative."""
        previous = None
        while previous != value:
            previous, value = value, value.substitute(self._parents)
        return value

    def value(self, size: Poly) -> int:
        """The number that a size had in the trace."""
        total = 0
        for monomial, factor in size.terms:
            number = factor
            for atom in monomial:
                number *= self.hints[atom]
            total += number
        return total

    def unite(self, left: Poly, right: Poly) -> Poly:
        """State that two sizes are equal. Raises `NoTemplateError` when the trace says otherwise."""
        left, right = self.resolve(left), self.resolve(right)
        if left == right:
            return left
        if self.value(left) != self.value(right):
            raise NoTemplateError(f"sizes {self.value(left)} and {self.value(right)} do not match")
        for one, other in ((right, left), (left, right)):
            name = _single_atom(one)
            if name is not None and name not in other.atoms:
                self._parents[name] = other
                return other
        self.equal[left, right] = None
        return left


def _single_atom(size: Poly) -> str | None:
    if len(size.terms) == 1 and size.terms[0][1] == 1 and len(size.terms[0][0]) == 1:
        return size.terms[0][0][0]
    return None
