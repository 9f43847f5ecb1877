"""Asks TorchInductor for its code. Runs the problem's own code: for the baseline process only.

On the CPU nothing is compiled: the text is taken as it is about to be written down, and the compilation is abandoned.
On a GPU the code runs once, so that the compiler's own search has found its configurations.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from unittest.mock import patch

import torch

from workers.referee.compiler_draft.graph import CompiledGraph, KernelConfig, NoDraftError, StateTensor, TensorArgument

TUNED: dict[str, Any] = {"max_autotune": True, "coordinate_descent_tuning": True, "triton.multi_kernel": 1}
"""The strongest options of torch.compile that make no CUDA graphs, as measured on 14 operators on an H200."""
OPTIONS: dict[str, dict[str, Any]] = {
    "compile": {},
    "max-autotune-no-cudagraphs": {"max_autotune": True, "coordinate_descent_tuning": True},
    "tuned": TUNED,
}
"""The compiler's options, by the name of a way of compiling; the modes of torch.compile stand for options."""
_ARGUMENT = re.compile(r"L\['(\w+)'\]")
_SIZE = re.compile(r"L\['(\w+)'\]\.size\(\)\[(\d+)\]")
_STATE = re.compile(r"L\['self'\]((?:\._(?:modules|parameters|buffers)\['[^']+'\]|\.\w+)+)")
_STEP = re.compile(r"\._(?:modules|parameters|buffers)\['([^']+)'\]|\.(\w+)")
_MOST_WORDS = 300
MOST_COPIED = 2 << 30
"""Bytes of arguments that are copied for the compiler: with more of them there is no room on a GPU."""


class _Caught(BaseException):
    """The code was taken: nothing more is wanted of the compiler."""


def capture(model: torch.nn.Module, arguments: Sequence[Any], *, dynamic: bool, way: str = "compile") -> CompiledGraph:
    """The compiler's code for a model on arguments, by one of `OPTIONS`.

    Raises `NoDraftError` where the compiler takes them not or only in part."""
    found: list[str] = []
    seen: dict[str, Any] = {}
    gpu = any(tensor.is_cuda for tensor in arguments if isinstance(tensor, torch.Tensor))

    def keep(code: str) -> None:
        found.append(code)
        if not gpu:
            raise _Caught

    def backend(graph: torch.fx.GraphModule, examples: Sequence[Any]) -> Callable[..., Any]:
        from torch._inductor.compile_fx import compile_fx

        seen["nodes"] = [node for node in graph.graph.nodes if node.op == "placeholder"]
        seen["shapes"] = _shape_environment()
        compiled: Any = compile_fx(graph, examples, config_patches=dict(OPTIONS[way]))
        return compiled  # type: ignore[no-any-return]

    torch._dynamo.reset()
    with _settings(dynamic=dynamic), _texts_to(keep), torch.no_grad():
        try:
            torch.compile(model, backend=backend, dynamic=dynamic, fullgraph=True)(*_of_its_own(arguments))
        except _Caught:
            pass
        except Exception as error:  # noqa: BLE001 - a compiler under foreign code may raise anything
            raise NoDraftError(_explained(error)) from None
    if len(found) != 1:
        raise NoDraftError(f"the compiler wrote {len(found)} programs where one was expected")
    return _graph(model, arguments, found[0], seen, dynamic=dynamic, gpu=gpu)


def _of_its_own(arguments: Sequence[Any]) -> list[Any]:
    """Arguments in memory of their own, so that code for any size is found for several; large ones as they are."""
    size = sum(one.nbytes for one in arguments if isinstance(one, torch.Tensor))
    return list(arguments) if size > MOST_COPIED else copy.deepcopy(list(arguments))


@contextlib.contextmanager
def _settings(*, dynamic: bool) -> Iterator[None]:
    """Sizes that are equal by chance are different symbols, and a module's numbers are numbers."""
    import torch.fx.experimental._config as symbols

    with (
        patch.object(symbols, "use_duck_shape", False),
        torch._dynamo.config.patch(specialize_float=True, assume_static_by_default=not dynamic),
    ):
        yield


@contextlib.contextmanager
def _texts_to(keep: Callable[[str], None]) -> Iterator[None]:
    """Programs that Inductor writes go to `keep` before they are loaded; without its caches, or none is written."""
    import torch._functorch.config as lowering
    import torch._inductor.config as config
    from torch._inductor.graph import GraphLowering

    with (
        patch.object(GraphLowering, "save_output_code", staticmethod(keep)),
        config.patch(fx_graph_cache=False),
        lowering.patch(enable_autograd_cache=False),
    ):
        yield


