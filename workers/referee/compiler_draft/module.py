"""A candidate from what the compiler wrote: kernels, parameters, and one method for each set of sizes."""

from __future__ import annotations

from collections.abc import Sequence

from workers.referee.compiler_draft.body import MethodBody
from workers.referee.compiler_draft.cpp_source import FLAGS, CppKernels
from workers.referee.compiler_draft.graph import CompiledGraph, DraftedProblem, NoDraftError, TensorArgument
from workers.referee.compiler_draft.triton_source import TritonKernels

_REGISTER = '''
def register(root, path, tensor, buffer):
    """Register a parameter or buffer under a dotted path, making the modules on the way."""
    *parents, name = path.split(".")
    for parent in parents:
        if parent not in dict(root.named_children()):
            root.add_module(parent, nn.Module())
        root = root.get_submodule(parent)
    if buffer:
        root.register_buffer(name, tensor)
    else:
        root.register_parameter(name, nn.Parameter(tensor, requires_grad=tensor.is_floating_point()))
'''
_EXPECT = '''
def expect(tensor, name, size, stride):
    """Refuse a layout that the compiler did not write code for."""
    if tensor.size() != size or any(n > 1 and a != b for n, a, b in zip(size, tensor.stride(), stride, strict=True)):
        raise ValueError(f"{name} is {tuple(tensor.size())}, strides {tensor.stride()}: drafted for {size}, {stride}")
'''


def written(problem: DraftedProblem) -> str:
    """The candidate's module. Raises `NoDraftError`."""
    if not problem.graphs:
        raise NoDraftError("the compiler gave no code")
    kernels = CppKernels(problem) if problem.device == "cpu" else TritonKernels(problem)
    bodies = [kernels.body(number, graph) for number, graph in enumerate(problem.graphs)]
    if not kernels.names:
        raise NoDraftError("the compiler writes no kernel for it: nothing is left to do but library calls or copies")
    dynamic = any(graph.dynamic for graph in problem.graphs)
    parts = [_docstring(problem), _head(kernels)]
    parts += [_EXPECT] if dynamic else []
    parts += [_REGISTER] if problem.state else []
    parts.append("\n".join(["", "class ModelNew(nn.Module):", *_indented(_members(problem, bodies)), ""]))
    return "\n".join(parts)


def _docstring(problem: DraftedProblem) -> str:
    sizes = [_sizes(graph) for graph in problem.graphs]
    return (
        f'"""{problem.name}: the code that {problem.compiler} writes for the reference, as a kernel of its own.\n\n'
        f"sizes: {'; '.join(sizes)}\n"
        '"""\n'
    )


def _sizes(graph: CompiledGraph) -> str:
    if graph.dynamic:
        return "any other"
    return ", ".join(f"{one.name}{list(one.shape)}" for one in graph.arguments)


def _head(kernels: CppKernels | TritonKernels) -> str:
    if isinstance(kernels, TritonKernels):
        return kernels.source()
    return (
        "import torch\nfrom kernelwright_rt import compile_cpp\nfrom torch import nn\n\n"
        f'SOURCE = r"""\n{kernels.source()}"""\n\nLIBRARY = compile_cpp(SOURCE, {FLAGS!r})\n'
    )


def _members(problem: DraftedProblem, bodies: Sequence[MethodBody]) -> list[str]:
    lines = ["def __init__(self, *args, **kwargs):", "    super().__init__()"]
    for one in problem.state:
        made = f"torch.zeros({one.shape!r}, dtype=torch.{one.dtype})"
        lines.append(f"    register(self, {one.path!r}, {made}, {one.is_buffer})")
    lines += ["", f"def forward(self, {', '.join(problem.parameters)}):", *_indented(_dispatch(problem))]
    for number, (graph, body) in enumerate(zip(problem.graphs, bodies, strict=True)):
        lines += ["", f"def {_method(number, graph)}(self, {', '.join(problem.parameters)}):"]
        lines += _indented([*_conditions(graph), *body.lines, _returned(body, problem)])
    return lines


def _method(number: int, graph: CompiledGraph) -> str:
    return "any_sizes" if graph.dynamic else f"sizes_{number}"


def _dispatch(problem: DraftedProblem) -> list[str]:
    """Layouts as the compiler saw them, then the code for these sizes."""
    first = problem.graphs[0]
    lines = [line for argument in first.arguments for line in _laid_out(argument)]
    for name, value in first.scalars:
        lines += [f"if {name} != {value!r}:", f'    raise ValueError("{name} was compiled as {value!r}")']
    given = ", ".join(problem.parameters)
    for number, graph in enumerate(problem.graphs):
        if graph.dynamic:
            return [*lines, f"return self.any_sizes({given})"]
        same = " and ".join(f"{one.name}.size() == {one.shape!r}" for one in graph.arguments)
        lines += [f"if {same}:", f"    return self.{_method(number, graph)}({given})"]
    return [*lines, 'raise ValueError("drafted for other sizes")']


def _laid_out(argument: TensorArgument) -> list[str]:
    name = argument.name
    lines = [f"if {name}.dtype != torch.{argument.dtype}:"]
    lines.append(f'    raise ValueError(f"{name} is {{{name}.dtype}}: drafted for {argument.dtype}")')
    if argument.contiguous:
        return [*lines, f"{name} = {name}.contiguous()"]
    lines.append(f"if {name}.stride() != {argument.stride!r}:")
    lines.append(f'    raise ValueError(f"{name} has strides {{{name}.stride()}}: drafted for {argument.stride!r}")')
    return lines


def _conditions(graph: CompiledGraph) -> list[str]:
    """Symbols of sizes, and what must hold of them."""
    if not graph.dynamic:
        return []
    lines = [f"{symbol} = {text}" for symbol, text in graph.symbols]
    if graph.guards:
        condition = " and ".join(f"({guard})" for guard in graph.guards)
        lines += [f"if not ({condition}):", '    raise ValueError("drafted for other sizes")']
    return lines


def _returned(body: MethodBody, problem: DraftedProblem) -> str:
    if not problem.returns_tuple and len(body.results) != 1:
        raise NoDraftError(f"the compiled code returns {len(body.results)} tensors where forward returns one")
    return f"return ({', '.join(body.results)},)" if problem.returns_tuple else f"return {body.results[0]}"


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" if line else "" for line in lines]
