"""The operators of a problem: which kernel runs, and what `torch.library` is told."""

from __future__ import annotations

import inspect
import json
import keyword
import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from .proven import Kernel, Proven
from .saving import memory
from .subject import SCALARS, Subject, completed, flat

ALIGNMENT = 64
"""Bytes that tensors begin at a multiple of where kernels are proven, as what PyTorch allocates does."""


class Operator:
    """A problem's original with its kernels, the fastest first, as operators and as a module."""

    def __init__(self, name: str, original: str, kernels: Sequence[Kernel]) -> None:
        """`name` is `namespace::operator`, `original` the import path of the problem. Raises `RuntimeError` for
        what cannot be an operator: inputs that are no tensors or numbers, nested outputs, state that changes."""
        self.subject = Subject(name, original)
        self.kernels = tuple(Proven(kernel, self.subject) for kernel in kernels)
        schema = _schema(self.subject)
        results = ", ".join(["Tensor"] * self.subject.outputs)
        self.call = _plain(self, f"({_schema(self.subject, defaults=True)}) -> ({results})")
        """`torch.ops.namespace.operator`: inputs of forward, with their defaults where no other argument follows, then
        weights in order of registration."""
        self.call_saving = _saving(self, schema) if any(kernel.backward for kernel in kernels) else None
        """The same for calls that were proven with gradients: outputs, then what the backward needs."""
        self.Model = _drop_in(self)
        """The original module with the kernels in its forward."""

    def choose(self, arguments: Sequence[Any], *, gradients: bool) -> Proven | None:
        """The first kernel that was proven for a call and can be used here; traced by torch.compile."""
        saving = gradients and torch.compiler.is_compiling()
        for proven in self.kernels:
            if proven.kernel.backward or not gradients:
                number = proven.match(arguments)
                if number is not None and _is_ready(proven, number, saving):
                    return proven
        return None

    def admits(self, arguments: Sequence[Any]) -> bool:
        """Whether a call is of a kind that kernels are proven for: plain tensors, no autocast, gradients of what had
        them."""
        for index in self.subject.tensors:
            value = arguments[index]
            if type(value) is not Tensor and type(value) is not nn.Parameter:
                return False
            if value.requires_grad and torch.is_grad_enabled() and index not in self.subject.differentiable:
                return False
        return not torch.is_autocast_enabled(arguments[self.subject.tensors[0]].device.type)

    def wants_gradients(self, arguments: Sequence[Any]) -> bool:
        """Whether autograd records a call."""
        return torch.is_grad_enabled() and any(arguments[index].requires_grad for index in self.subject.tensors)

    def run(self, proven: Proven, arguments: Sequence[Any], *, gradients: bool) -> Any:
        """A chosen kernel's outputs, in the original's form. Traced calls become operators."""
        if not torch.compiler.is_compiling():
            return proven(self._leaves(arguments) if gradients else arguments)
        if not gradients or self.call_saving is None:
            return self.packed(self.call(*arguments))
        return self.packed(self.call_saving(*arguments)[: self.subject.outputs])

    def packed(self, outputs: Any) -> Any:
        """An operator's outputs in the original's form."""
        found = flat(outputs)
        return found[0] if self.subject.is_single else tuple(found)

    def _leaves(self, arguments: Sequence[Any]) -> list[Any]:
        """Arguments as in the proof: gradients are wanted of all that had one there."""
        return [
            value.detach().requires_grad_()
            if index in self.subject.differentiable and not value.requires_grad
            else value
            for index, value in enumerate(arguments)
        ]

    def original(self, arguments: Sequence[Any]) -> list[Tensor]:
        """Outputs of the original."""
        return flat(self.subject.original(arguments, self.subject.inputs))


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _is_ready(proven: Proven, number: int, saving: bool) -> bool:
    """Loading a kernel and running it on zeros is nothing to trace."""
    return proven.is_ready(number, saving=saving)


def _drop_in(operator: Operator) -> type[nn.Module]:
    """A subclass of the original module with the kernels in its forward."""
    subject = operator.subject
    signature = inspect.signature(subject.module.Model.__init__)
    proven_init = signature.bind(None, *subject.init)
    proven_init.apply_defaults()

    class Model(subject.module.Model):  # type: ignore[misc, name-defined]
        """The original, which runs a proven kernel where there is one for the call."""

        def __init__(self, *arguments: Any, **keywords: Any) -> None:
            super().__init__(*arguments, **keywords)
            given = signature.bind(None, *arguments, **keywords)
            given.apply_defaults()
            self._as_proven = given.arguments == proven_init.arguments

        def forward(self, *inputs: Any, **keywords: Any) -> Any:
            usual = self.training or not subject.mode_matters
            given = completed(subject, inputs, keywords)
            if not self._as_proven or not usual or len(given) != subject.inputs:
                return super().forward(*inputs, **keywords)
            arguments = [*given, *[_attribute(self, name) for name in subject.original.names]]
            gradients = operator.wants_gradients(arguments)
            if torch.compiler.is_exporting() and not gradients:
                return operator.packed(operator.call(*arguments))  # decides at each call, whatever its shapes are
            if operator.admits(arguments):
                proven = operator.choose(arguments, gradients=gradients)
                if proven is not None and (torch.compiler.is_compiling() or _is_aligned(arguments)):
                    return operator.run(proven, arguments, gradients=gradients)
            return super().forward(*inputs, **keywords)

    # For what reads it: torch.export names dynamic shapes by it.
    Model.forward.__signature__ = inspect.signature(subject.module.Model.forward)  # type: ignore[attr-defined]
    Model.__qualname__ = Model.__name__ = subject.module.Model.__name__
    return Model


