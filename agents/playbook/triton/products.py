"""Templates for matrix products and the pointwise operators after them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agents.playbook.triton.kernels import products as kernels
from agents.playbook.triton.module import candidate, filled, settled
from agents.playbook.triton.patterns import rows
from agents.playbook.triton.patterns.pointwise import Operand
from agents.playbook.triton.patterns.product_graph import Product, product
from agents.playbook.triton.patterns.rows import RowTail
from agents.playbook.triton.template import Template, Variant
from services.domain.problems import ProblemAnalysis

UNITS = 132
"""Multiprocessors of the card that the lists of sizes are written for; elsewhere the search decides."""
NARROW = 4
"""Columns up to which a product is a few matrix-vector products."""
APART_FROM = 256
"""Inner sizes from which on float32 factors may be taken apart beforehand."""

Tile = tuple[int, ...]

WIDE_16: tuple[Tile, ...] = (
    (128, 256, 64, 8, 3), (128, 128, 64, 8, 4), (128, 128, 64, 4, 4), (256, 128, 64, 8, 3),
    (128, 256, 64, 8, 4), (64, 256, 64, 4, 4), (128, 64, 64, 4, 4), (64, 64, 64, 4, 5),
)  # fmt: skip
SMALL_16: tuple[Tile, ...] = (
    (64, 64, 64, 4, 4), (64, 128, 64, 4, 4), (128, 64, 64, 4, 4), (32, 64, 128, 4, 4),
    (64, 32, 128, 4, 4), (32, 32, 128, 2, 5), (16, 64, 128, 4, 4), (128, 128, 64, 4, 4),
)  # fmt: skip
WIDE_32: tuple[Tile, ...] = (
    (128, 128, 32, 8, 3), (128, 128, 32, 8, 4), (64, 128, 32, 4, 4), (128, 64, 32, 4, 4),
    (128, 256, 32, 8, 2), (128, 128, 16, 8, 4), (128, 64, 32, 8, 3),
)  # fmt: skip
SMALL_32: tuple[Tile, ...] = (
    (64, 64, 32, 4, 4), (64, 128, 32, 4, 3), (128, 64, 32, 4, 3), (32, 64, 64, 4, 3),
    (64, 32, 64, 4, 3), (32, 32, 64, 4, 4), (16, 64, 64, 4, 4),
)  # fmt: skip
DESCRIBED_16: tuple[Tile, ...] = (
    (128, 256, 64, 8, 3, 1, 2), (128, 256, 64, 8, 4, 0, 2), (128, 256, 64, 8, 3, 0, 1), (128, 128, 64, 8, 4, 1, 1),
    (256, 128, 64, 8, 3, 1, 2), (128, 128, 64, 4, 4, 1, 1), (256, 128, 64, 8, 4, 0, 2), (128, 128, 128, 8, 3, 0, 2),
)  # fmt: skip
"""(rows, columns, inner, warps, stages, whether loops are flattened, parts of the result)."""
APART: tuple[Tile, ...] = (
    (128, 128, 32, 8, 3), (128, 128, 32, 8, 2), (128, 256, 32, 8, 2), (256, 128, 32, 8, 2),
    (64, 128, 32, 4, 3), (128, 64, 32, 4, 3), (64, 128, 64, 4, 2), (128, 128, 64, 8, 1),
)  # fmt: skip
"""(rows, columns, inner, warps, stages), the best guess first; products stay below 227 KiB of shared memory."""


@dataclass(frozen=True, kw_only=True)
class _Way:
    """One algorithm: its kernels' texts and the settings that are searched."""

    name: str
    reason: str
    texts: tuple[str, ...]
    settings: tuple[str, ...]
    """Values of `TILE`."""
    names: str
    """The module constants that a value of `TILE` sets, in its order."""


def variants(analysis: ProblemAnalysis) -> tuple[Variant, ...]:
    """The ways to write a product, most promising first; none for graphs that are no single product."""
    found = product(analysis)
    if found is None:
        return ()
    return tuple(
        Variant(name=way.name, reason=way.reason, source=_source(analysis, found, way)) for way in _ways(found)
    )


def _ways(found: Product) -> list[_Way]:
    if found.columns <= NARROW:
        return [_vector(found), *([_split(found)] if found.inner >= 1024 else [_tiled(found)])]
    ways = [_tiled(found)]
    if found.dtype == "float32" and found.inner >= APART_FROM and min(found.rows, found.columns) >= 64:
        ways.append(_apart())
    few = _tiles(found, 128, 128) < UNITS
    if found.dtype != "float32" and found.batch == 1 and found.triangle is None and not few:
        ways.append(_persistent())
    if few and found.inner >= 1024 and found.triangle is None:
        ways.insert(0 if found.inner >= 8192 else 1, _split(found))
    return ways


