"""What follows a convolution in its own kernel: the pointwise operators up to the graph's output."""

from __future__ import annotations

from collections.abc import Iterator

from agents.playbook.triton.patterns.pointwise import Chain, Operand, follow
from agents.playbook.triton.steps import NamedGraph
from services.domain.problems import Operator, TensorSpec

AXES = ("n", "c", "d", "h", "w")
"""Batch, channel, depth, height and width, as the kernels count them."""
_PLACES = {"n": "batch", "d": "out_d", "h": "out_h", "w": "out_w"}


def following(graph: NamedGraph, operator: Operator) -> Chain | None:
    """The pointwise operators from a convolution to the graph's output; None where something else stands there."""
    return follow(graph.analysis, operator.outputs[0].name, value="sums")


def places(chain: Chain | None) -> dict[str, list[str] | str]:
    """What goes into the kernels' text for a chain, or for none."""
    loads = [line for operand in chain.operands for line in _loaded(operand, chain.spec)] if chain else []
    return {
        "pointers": pointers(chain),
        "epilogue": [*loads, *(chain.statements if chain else ())],
        "result": chain.result if chain else "sums",
        "out_type": out_type(chain, "x"),
        "functions": [line for text in functions(chain) for line in text.splitlines()],
    }


def pointers(chain: Chain | None) -> str:
    """The kernels' arguments for the tensors that a chain reads: each with its strides along `AXES`."""
    operands = chain.operands if chain is not None else ()
    return "".join(f" {one.name}_ptr, {', '.join(f'{one.name}_{axis}' for axis in AXES)}," for one in operands)


def functions(chain: Chain | None) -> tuple[str, ...]:
    """Definitions of what a chain calls."""
    return (chain.functions,) if chain is not None and chain.functions else ()


def out_type(chain: Chain | None, x: str) -> str:
    """The output's dtype in the host's code; without a chain that of the input named `x`."""
    return f"torch.{chain.spec.dtype}" if chain is not None else f"{x}.dtype"


def laned(chain: Chain) -> Iterator[str]:
    """A chain in a kernel whose lanes are columns: `batch`, `channel`, `at_d`, `out_row` and `at_w` say where."""
    places = {"n": "batch", "c": "channel", "d": "at_d", "h": "out_row", "w": "at_w"}
    for operand in chain.operands:
        name = operand.name
        at = " + ".join(f"{places[axis]} * {name}_{axis}" for axis in AXES)
        other = "" if operand.source.stored == "bool" else ", other=0.0"
        yield f"{name} = tl.load({name}_ptr + {at}, mask=is_out{other}){operand.load}"
    yield from chain.statements


def extras(chain: Chain | None) -> str:
    """The tensors that a chain reads, as the last argument of the host function."""
    texts = [operand.source.text for operand in chain.operands] if chain is not None else []
    return f"({', '.join(texts)},)" if texts else "()"


def _loaded(operand: Operand, output: TensorSpec) -> Iterator[str]:
    """A load that varies along those dimensions alone along which the operand does."""
    name, varying = operand.name, _varying(operand.source.shape, output.shape)
    terms = [f"{_PLACES[axis]} * {name}_{axis}" for axis in varying if axis != "c"]
    at, live = [], []
    if terms:
        at.append(f"({' + '.join(terms)})[:, None]")
        live.append("live[:, None]")
    if "c" in varying:
        at.append(f"(channel * {name}_c)[None, :]")
        live.append("is_channel[None, :]")
    if not at:
        yield f"{name} = tl.load({name}_ptr){operand.load}"
        return
    other = "" if operand.source.stored == "bool" else ", other=0.0"
    yield f"{name} = tl.load({name}_ptr + {' + '.join(at)}, mask={' & '.join(live)}{other}){operand.load}"


def _varying(shape: tuple[int, ...], output: tuple[int, ...]) -> tuple[str, ...]:
    """Dimensions along which an operand has more than one place, or may have where the output has one as traced."""
    axes = ("n", "c", *AXES[7 - len(output) :])
    sizes = (0,) * (len(output) - len(shape)) + shape
    return tuple(
        axis for axis, own, other in zip(axes, sizes, output, strict=True) if own > 1 or (own == 1 and other == 1)
    )
