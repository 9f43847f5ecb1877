"""Products in a traced graph: which factors, which epilogue, and the statements that make both three-dimensional.

Every product becomes `y[i] = a[i] @ b[i]` with `a` [batch, rows, inner] and `b` [batch, inner, columns], read through
their strides, so that transposed operands cost no copy. Leading dimensions of `a` are rows where `b` has two.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from agents.playbook.triton.patterns.pointwise import Chain, follow, number
from agents.playbook.triton.patterns.rows import RowTail, row_tail
from agents.playbook.triton.patterns.sources import FLOATS, StridedSource, base_name, sources
from services.domain.problems import Operator, ProblemAnalysis, ValueRef

TRIANGLES = {"triu": ">=", "tril": "<="}


@dataclass(frozen=True, kw_only=True)
class Product:
    """One product and the pointwise operators after it."""

    batch: int
    """As traced, like the next three."""
    rows: int
    inner: int
    columns: int
    dtype: str
    """In which the factors are multiplied: float16, bfloat16 or float32. Sums are float32."""
    statements: tuple[str, ...]
    """Of `forward`: they make `a` and `b` (three-dimensional views), `y` (the output) and `y3` (a view of it)."""
    chain: Chain
    scale: str = "1.0"
    """A factor of the product before anything is added."""
    addend: StridedSource | None = None
    """What is added before rounding: a bias, the matrix of `addmm`."""
    addend_scale: str = "1.0"
    triangle: str | None = None
    """`triu` or `tril` where the product is cut to a triangle first of all."""
    diagonal: int = 0
    tail: RowTail | None = None
    """What follows row by row, where the operators after the product are not only pointwise: then `chain` is empty."""
    parameters: tuple[int, ...] = ()
    """Numbers of the parameters that `forward` reads."""

    @property
    def flops(self) -> int:
        """Of the product."""
        return 2 * self.batch * self.rows * self.inner * self.columns


@dataclass(frozen=True, kw_only=True)
class _Factors:
    a: StridedSource
    b: StridedSource
    statements: tuple[str, ...]
    """Before the output is allocated."""
    shape: str
    """The output's shape, a Python expression."""
    view: str
    """The output as `y3`."""
    sizes: tuple[int, int, int, int]
    """batch, rows, inner, columns as traced."""


def product(analysis: ProblemAnalysis) -> Product | None:
    """The graph as one product with an epilogue; None where it is anything else."""
    made = [item for item in analysis.operators if base_name(item) in PRODUCTS]
    if len(made) != 1:
        return None
    item, known = made[0], sources(analysis)
    found = _terms(item, known)
    if found is None:
        return None
    factors, scale, addend, addend_scale = found
    stored = {factors.a.stored, factors.b.stored}
    output = item.outputs[0]
    if len(stored) != 1 or not stored <= FLOATS or output.dtype not in FLOATS:
        return None
    if not all(source.exact and source.dtype == output.dtype for source in (factors.a, factors.b)):
        return None  # factors are multiplied as they are stored: they may be cast to no less than they have
    triangle, diagonal = _triangle(analysis, output.name)
    chain, tail = follow(analysis, output.name, positional=_positional(factors)), None
    if chain is None:
        triangle, tail = None, row_tail(analysis, output.name)
        chain = None if tail is None else Chain(spec=output, statements=(), result="acc", operands=(), functions="")
    if chain is None or (addend is not None and addend.dtype not in FLOATS):
        return None
    used = {source.parameter for source in (factors.a, factors.b, addend) if source is not None}
    parameters = {number for number in used if number is not None} | set(
        (tail.chain if tail is not None else chain).parameters
    )
    return Product(
        batch=factors.sizes[0],
        rows=factors.sizes[1],
        inner=factors.sizes[2],
        columns=factors.sizes[3],
        dtype=stored.pop(),
        statements=(
            *factors.statements,
            f"y = torch.empty({factors.shape}, dtype=torch.{chain.spec.dtype}, device=a.device)",
            f"y3 = {factors.view}",
        ),
        chain=chain,
        scale=scale,
        addend=addend,
        addend_scale=addend_scale,
        triangle=triangle if _is_plain(factors) else None,
        diagonal=diagonal,
        tail=tail,
        parameters=tuple(sorted(parameters)),
    )