def _tiles(found: Product, rows: int, columns: int) -> int:
    return found.batch * -(-found.rows // rows) * -(-found.columns // columns)


def _fitting(found: Product) -> tuple[Tile, ...]:
    """Tile sizes for the traced sizes: small ones where large ones would leave multiprocessors idle."""
    wide, small = (WIDE_32, SMALL_32) if found.dtype == "float32" else (WIDE_16, SMALL_16)
    few = _tiles(found, 128, 128) < UNITS or min(found.rows, found.columns) <= 64
    inner = max(16, 1 << max(0, found.inner - 1).bit_length())
    chosen = dict.fromkeys((m, n, min(k, inner), warps, stages) for m, n, k, warps, stages in (small if few else wide))
    return tuple(chosen)


def _exactness(found: Product) -> str:
    """How `tl.dot` multiplies: float32 by three TF32 products, 16-bit factors exactly anyway."""
    return "tf32x3" if found.dtype == "float32" else "ieee"


def _settings(tiles: Sequence[Tile], *last: str) -> tuple[str, ...]:
    return tuple(",".join([*map(str, tile), *last]) for tile in tiles)


def _tiled(found: Product) -> _Way:
    settings = _settings(_fitting(found), _exactness(found))
    if found.dtype == "float32":
        settings += _settings([(128, 128, 32, 8, 3)], "bf16x6")
        settings += _settings([(64, 64, 32, 4, 3), (128, 64, 16, 8, 3)], "ieee")
    return _Way(
        name="tiled",
        reason="tiles in registers, grouped for L2; loses where there are fewer tiles than multiprocessors",
        texts=(kernels.POSITION, kernels.TILE_SUM, kernels.TILED),
        settings=settings,
        names="BLOCK_M, BLOCK_N, BLOCK_K, WARPS, STAGES, PRECISION",
    )


def _persistent() -> _Way:
    tiled = kernels.TILED.replace("def product(", "def tiled_product(")
    return _Way(
        name="persistent",
        reason="as many programs as multiprocessors take tile after tile, and descriptors bring their blocks; "
        "loses with few tiles, and where rows are no multiples of 16 bytes",
        texts=(kernels.POSITION, kernels.TILE_SUM, f"UNITS = {UNITS}\n", tiled, kernels.DESCRIBED),
        settings=_settings(DESCRIBED_16, "ieee"),
        names="BLOCK_M, BLOCK_N, BLOCK_K, WARPS, STAGES, FLAT, PARTS, PRECISION",
    )


def _split(found: Product) -> _Way:
    tiles = _tiles_to_split(found)
    settings = []
    for tile in tiles:
        full = max(1, UNITS // max(1, _tiles(found, tile[0], tile[1])))
        most = max(1, found.inner // (4 * tile[2]))
        splits = dict.fromkeys(min(most, full * waves) for waves in (1, 2, 4))
        settings += [",".join(map(str, (*tile, _exactness(found), count))) for count in splits]
    return _Way(
        name="split_k",
        reason="the inner dimension is divided among programs and the sums are added in order; "
        "loses where the output is large against the inner dimension",
        texts=(kernels.POSITION, kernels.TILE_SUM, kernels.SPLIT),
        settings=tuple(settings),
        names="BLOCK_M, BLOCK_N, BLOCK_K, WARPS, STAGES, PRECISION, SPLITS",
    )


def _tiles_to_split(found: Product) -> tuple[Tile, ...]:
    """Large tiles first where the output has room for one: they read each factor the fewest times."""
    if found.columns <= NARROW:
        return (64, 16, 64, 4, 4), (32, 16, 128, 4, 4)
    large = WIDE_32[0] if found.dtype == "float32" else (128, 128, 64, 8, 4)
    return ((large,) if min(found.rows, found.columns) >= 128 else ()) + _fitting(found)[:3]


def _apart() -> _Way:
    return _Way(
        name="two_parts",
        reason="float32 factors are taken apart into TF32 parts once instead of in every tile, and tensor cores read "
        "them from shared memory; loses where the product is small against its factors",
        texts=(kernels.POSITION, kernels.PARTS),
        settings=_settings(APART),
        names="BLOCK_M, BLOCK_N, BLOCK_K, WARPS, STAGES",
    )


def _vector(found: Product) -> _Way:
    tiles: tuple[Tile, ...] = ((1, 4096, 8, 2), (1, 8192, 16, 2), (1, 2048, 4, 3), (2, 2048, 8, 2), (4, 1024, 8, 3))
    tiles += ((8, 512, 4, 3), (16, 128, 4, 3), (64, 64, 8, 3), (128, 32, 4, 3))
    inner = max(16, 1 << max(0, found.inner - 1).bit_length())
    chosen = dict.fromkeys((m, min(k, inner), warps, stages) for m, k, warps, stages in tiles)
    return _Way(
        name="vector",
        reason="rows are read once at memory speed, without tensor cores; loses with many columns or few long rows",
        texts=(kernels.VECTOR,),
        settings=_settings(tuple(chosen)),
        names="BLOCK_M, BLOCK_K, WARPS, STAGES",
    )


def _source(analysis: ProblemAnalysis, found: Product, way: _Way) -> str:
    operands = _operands(found)
    body = filled(
        "\n".join(way.texts),
        skip=_skip(found),
        finish=_finish(found, operands),
        result=_result(found, operands),
        **_passed(operands, "sb sm sn"),
    )
    functions = found.chain.functions
    forward = [*found.statements, *_brought(operands), _call("product", operands)]
    if found.tail is not None:
        later = found.tail.chain.operands
        functions = found.tail.chain.functions
        body += filled(rows.KERNEL, finish=_finish_rows(found.tail), **_passed(later, "sb sm sn"))
        forward.append(
            f"z = torch.empty({found.tail.shape}, dtype=torch.{found.tail.chain.spec.dtype}, device=y.device)"
        )
        forward += [*_brought(later), _call("rows", later, "y3", "z")]
    result = "y" if found.tail is None else "z"
    return candidate(
        analysis,
        title=f"A matrix product with what follows it, in Triton, written by the playbook ({way.name}).",
        kernels=f"{settled(way.names)}\n\n{functions}\n{body}",
        forward=[*forward, f"return ({result},)" if analysis.output_is_tuple else f"return {result}"],
        tunables={"TILE": way.settings},
        parameters=found.parameters,
    )


def _passed(operands: Sequence[Operand], strides: str) -> dict[str, str]:
    """How a kernel and its host function take operands: the places of their texts."""
    names = [item.name for item in operands]
    suffixes = strides.split()
    return {
        "pointers": "".join(f" {name}_ptr," for name in names),
        "strides": "".join(f" {name}_{suffix}," for name in names for suffix in suffixes),
        "arguments": "".join(f", {name}" for name in names),
        "arguments_in": "".join(f" {name}," for name in names),
        "strides_in": "".join(f" *{name}.stride()," for name in names),
    }


def _call(function: str, operands: Sequence[Operand], *first: str) -> str:
    return f"{function}({', '.join([*(first or ('a', 'b', 'y3')), *(item.name for item in operands)])})"


def _operands(found: Product) -> list[Operand]:
    own = [Operand(name="c", source=found.addend)] if found.addend is not None else []
    return [*own, *found.chain.operands]


def _brought(operands: Sequence[Operand]) -> list[str]:
    """Operands as views of the product's three-dimensional form."""
    return [f"{item.name} = {item.source.text}.expand(y.shape).reshape(y3.shape)" for item in operands]


def _skip(found: Product) -> list[str]:
    """No product where the whole tile lies outside of the triangle."""
    if found.triangle is None:
        return []
    last_row, last_column = "tile_m * BLOCK_M + BLOCK_M - 1", "tile_n * BLOCK_N + BLOCK_N - 1"
    kept = {
        "triu": f"{last_column} >= tile_m * BLOCK_M + {found.diagonal}",
        "tril": f"tile_n * BLOCK_N <= {last_row} + {found.diagonal}",
    }[found.triangle]
    return [f"end = tl.where({kept}, end, 0)"]


def _finish(found: Product, operands: Sequence[Operand]) -> list[str]:
    """From the sums to the output: operands are loaded, the chain is computed, the tile is stored."""
    at = "batch * y_sb + rows.to(tl.int64)[:, None] * y_sm + columns.to(tl.int64)[None, :] * y_sn"
    return [*_result(found, operands), f"tl.store(y_ptr + {at}, result, mask=inside)"]


def _result(found: Product, operands: Sequence[Operand]) -> list[str]:
    """The statements up to `result`, the values that are stored."""
    lines = []
    for item in operands:
        name = item.name
        at = f"batch * {name}_sb + rows.to(tl.int64)[:, None] * {name}_sm + columns.to(tl.int64)[None, :] * {name}_sn"
        lines.append(f"{name} = tl.load({name}_ptr + {at}, mask=inside, other=0){item.load}")
    total = "acc" if found.scale == "1.0" else f"acc * {found.scale}"
    if found.addend is not None:
        total += " + c" if found.addend_scale == "1.0" else f" + c * {found.addend_scale}"
    if total != "acc":
        lines.append(f"acc = {total}")
    return [*lines, *found.chain.statements, f"result = {found.chain.result}.to(y_ptr.dtype.element_ty)"]


def _finish_rows(tail: RowTail) -> list[str]:
    """From a row of the product to the output: operands are loaded, the chain is computed, the result is stored."""
    lines = []
    for item in tail.chain.operands:
        at = f"batch * {item.name}_sb + row * {item.name}_sm + columns.to(tl.int64) * {item.name}_sn"
        lines.append(f"{item.name} = tl.load({item.name}_ptr + {at}, mask=inside, other=0){item.load}")
    lines += tail.chain.statements
    result = f"({tail.chain.result}).to(z_ptr.dtype.element_ty)"
    if tail.full:
        return [*lines, f"tl.store(z_ptr + place * z_sm + columns, {result}, mask=inside)"]
    return [*lines, f"tl.store(z_ptr + place * z_sm, {result})"]


MATMUL = Template(name="matmul", variants=variants)