def _graph(
    model: torch.nn.Module, arguments: Sequence[Any], code: str, seen: dict[str, Any], *, dynamic: bool, gpu: bool
) -> CompiledGraph:
    names = parameters_of(model, len(arguments))
    given = dict(zip(names, arguments, strict=True))
    nodes = seen["nodes"]
    inputs = tuple(_expression(_source(node), given, model) for node in nodes)
    symbols = _symbols(nodes) if dynamic else {}
    return CompiledGraph(
        code=code,
        inputs=inputs,
        arguments=tuple(_tensor(name, value) for name, value in given.items() if isinstance(value, torch.Tensor)),
        scalars=tuple((name, value) for name, value in given.items() if not isinstance(value, torch.Tensor)),
        dynamic=bool(symbols),
        symbols=tuple(symbols.items()),
        guards=_guards(seen["shapes"], symbols) if symbols else (),
        configs=_configs(code) if gpu else {},
        picked=_picked(code) if gpu else {},
    )


def parameters_of(model: torch.nn.Module, count: int) -> tuple[str, ...]:
    """Names of the arguments that `forward` gets. Raises `NoDraftError` for what has no name of its own."""
    known = list(inspect.signature(model.forward).parameters.values())
    if any(one.kind not in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD) for one in known[:count]):
        raise NoDraftError("Model.forward takes a variable number of arguments")
    if len(known) < count:
        raise NoDraftError("Model.forward takes fewer arguments than get_inputs gives")
    return tuple(one.name for one in known[:count])


def state_of(model: torch.nn.Module) -> tuple[StateTensor, ...]:
    """Parameters, then buffers."""
    named: list[tuple[str, torch.Tensor, bool]] = [(path, one, False) for path, one in model.named_parameters()]
    named += [(path, tensor, True) for path, tensor in model.named_buffers()]
    return tuple(
        StateTensor(path=path, dtype=_dtype(tensor), shape=tuple(tensor.shape), is_buffer=is_buffer)
        for path, tensor, is_buffer in named
    )


def _tensor(name: str, value: torch.Tensor) -> TensorArgument:
    return TensorArgument(name=name, dtype=_dtype(value), shape=tuple(value.shape), stride=tuple(value.stride()))


