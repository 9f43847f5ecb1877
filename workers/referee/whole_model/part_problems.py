"""A group of operators as a problem of its own, in KernelBench form: its text, and inputs like those it really gets.

Weights are arguments like everything else: one kernel then serves every place of the model that has the same shapes,
and a candidate cannot lean on a layer's values.
"""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from workers.referee.inputs.value_kinds import is_continuous
from workers.referee.whole_model.call_text import Node, call_text, literal
from workers.referee.whole_model.partition import name_of

MOST_PACKED = 48 << 10
"""Characters of a mask or table that is written into a problem."""
MOST_RAW = 16 << 20
SPREAD = 0.1
"""Standard deviation given to weights that are all the same, as fresh ones of a norm are, so that a kernel cannot leave
them out."""


class NotAProblemError(Exception):
    """A group cannot be written as a problem; the message says why."""


@dataclass(frozen=True, kw_only=True)
class Piece:
    """One group as a function of what it reads."""

    nodes: tuple[Node, ...]
    inputs: tuple[Node, ...]
    """What it reads: activations first, then weights, each in order of use."""
    results: tuple[Node, ...]
    """What others use of it, in order."""
    names: tuple[str, ...]
    """Of the inputs in the problem: `x0`, `w0`."""
    body: tuple[str, ...]
    """Its lines in the problem, `return` included."""

    @property
    def key(self) -> str:
        """The same for pieces that compute the same of inputs of the same shapes."""
        return repr((self.body, [(name, _meta(node)) for name, node in zip(self.names, self.inputs, strict=True)]))


def piece_of(group: Sequence[Node], weights: frozenset[Node]) -> Piece:
    """A group's function; `weights` are the graph's parameters, buffers and constants."""
    members = set(group)
    read = dict.fromkeys(source for node in group for source in node.all_input_nodes if source not in members)
    inputs = tuple(sorted(read, key=lambda node: node in weights))
    results = tuple(node for node in group if _is_tensor(node) and any(user not in members for user in node.users))
    names = _input_names(inputs, weights)
    known: dict[Node, str] = dict(zip(inputs, names, strict=True))
    lines = []
    for number, node in enumerate(group):
        text = call_text(node, known.__getitem__)
        known[node] = f"v{number}"
        lines.append(f"v{number} = {text}")
    found = [known[node] for node in results]
    lines.append(f"return {found[0]}" if len(found) == 1 else f"return {', '.join(found)}")
    return Piece(nodes=tuple(group), inputs=inputs, results=results, names=names, body=tuple(lines))


def problem_text(piece: Piece, samples: Mapping[Node, torch.Tensor], title: str) -> str:
    """The piece as a module in KernelBench form. Raises `NotAProblemError`."""
    draws = [_draw(samples[node]) for node in piece.inputs]
    packed = any(draw.startswith("_exact(") for draw in draws)
    imports = ["import base64", "import zlib", "", "import torch"] if packed else ["import torch"]
    return "\n".join([
        f'"""{title}"""',
        "",
        *imports,
        "import torch.nn.functional as F",
        *(_EXACT if packed else []),
        "",
        "",
        "class Model(torch.nn.Module):",
        f"    def forward(self, {', '.join(piece.names)}):" if piece.names else "    def forward(self):",
        *(f"        {line}" for line in piece.body),
        "",
        "",
        "def get_inputs():",
        "    return [",
        *(f"        {draw}," for draw in draws),
        "    ]",
        "",
        "",
        "def get_init_inputs():",
        "    return []",
        "",
    ])  # fmt: skip


def lines_of(nodes: Sequence[Node], path: str) -> tuple[int, ...]:
    """The lines of a file that nodes come from, as far as tracing records them."""
    pattern = re.compile(rf'File "{re.escape(path)}", line (\d+)')
    found = [pattern.findall(str(node.meta.get("stack_trace") or "")) for node in nodes]
    return tuple(sorted({int(lines[-1]) for lines in found if lines}))


_EXACT = """

def _exact(packed, dtype, shape):
    return torch.frombuffer(bytearray(zlib.decompress(base64.b85decode(packed))), dtype=dtype).reshape(shape).clone()
""".rstrip().splitlines()


def _input_names(inputs: Sequence[Node], weights: frozenset[Node]) -> tuple[str, ...]:
    first = sum(node not in weights for node in inputs)
    return tuple(f"x{number}" if number < first else f"w{number - first}" for number in range(len(inputs)))


def _is_tensor(node: Node) -> bool:
    return isinstance(node.meta.get("val"), torch.Tensor) and name_of(node) != ""


def _meta(node: Node) -> tuple[tuple[int, ...], str]:
    value = node.meta["val"]
    return tuple(value.shape), str(value.dtype)


def _draw(sample: torch.Tensor) -> str:
    """An expression for a tensor of the sample's shape, dtype and kind of values, new under every seed."""
    shape, dtype = literal(list(sample.shape), str), sample.dtype
    if dtype is torch.bool or dtype.is_complex:
        return _packed(sample)
    if not dtype.is_floating_point:
        low, high = (int(sample.min()), int(sample.max())) if sample.numel() else (0, 0)
        return f"torch.randint({low}, {high + 1}, {shape}, dtype={dtype})"
    values = sample.double()
    if not bool(torch.isfinite(values).all()) or (sample.numel() > 1 and _is_table(sample)):
        return _packed(sample)
    return _typed(_numbers(values, shape), dtype)


def _numbers(values: torch.Tensor, shape: str) -> str:
    low, high = (float(values.min()), float(values.max())) if values.numel() else (0.0, 0.0)
    if low == high:
        return f"torch.randn({shape}) * {SPREAD} + {low:.6g}"
    if low >= 0.0:
        return f"torch.rand({shape}) * {high - low:.6g} + {low:.6g}"
    return f"torch.randn({shape}) * {float(values.std(correction=0)):.6g} + {float(values.mean()):.6g}"


def _is_table(sample: torch.Tensor) -> bool:
    """Whether a tensor holds a few different values, as masks do; one that is all the same is a fresh weight."""
    return not is_continuous(sample) and int(torch.unique(sample).numel()) > 1 and sample.numel() > 64


def _typed(text: str, dtype: torch.dtype) -> str:
    return text if dtype is torch.float32 else f"({text}).to({dtype})"


def _packed(sample: torch.Tensor) -> str:
    """The very values. Raises `NotAProblemError` where they are too many."""
    flat = sample.detach().cpu().contiguous().reshape(-1)
    if flat.nbytes > MOST_RAW:
        raise NotAProblemError(f"it reads a table of {flat.nbytes >> 20} MiB that cannot be drawn at random")
    text = base64.b85encode(zlib.compress(bytes(flat.view(torch.uint8).tolist()), 9)).decode()
    if len(text) > MOST_PACKED:
        raise NotAProblemError("it reads a mask or table that cannot be drawn at random and is too large to write down")
    return f"_exact({text!r}, {sample.dtype}, {literal(list(sample.shape), str)})"


__all__ = ["NotAProblemError", "Piece", "lines_of", "piece_of", "problem_text"]