def _terms(item: Operator, known: dict[str, StridedSource]) -> tuple[_Factors, str, StridedSource | None, str] | None:
    """The factors of a product, its scale, and what is added to it at which scale."""
    name, options = base_name(item), dict(item.keywords)
    beta, alpha = number(options.pop("beta", 1)), number(options.pop("alpha", 1))
    if options or beta is None or alpha is None:
        return None
    if name == "einsum":
        return _wrapped(_einsum(item, known))
    refs = [known.get(argument.ref) if isinstance(argument, ValueRef) else None for argument in item.arguments]
    if name in ("addmm", "baddbmm", "addmv"):
        if len(refs) != 3 or refs[0] is None or refs[1] is None or refs[2] is None:
            return None
        factors = _matmul(refs[1], refs[2])
        addend = None if beta == "0.0" else refs[0]  # torch leaves it unread then, NaN included
        return None if factors is None or name == "addmv" else (factors, alpha, addend, beta)
    if len(refs) < 2 or refs[0] is None or refs[1] is None:
        return None
    if name == "linear":
        bias = refs[2] if len(refs) > 2 and item.arguments[2] is not None else None
        if len(refs) > 2 and item.arguments[2] is not None and bias is None:
            return None
        factors = _matmul(refs[0], refs[1].transposed())
        return None if factors is None else (factors, "1.0", bias, "1.0")
    return _wrapped(_matmul(refs[0], refs[1]))


def _wrapped(factors: _Factors | None) -> tuple[_Factors, str, StridedSource | None, str] | None:
    return None if factors is None else (factors, "1.0", None, "1.0")


def _matmul(a: StridedSource, b: StridedSource) -> _Factors | None:
    """As `torch.matmul` pairs its arguments' dimensions; a missing dimension has size 1 and is left out again."""
    left, right = len(a.shape), len(b.shape)
    if left == 0 or right == 0 or (left == 1 and right == 1):
        return None
    lines = [f"a = {a.text}" + (".unsqueeze(0)" if left == 1 else "")]
    lines.append(f"b = {b.text}" + (".unsqueeze(1)" if right == 1 else ""))
    lines.append("if a.shape[-1] != b.shape[-2]:")
    lines.append('    raise ValueError(f"a product of {tuple(a.shape)} and {tuple(b.shape)} does not exist")')
    first = a.shape if left > 1 else (1, *a.shape)
    second = b.shape if right > 1 else (*b.shape, 1)
    rows, columns = ("" if left == 1 else "a.shape[-2], "), ("" if right == 1 else "b.shape[-1]")
    if len(second) == 2:
        batch, many, lead = 1, math.prod(first[:-1]), "*a.shape[:-2], "
        lines.append("shape = (" + lead + rows + columns + ")")
        if len(first) > 2:
            lines.append("a = a.reshape(a.shape[:-1].numel(), a.shape[-1])")
        lines += ["a, b = a.unsqueeze(0), b.unsqueeze(0)"]
    else:
        batch, many = math.prod(_broadcast(first[:-2], second[:-2])), first[-2]
        lines.append("lead = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])")
        lines.append("shape = (*lead, " + rows + columns + ")")
        lines += [_flattened(name) for name in "ab"]
    return _Factors(
        a=a,
        b=b,
        statements=tuple(lines),
        shape="shape",
        view="y.view(a.shape[0], a.shape[1], b.shape[2])",
        sizes=(batch, many, first[-1], second[-1]),
    )


def _flattened(name: str) -> str:
    return f"{name} = {name}.expand(*lead, *{name}.shape[-2:]).reshape(lead.numel(), *{name}.shape[-2:])"


def _broadcast(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, ...]:
    """The common shape of two that are known to go together."""
    longest = max(len(left), len(right))
    padded = [(1,) * (longest - len(shape)) + shape for shape in (left, right)]
    return tuple(max(one, other) if 0 not in (one, other) else 0 for one, other in zip(*padded, strict=True))


def _einsum(item: Operator, known: dict[str, StridedSource]) -> _Factors | None:
    """An equation of two factors whose output lists batch, then row, then column indices."""
    equation, operands = item.arguments[0], item.arguments[1]
    if not isinstance(equation, str) or not isinstance(operands, tuple) or len(operands) != 2:
        return None
    found = [known.get(operand.ref) if isinstance(operand, ValueRef) else None for operand in operands]
    inputs, arrow, output = equation.replace(" ", "").partition("->")
    left, comma, right = inputs.partition(",")
    if not arrow or not comma or "." in equation or found[0] is None or found[1] is None:
        return None
    if any(len(set(letters)) != len(letters) for letters in (left, right, output)):
        return None
    for one, other, a, b in ((left, right, found[0], found[1]), (right, left, found[1], found[0])):
        factors = _contraction(one, other, output, a, b)
        if factors is not None:
            return factors
    return None


