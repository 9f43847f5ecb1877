"""Small problems of every kind the playbook claims to cover, at awkward sizes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

Draw = Callable[[], list[object]]


@dataclass(frozen=True)
class Case:
    """A problem with the inputs it is traced with and further ones."""

    name: str
    module: nn.Module
    inputs: Draw
    others: tuple[Draw, ...] = ()


class Function(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., object]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: object) -> object:
        return self.function(*args)


def tensors(*shapes: tuple[int, ...], scale: float = 1.0, dtype: torch.dtype = torch.float32) -> Draw:
    def draw() -> list[object]:
        generator = torch.Generator().manual_seed(len(shapes) + sum(shapes[0]))
        return [(torch.randn(shape, generator=generator) * scale).to(dtype) for shape in shapes]

    return draw


def case(name: str, function: Callable[..., object] | nn.Module, *draws: Draw) -> Case:
    module = function if isinstance(function, nn.Module) else Function(function)
    return Case(name, module.eval(), draws[0], draws[1:])


ROWS = (tensors((5, 67)), tensors((3, 130), scale=30.0), tensors((1, 2), scale=1e-3))
CUBES = (tensors((3, 5, 67)), tensors((2, 300, 9), scale=10.0), tensors((1, 1, 1)))
PAIRS = (tensors((5, 67), (5, 67)), tensors((9, 300), (9, 300), scale=20.0))
IMAGES = (tensors((2, 8, 5, 7)), tensors((3, 8, 16, 3), scale=5.0))

ACTIVATIONS: dict[str, Callable[..., object]] = {
    "relu": torch.relu,
    "leaky_relu": lambda x: F.leaky_relu(x, 0.02),
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "silu": F.silu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "selu": F.selu,
    "elu": lambda x: F.elu(x, 0.7),
    "celu": lambda x: F.celu(x, 0.7),
    "hardsigmoid": F.hardsigmoid,
    "hardswish": F.hardswish,
    "hardtanh": lambda x: F.hardtanh(x, -0.3, 0.8),
    "relu6": F.relu6,
    "softplus": F.softplus,
    "softsign": F.softsign,
    "mish": F.mish,
    "logsigmoid": F.logsigmoid,
    "hardshrink": F.hardshrink,
    "softshrink": F.softshrink,
    "threshold": lambda x: F.threshold(x, 0.1, 20.0),
    "newgelu": lambda x: 0.5 * x * (1.0 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * torch.pow(x, 3.0)))),
    "glu": lambda x: F.glu(torch.cat((x, x + 1), -1)),
    "log_abs": lambda x: torch.log(x.abs()) + torch.log1p(x.abs()) + torch.expm1(x.clamp(max=5)),
    "roots": lambda x: x.abs().sqrt() + torch.rsqrt(x * x + 1) + torch.reciprocal(x * x + 2) + torch.pow(x, 2),
    "erf": lambda x: torch.erf(x) - torch.sin(x) * torch.cos(x),
    "exp": lambda x: torch.exp(-x.abs()) + torch.floor(x) + torch.ceil(x) - torch.round(x) + torch.sign(x),
    "where": lambda x: torch.where(x > 0.5, x * 2, -x).masked_fill(x < -1, 7.0),
    "clamp": lambda x: torch.clamp(x, -0.5, 0.5) + torch.maximum(x, x * 2) - torch.minimum(x, x * x),
    "ints": lambda x: (x.to(torch.int64) * 3 - 1).to(torch.float32) / 2,
    "logic": lambda x: (x > 0) & ~(x > 1) | (x < -1),
    "power": lambda x: torch.pow(x.abs() + 0.1, 1.7) + torch.fmod(x, 0.7),
    "double": lambda x: torch.exp(x.double() * 0.1) + 1,
    "special": lambda x: torch.isnan(x) | torch.isinf(x / 0),
}

REDUCTIONS: dict[str, Callable[..., object]] = {
    "sum0": lambda x: x.sum(0),
    "sum1": lambda x: x.sum(1),
    "sum2": lambda x: x.sum(-1, keepdim=True),
    "sum_all": lambda x: x.sum(),
    "mean1": lambda x: x.mean(1),
    "mean12": lambda x: x.mean((1, 2)),
    "mean02": lambda x: x.mean((0, 2), keepdim=True),
    "max1": lambda x: torch.max(x, dim=1)[0],
    "min2": lambda x: torch.min(x, dim=2),
    "amax": lambda x: x.amax((0, 1)),
    "amin_all": lambda x: x.min(),
    "prod": lambda x: torch.prod(x * 0.1 + 1, dim=1),
    "argmax1": lambda x: torch.argmax(x, dim=1),
    "argmin2": lambda x: torch.argmin(x, dim=2),
    "argmax_all": lambda x: torch.argmax(x),
    "var_all": lambda x: x.var(correction=0),
    "std1": lambda x: x.std(1, correction=0),
    "var2": lambda x: torch.var(x + 1000, -1, unbiased=False),
    "var_mean": lambda x: torch.var_mean(x, (0, 1), correction=0),
    "logsumexp": lambda x: torch.logsumexp(x, 2),
    "logsumexp1": lambda x: torch.logsumexp(x, 1),
    "norm2": lambda x: torch.norm(x, p=2, dim=1, keepdim=True),
    "l1": lambda x: x / torch.sum(torch.abs(x), dim=1, keepdim=True),
    "l2": lambda x: x / torch.norm(x, p=2, dim=1, keepdim=True),
    "frobenius": lambda x: x / torch.norm(x, p="fro"),
    "norms": lambda x: x.norm(3, 2) + x.norm(float("inf"), 2) + x.norm(1, 2) + x.norm(0, 2),
    "any_all": lambda x: (x > 1).any(1) & (x < 50).all(1),
    "softmax2": lambda x: torch.softmax(x, 2),
    "softmax1": lambda x: torch.softmax(x, 1),
    "log_softmax": lambda x: torch.log_softmax(x, -1),
    "log_softmax0": lambda x: torch.log_softmax(x, 0),
    "masked_rows": lambda x: torch.softmax(x.masked_fill(x > 0, float("-inf")), -1),
    "norm_twice": lambda x: torch.softmax(x - x.mean(-1, keepdim=True), -1).sum(1),
    "cumsum1": lambda x: torch.cumsum(x, 1),
    "cumsum2": lambda x: torch.cumsum(x, 2),
    "cumprod": lambda x: torch.cumprod(x * 0.1 + 1, 2),
    "cumsum_reverse": lambda x: torch.cumsum(x.flip(1), 1).flip(1),
    "cumsum_reverse2": lambda x: torch.cumsum(x.flip(2), 2).flip(2),
    "cumsum_exclusive": lambda x: torch.cumsum(
        torch.cat((torch.zeros_like(x.select(1, 0).unsqueeze(1)), x), dim=1)[:, :-1], dim=1
    ),
    "cumsum_masked": lambda x: torch.cumsum(x * (x > 0), 2) * 2 + 1,
    "cumsum_mean": lambda x: (torch.cumsum(x, 2) / x.abs().sum()).mean(2),
    "transposed": lambda x: torch.relu(x.transpose(1, 2)) + 1,
    "transposed_softmax": lambda x: torch.softmax(x.transpose(1, 2), -1),
    "flattened": lambda x: torch.tanh(x.reshape(x.shape[0], -1)).sum(1),
    "sliced": lambda x: x[:, :1] * 2 + x[:, -1:, :],
    "stacked": lambda x: torch.stack((x, x * 2), 1).sum(2),
    "several": lambda x: (x * 2, x.sum(1), x),
    "centred": lambda x: x - x.mean((0, 1), keepdim=True),
}


def cross_entropy_inputs(*shape: int) -> Draw:
    def draw() -> list[object]:
        generator = torch.Generator().manual_seed(7)
        target = torch.randint(0, shape[1], (shape[0], *shape[2:]), generator=generator)
        target.view(-1)[0] = -100
        return [torch.randn(shape, generator=generator) * 5, target]

    return draw


def probabilities(*shape: int) -> Draw:
    def draw() -> list[object]:
        a, b = tensors(shape, shape)()
        assert isinstance(a, Tensor)
        assert isinstance(b, Tensor)
        return [torch.softmax(a, -1), torch.softmax(b, -1)]

    return draw


PAIR_LOSSES: dict[str, Callable[..., object]] = {
    "mse": F.mse_loss,
    "l1_loss": F.l1_loss,
    "huber": lambda a, b: F.huber_loss(a, b, delta=0.7),
    "smooth_l1": lambda a, b: F.smooth_l1_loss(a, b, beta=0.5, reduction="sum"),
    "hinge": lambda a, b: torch.mean(torch.clamp(1 - a * b.sign(), min=0)),
    "cosine": lambda a, b: torch.mean(1 - F.cosine_similarity(a, b, dim=1)),
    "triplet": lambda a, b: F.triplet_margin_loss(a, b, b * 0.5 + 1),
    "bce_logits": lambda a, b: F.binary_cross_entropy_with_logits(a, torch.sigmoid(b)),
}


def losses() -> list[Case]:
    return [
        case("kl", lambda a, b: F.kl_div(a.log(), b, reduction="batchmean"), probabilities(5, 67), probabilities(8, 9)),
        case("bce", lambda a, b: F.binary_cross_entropy(torch.sigmoid(a), torch.sigmoid(b)), PAIRS[0]),
        case("cross_entropy", F.cross_entropy, cross_entropy_inputs(33, 19), cross_entropy_inputs(2, 300)),
        case(
            "cross_entropy_2d",
            lambda a, t: (F.cross_entropy(a, t), F.nll_loss(a, t, reduction="sum")),
            cross_entropy_inputs(3, 7, 5),
            cross_entropy_inputs(2, 30, 9),
        ),
    ]


def sized() -> list[Case]:
    """Numbers that tracing takes from sizes."""
    return [
        case("over_rows", lambda x: x / x.shape[0] + x.shape[1], tensors((5, 67)), tensors((9, 20))),
        case("over_root", lambda x: torch.softmax(x * x.shape[-1] ** -0.5, -1), tensors((6, 64)), tensors((3, 130))),
        case("over_elements", lambda a, b: ((a - b) ** 2).sum() / a.numel(), PAIRS[0], PAIRS[1]),
    ]


def with_state(module: nn.Module) -> nn.Module:
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for value in [*module.parameters(), *(item for item in module.buffers() if item.is_floating_point())]:
            value.copy_(torch.rand(value.shape, generator=generator) + 0.5)
    return module


class ImageNorms(nn.Module):
    """Everything over (samples, channels, height, width)."""

    def __init__(self) -> None:
        super().__init__()
        self.parts = nn.ModuleList(
            [nn.GroupNorm(4, 8), nn.InstanceNorm2d(8, affine=True), nn.BatchNorm2d(8), nn.PReLU(8)]
        )

    def forward(self, x: Tensor) -> list[Tensor]:
        rms = x / torch.sqrt(torch.mean(x**2, dim=1, keepdim=True) + 1e-5)
        return [rms, *(part(x) for part in self.parts)]


def norms() -> list[Case]:
    return [
        case("images", with_state(ImageNorms()), *IMAGES),
        case("layer_norm", with_state(nn.LayerNorm(67)), tensors((5, 67)), tensors((9, 67), scale=9)),
        case("layer_norm_2", with_state(nn.LayerNorm((5, 7))), tensors((2, 8, 5, 7))),
        case("rms_norm", with_state(nn.RMSNorm(67)), tensors((5, 67)), tensors((129, 67))),
        case("norm_gelu", nn.Sequential(with_state(nn.LayerNorm(67)), nn.GELU()), tensors((5, 67)), tensors((1, 67))),
        case("mv", torch.mv, tensors((5, 67), (67,)), tensors((130, 9), (9,))),
        case("matmul_column", torch.matmul, tensors((5, 67), (67, 1)), tensors((31, 9), (9, 1))),
        case("addmv", torch.addmv, tensors((5,), (5, 67), (67,))),
        case("linear_1", with_state(nn.Linear(67, 1)), tensors((5, 67))),
        case("bias_rows", lambda x, b: F.silu(x + b), tensors((5, 67), (67,)), tensors((3, 9), (9,))),
        case("bias_columns", lambda x, b: torch.softmax(x * b, -1), tensors((5, 67), (5, 1)), tensors((3, 9), (3, 1))),
        case("outer", lambda a, b: torch.tanh(a * b), tensors((5, 1), (1, 67)), tensors((33, 1), (1, 2))),
        case("scalar_argument", lambda x, s: x * s + 1, lambda: [torch.ones(3, 4), 2.5]),
        case("zero_dimensional", lambda x: torch.exp(x) + 1, lambda: [torch.tensor(0.5)]),
        case("vector", lambda x: torch.cumsum(x, 0) + x.sum() + x.max(), tensors((67,)), tensors((1000,))),
    ]


def dtypes() -> list[Case]:
    found = []
    for dtype in (torch.float64, torch.bfloat16, torch.float16):
        functions = (F.gelu, lambda x: torch.softmax(x, -1), lambda x: x.sum(1) * 2)
        name = str(dtype).removeprefix("torch.")
        found.append(case(name, _together(list(functions)), tensors((5, 67), dtype=dtype)))
    whole = tensors((5, 67), scale=9, dtype=torch.int64)
    integers = (
        lambda x: (x * 3 - x.sum(1, keepdim=True)).cumsum(0),
        lambda x: x.to(torch.float32).mean(0) + x.max(),
        lambda x: torch.where(x > 0, x, x * 2) * (x != 3),
    )
    found.append(case("int64", _together(list(integers)), whole))
    return found


def bundle(prefix: str, functions: dict[str, Callable[..., object]], draws: tuple[Draw, ...]) -> list[Case]:
    """Several functions of the same input in one problem: tracing is what costs, and fusion gets more to do."""
    names = list(functions)
    found = []
    for start in range(0, len(names), 12):
        group = [functions[name] for name in names[start : start + 12]]
        found.append(case(f"{prefix}_{names[start]}", _together(group), *draws))
    return found


def _together(group: list[Callable[..., object]]) -> Callable[..., object]:
    def forward(*args: object) -> object:
        results: list[object] = []
        for function in group:
            value = function(*args)
            results += value if isinstance(value, tuple | list) else [value]
        return tuple(results)

    return forward


def grids() -> list[Case]:
    """Values from the other side of a border, by index, and distances."""

    def rolls(x: Tensor) -> tuple[Tensor, ...]:
        return x.roll(1, 0) - x.roll(-1, 0), x.roll((1, -1), (0, 1)), torch.roll(x, -1, -1).sum(1)

    def by_index(table: Tensor, x: Tensor, rows: Tensor, places: Tensor) -> tuple[Tensor, ...]:
        return (
            table[rows] * 2.0,
            (x[places] * places).sum(1),
            table[places].amax(2),
            table.index_select(0, places[:, 0]),
        )

    def draw(rows: int, width: int, count: int) -> Draw:
        def drawn() -> list[object]:
            generator = torch.Generator().manual_seed(rows)
            floats = [torch.randn(rows, width, generator=generator), torch.randn(rows, generator=generator)]
            signed = torch.randint(-rows, rows, (count,), generator=generator)
            return [*floats, signed, torch.randint(rows, (count, 9), generator=generator)]

        return drawn

    def distances(one: Tensor, other: Tensor) -> tuple[Tensor, ...]:
        return torch.cdist(one, other), torch.cdist(one, other, p=1.0).sum(1)

    pairs = (tensors((17, 3), (29, 3)), tensors((70, 3), (5, 3), scale=9.0))
    return [
        case("rolls", rolls, tensors((5, 67)), tensors((3, 130)), tensors((2, 2)), tensors((1, 1))),
        case("by_index", by_index, draw(40, 7, 23), draw(9, 5, 64)),
        case("distances", distances, *pairs),
    ]


PLANES: dict[str, Callable[..., object]] = {
    "average": lambda x: F.silu(F.avg_pool2d(x, 4)),
    "average_apart": lambda x: F.avg_pool2d(x, (2, 3), stride=(3, 2)),
    "average_padded": lambda x: F.avg_pool2d(x, 3, stride=2, padding=1),
    "average_divided": lambda x: F.avg_pool2d(x, 3, stride=1, divisor_override=5),
    "largest": lambda x: F.max_pool2d(x, 2),
    "largest_padded": lambda x: F.max_pool2d(F.relu(x) - 0.5, 3, stride=2, padding=1),
    "largest_dilated": lambda x: F.max_pool2d(x, (3, 2), stride=1, padding=(1, 0), dilation=(2, 3)),
    "largest_of_rows": lambda x: F.max_pool1d(x.flatten(1, 2), 5, 2, 2),
    "one_each": lambda x: F.adaptive_avg_pool2d(x, 1) + F.avg_pool2d(x, 4).sum((2, 3), keepdim=True),
}


def pools() -> list[Case]:
    """Windows, of sizes that leave a rest."""
    planes = (tensors((2, 3, 17, 19)), tensors((1, 5, 9, 70), scale=9.0), tensors((3, 1, 8, 8)))
    volumes = (tensors((2, 3, 7, 8, 21)), tensors((1, 2, 4, 4, 4)))

    def of_volumes(x: Tensor) -> tuple[Tensor, ...]:
        return F.avg_pool3d(x, 2, padding=1), F.max_pool3d(x, (1, 3, 3), 2, (0, 1, 1)).amax(2)

    halves = case(
        "half_pools", lambda x: F.avg_pool2d(x, 3) + F.max_pool2d(x, 3), tensors((2, 9, 70), dtype=torch.bfloat16)
    )
    return [*bundle("pool", PLANES, planes), case("volumes", of_volumes, *volumes), halves]


def table() -> list[Case]:
    """Every case."""
    found = bundle("rows", ACTIVATIONS, ROWS) + bundle("cube", REDUCTIONS, CUBES)
    pairs = case("pairs", _together(list(PAIR_LOSSES.values())), *PAIRS)
    return [*found, pairs, *losses(), *sized(), *norms(), *dtypes(), *grids(), *pools()]