def _attribute(module: Any, path: str) -> Any:
    for name in path.split("."):
        module = getattr(module, name)
    return module


def _schema(subject: Subject, *, defaults: bool = False) -> str:
    """The arguments: forward's inputs and the weights, by their names."""
    first = subject.sets["get_inputs"]
    parts: list[str] = []
    taken: set[str] = set()
    last = len(first.example) - len(_last_defaults(subject)) if defaults else len(first.example)
    for index, (value, name) in enumerate(zip(first.example, [*subject.names, *subject.original.names], strict=True)):
        word = name.replace(".", "_")
        word = f"{word}_{index}" if word in taken or keyword.iskeyword(word) or word == "self" else word
        taken.add(word)
        default = f"={_last_defaults(subject)[index - last]}" if index >= last else ""
        parts.append(f"{'Tensor' if isinstance(value, Tensor) else SCALARS[type(value)]} {word}{default}")
    return ", ".join(parts)


def _last_defaults(subject: Subject) -> list[str]:
    """Defaults of the last arguments, as a schema writes them; weights have none, nor has what a schema cannot say."""
    found: list[str] = []
    for index in range(len(subject.sets["get_inputs"].example) - 1, -1, -1):
        default = subject.defaults.get(subject.names[index]) if index < len(subject.names) else None
        kind = type(subject.sets["get_inputs"].example[index])
        if type(default) is not kind or (isinstance(default, float) and not math.isfinite(default)):
            break
        found.insert(0, json.dumps(default) if isinstance(default, str) else repr(default))
    return found


def _plain(operator: Operator, schema: str) -> Any:
    """Register the operator for any call. Its gradients are the original's, from the inputs."""

    def complete(given: Sequence[Any]) -> list[Any]:
        """PyTorch leaves out what equals its default."""
        return [*given, *[operator.subject.defaults[name] for name in operator.subject.names[len(given) :]]]

    def implementation(*given: Any) -> Any:
        arguments = complete(given)
        with torch.no_grad():
            proven = operator.choose(arguments, gradients=False) if _is_aligned(arguments) else None
            outputs = operator.original(arguments) if proven is None else flat(proven(arguments))
            return _packed(operator, _owned(outputs, arguments))

    def fake(*given: Any) -> Any:
        return _packed(operator, _empty(operator, complete(given)))

    def setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:  # noqa: ARG001 - named by torch
        _keep(ctx, complete(inputs), ())

    def backward(ctx: Any, *cotangents: Tensor | None) -> Any:
        arguments, _ = _kept(ctx)
        wanted = ctx.needs_input_grad
        rest = (False,) * (len(arguments) - len(wanted))
        return _gradients_of_the_original(operator, arguments, (*wanted, *rest), cotangents)[: len(wanted)]

    made = torch.library.custom_op(operator.subject.name, implementation, mutates_args=(), schema=schema)
    made.register_fake(fake)
    made.register_autograd(backward, setup_context=setup)
    return _overload(operator.subject.name)