def _contraction(left: str, right: str, output: str, a: StridedSource, b: StridedSource) -> _Factors | None:
    batch = [letter for letter in output if letter in left and letter in right]
    rows = [letter for letter in output if letter in left and letter not in right]
    columns = [letter for letter in output if letter in right and letter not in left]
    inner = [letter for letter in left if letter in right and letter not in output]
    known = [*batch, *rows, *columns]
    if known != list(output) or not inner or set(left + right) != {*known, *inner}:
        return None
    if len(a.shape) != len(left) or len(b.shape) != len(right):
        return None
    sizes = dict(zip(left, a.shape, strict=True)) | dict(zip(right, b.shape, strict=True))
    read = {letter: f"a.shape[{place}]" for place, letter in enumerate(left)}
    read |= {letter: f"b.shape[{place}]" for place, letter in enumerate(right) if letter not in left}
    lines = [f"a = {a.text}", f"b = {b.text}"]
    lines += [f"n_{letter} = {read[letter]}" for letter in sorted(read)]
    lines += [line for letter in sorted({*left} & {*right}) for line in _agree(letter, right.index(letter))]
    lines.append(f"a = {_arranged('a', left, (batch, rows, inner))}")
    lines.append(f"b = {_arranged('b', right, (batch, inner, columns))}")
    return _Factors(
        a=a,
        b=b,
        statements=tuple(lines),
        shape=f"({', '.join(f'n_{letter}' for letter in output)},)",
        view=f"y.view({_times(batch)}, {_times(rows)}, {_times(columns)})",
        sizes=tuple(math.prod(sizes[letter] for letter in group) for group in (batch, rows, inner, columns)),  # type: ignore[arg-type]
    )


def _agree(letter: str, place: int) -> tuple[str, str]:
    said = f'f"the sizes of {letter} differ: {{n_{letter}}} and {{b.shape[{place}]}}"'
    return f"if b.shape[{place}] != n_{letter}:", f"    raise ValueError({said})"


def _arranged(name: str, letters: str, groups: tuple[list[str], ...]) -> str:
    order = [letters.index(letter) for group in groups for letter in group]
    permuted = name if order == sorted(order) else f"{name}.permute({', '.join(map(str, order))})"
    return f"{permuted}.reshape({', '.join(_times(group) for group in groups)})"


def _times(letters: list[str]) -> str:
    return " * ".join(f"n_{letter}" for letter in letters) or "1"


def _is_plain(factors: _Factors) -> bool:
    """Whether `y3`'s rows and columns are the output's last two dimensions."""
    return (
        factors.shape == "shape"
        and len(factors.a.shape) > 1
        and len(factors.b.shape) > 1
        and (len(factors.b.shape) > 2 or len(factors.a.shape) == 2)
    )


def _positional(factors: _Factors) -> dict[str, Callable[[Operator, str], str | None]]:
    if not _is_plain(factors):
        return {}
    return dict.fromkeys(TRIANGLES, _cut)


def _cut(item: Operator, value: str) -> str | None:
    diagonal = item.arguments[1] if len(item.arguments) > 1 else 0
    if not isinstance(diagonal, int) or item.keywords:
        return None
    kept = f"columns[None, :] {TRIANGLES[base_name(item)]} rows[:, None] + {diagonal}"
    return f"tl.where({kept}, {value}, 0.0)"


def _triangle(analysis: ProblemAnalysis, name: str) -> tuple[str | None, int]:
    """Whether the product is read by nothing but one `triu` or `tril`, and which diagonal that keeps."""
    readers = [
        item
        for item in analysis.operators
        if any(isinstance(argument, ValueRef) and argument.ref == name for argument in item.arguments)
    ]
    if len(readers) != 1 or base_name(readers[0]) not in TRIANGLES or name in analysis.outputs:
        return None, 0
    diagonal = readers[0].arguments[1] if len(readers[0].arguments) > 1 else 0
    return (base_name(readers[0]), diagonal) if isinstance(diagonal, int) else (None, 0)


PRODUCTS = frozenset({"mm", "matmul", "bmm", "addmm", "baddbmm", "linear", "mv", "addmv", "einsum"})