def _dtype(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _source(node: Any) -> str:
    """Where Dynamo has an input from, for example `L['self']._parameters['weight']`."""
    known = getattr(node, "_dynamo_source", None) or node.meta["grapharg"].source
    name = known.name
    return str(name() if callable(name) else name)


def _expression(source: str, given: dict[str, Any], model: torch.nn.Module) -> str:
    """What a candidate writes for an input of the graph. Raises `NoDraftError`."""
    if (size := _SIZE.fullmatch(source)) is not None:
        return f"{size[1]}.size({size[2]})"
    if (argument := _ARGUMENT.fullmatch(source)) is not None and argument[1] in given:
        return argument[1]
    if (state := _STATE.fullmatch(source)) is not None:
        path = ".".join(one or other for one, other in _STEP.findall(state[1]))
        named = {*(name for name, _ in model.named_parameters()), *(name for name, _ in model.named_buffers())}
        if path in named:
            return f"self@{path}"
        raise NoDraftError(f"the model keeps the tensor {path}, which is neither a parameter nor a buffer")
    raise NoDraftError(f"the compiled code reads {source}, which is no plain argument of forward")


def _shape_environment() -> Any:
    context = torch._guards.TracingContext.try_get()
    return None if context is None or context.fake_mode is None else context.fake_mode.shape_env


def _symbols(nodes: Sequence[Any]) -> dict[str, str]:
    """Symbols of sizes, under every name that they have, and what gives them."""
    found: dict[str, str] = {}
    for node in nodes:
        example = node.meta.get("example_value")
        argument = _ARGUMENT.fullmatch(_source(node))
        if not isinstance(example, torch.Tensor) or argument is None:
            continue
        for dim, size in enumerate(example.shape):
            inner = getattr(size, "node", None)
            for expression in () if inner is None else (inner._expr, inner.expr):
                if getattr(expression, "is_Symbol", False):
                    found.setdefault(str(expression), f"{argument[1]}.size({dim})")
    return found


def _guards(environment: Any, symbols: dict[str, str]) -> tuple[str, ...]:
    """The conditions under which the compiler took sizes for variable. Raises `NoDraftError`."""
    from torch.utils._sympy.printers import PythonPrinter

    conditions: list[str] = []
    for guard in environment.guards:
        expression = environment.replace(guard.expr)
        if expression in (True, False) or not expression.free_symbols:
            continue
        if not {str(symbol) for symbol in expression.free_symbols} <= set(symbols):
            raise NoDraftError("a condition on sizes is about more than the inputs' sizes")
        conditions.append(str(PythonPrinter().doprint(expression)))
    ranges = getattr(environment, "var_to_range", {})
    for symbol, bounds in ranges.items():
        if str(symbol) in symbols and bounds.lower > 0:
            conditions.append(f"{symbol} >= {_least(int(bounds.lower))}")
    return tuple(dict.fromkeys(conditions))


def _least(lower: int) -> int:
    """Two is Dynamo's own bound: it takes a size of one for another graph, because that could be broadcast.

    Sizes that have to agree are compared by the drafted code, so one is as good as any other there."""
    return 1 if lower == 2 else lower


def vector_macros() -> tuple[str, ...]:
    """Macros that describe this processor to torch's vector headers, as Inductor does; empty where it uses no
    vectors."""
    from torch._inductor.cpu_vec_isa import pick_vec_isa

    return tuple(str(macro) for macro in getattr(pick_vec_isa(), "_macro", ()))


def returns_tuple(model: torch.nn.Module, arguments: Sequence[Any]) -> bool:
    """Whether `forward` gives a tuple or list of tensors. Raises `NoDraftError` for anything but that and a tensor."""
    with torch.no_grad():
        given = model(*_of_its_own(arguments))
    if isinstance(given, torch.Tensor):
        return False
    if isinstance(given, list | tuple) and all(isinstance(one, torch.Tensor) for one in given):
        return True
    raise NoDraftError(f"Model.forward returns a {type(given).__name__}")


def _modules_of(code: str) -> Any:
    """The loaded module of a program."""
    from torch._inductor.codecache import PyCodeCache

    kernels = re.findall(r"^(\w+) = async_compile\.\w+\(", code, re.MULTILINE)
    for module in reversed(PyCodeCache.modules):
        if kernels and all(hasattr(module, name) for name in kernels):
            return module
    return None


def _configs(code: str) -> dict[str, tuple[KernelConfig, ...]]:
    """What the compiler's own search found for each Triton kernel; all it would try where it has not searched."""
    module = _modules_of(code)
    found: dict[str, tuple[KernelConfig, ...]] = {}
    for name in re.findall(r"^(\w+) = async_compile\.triton\(", code, re.MULTILINE):
        tuner = getattr(module, name, None)
        launchers = getattr(tuner, "launchers", None) or ()
        best = [launcher.config for launcher in launchers]
        others = [config for config in getattr(tuner, "configs", None) or () if config not in best]
        found[name] = tuple(map(_config, [*best, *others]))
    return found


def _config(config: Any) -> KernelConfig:
    blocks = {str(name): int(value) for name, value in config.kwargs.items() if isinstance(value, int)}
    return KernelConfig(blocks=blocks, warps=int(config.num_warps), stages=int(config.num_stages))


def _picked(code: str) -> dict[str, str]:
    """The kernel that a choice between several came down to, as the program names it."""
    module = _modules_of(code)
    found: dict[str, str] = {}
    for name in re.findall(r"^(\w+) = async_compile\.multi_kernel\(", code, re.MULTILINE):
        choice = getattr(module, name, None)
        number = getattr(choice, "picked_kernel", None)
        kernels: Any = getattr(choice, "_kernels", None) or getattr(choice, "kernels", ())
        if number is not None and number < len(kernels):
            same = [key for key, value in vars(module).items() if value is kernels[number]]
            found.update({name: same[0]} if same else {})
    return found


def _explained(error: Exception) -> str:
    """Why the compiler did not take the model, in a line."""
    text = " ".join(str(error).split())
    kind = type(error).__name__
    if kind in ("Unsupported", "UserError") or "graph break" in text.lower():
        return f"the compiler cannot take it in one graph: {text[:_MOST_WORDS]}"
    return f"the compiler failed ({kind}): {text[:_MOST_WORDS]}"