def _saving(operator: Operator, schema: str) -> Any:
    """Register the kernel's own forward and backward, for calls that were proven with gradients."""
    subject, name = operator.subject, f"{operator.subject.name}_saving"

    def proven_for(arguments: Sequence[Any]) -> Proven:
        proven = operator.choose(arguments, gradients=True)
        if proven is None:
            raise RuntimeError(f"{name} is for proven calls only: call {subject.name}, or the package's Model")
        return proven

    def forward(*arguments: Any) -> list[Tensor]:
        given = _realigned(arguments)
        ran, _ = proven_for(given).forward(given)
        return [*_owned(ran.outputs, given), *ran.extras]

    def fake_forward(*arguments: Any) -> list[Tensor]:
        proven = proven_for(arguments)
        number = proven.match(arguments)
        plan = None if number is None else proven.plan(number)
        outputs = _empty(operator, arguments)
        extras = () if plan is None else plan.extras
        return [*outputs, *[outputs[0].new_empty(count, dtype=dtype) for count, dtype in extras]]

    def setup(ctx: Any, inputs: tuple[Any, ...], output: list[Tensor]) -> None:
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(*output[subject.outputs :])
        _keep(ctx, inputs, output)

    def backward(ctx: Any, cotangents: Sequence[Tensor | None]) -> Any:
        arguments, results = _kept(ctx)
        given = [
            torch.zeros_like(result) if cotangent is None else cotangent
            for result, cotangent in zip(results[: subject.outputs], cotangents, strict=False)
        ]
        wanted = [index for index, needed in enumerate(ctx.needs_input_grad) if needed]
        found = iter(call_backward(given, results, *arguments, wanted))
        return tuple(next(found) if needed else None for needed in ctx.needs_input_grad)

    def run_backward(cotangents: list[Tensor], results: list[Tensor], *rest: Any) -> list[Tensor]:
        *arguments, wanted = rest
        given = _realigned(arguments)
        gradients = proven_for(given).backward(given, results, cotangents, wanted)
        return _owned(gradients, [*given, *results, *cotangents])

    def fake_backward(*given: Any) -> list[Tensor]:
        *arguments, wanted = given[2:]
        return [arguments[index].new_empty(arguments[index].shape) for index in wanted]

    backward_schema = f"(Tensor[] cotangents, Tensor[] results, {schema}, int[] wanted) -> Tensor[]"
    made = torch.library.custom_op(f"{name}_backward", run_backward, mutates_args=(), schema=backward_schema)
    made.register_fake(fake_backward)
    call_backward = _overload(f"{name}_backward")
    made = torch.library.custom_op(name, forward, mutates_args=(), schema=f"({schema}) -> Tensor[]")
    made.register_fake(fake_forward)
    made.register_autograd(backward, setup_context=setup)
    return _overload(name)


def _overload(name: str) -> Any:
    namespace, _, operator = name.partition("::")
    return getattr(getattr(torch.ops, namespace), operator).default


def _packed(operator: Operator, outputs: list[Tensor]) -> Any:
    return outputs[0] if operator.subject.outputs == 1 else tuple(outputs)


def _empty(operator: Operator, arguments: Sequence[Any]) -> list[Tensor]:
    """Outputs without values, as the original gives them."""
    with torch.no_grad():
        return [output.new_empty(output.shape) for output in operator.original(arguments)]


def _keep(ctx: Any, inputs: Sequence[Any], results: Sequence[Tensor]) -> None:
    ctx.others = [None if isinstance(value, Tensor) else value for value in inputs]
    ctx.save_for_backward(*[value for value in inputs if isinstance(value, Tensor)], *results)


def _kept(ctx: Any) -> tuple[list[Any], list[Tensor]]:
    """The arguments and results of the forward."""
    tensors = list(ctx.saved_tensors)
    arguments = [tensors.pop(0) if value is None else value for value in ctx.others]
    return arguments, tensors


def _gradients_of_the_original(
    operator: Operator, arguments: Sequence[Any], wanted: Sequence[bool], cotangents: Sequence[Tensor | None]
) -> tuple[Tensor | None, ...]:
    """By autograd through the original, from the inputs on; traced like any other computation."""
    with torch.enable_grad():
        leaves = [
            value.detach().requires_grad_() if wish else value for value, wish in zip(arguments, wanted, strict=True)
        ]
        outputs = operator.original(leaves)
        pairs = [(o, c) for o, c in zip(outputs, cotangents, strict=True) if o.requires_grad and c is not None]
        if not pairs:
            return (None,) * len(leaves)
        asked = [leaf for leaf, wish in zip(leaves, wanted, strict=True) if wish]
        found = iter(torch.autograd.grad([o for o, _ in pairs], asked, [c for _, c in pairs], allow_unused=True))
    return tuple(next(found) if wish else None for wish in wanted)


def _is_aligned(arguments: Sequence[Any]) -> bool:
    return not any(value.data_ptr() % ALIGNMENT for value in arguments if isinstance(value, Tensor))


def _realigned(arguments: Sequence[Any]) -> list[Any]:
    """Arguments that begin where kernels are proven; copies of those that do not."""
    return [
        value.clone() if isinstance(value, Tensor) and value.data_ptr() % ALIGNMENT else value for value in arguments
    ]


def _owned(outputs: Sequence[Tensor], arguments: Sequence[Any]) -> list[Tensor]:
    """The outputs contiguous, none sharing memory with an argument or with another."""
    taken = {memory(value) for value in arguments if isinstance(value, Tensor)}
    found = []
    for output in outputs:
        own = output.detach().contiguous()
        own = own.clone() if memory(own) in taken else own
        taken.add(memory(own))
        found.append(own)
    return found
