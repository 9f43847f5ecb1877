"""`@kernelwright.optimize`: a function that calls its kernel where that was proven, and itself elsewhere."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, overload

from kernelwright.optimized_functions.capture import Dependency
from kernelwright.optimized_functions.job import solve
from kernelwright.optimized_functions.signature import CallGuard, Signature
from kernelwright.optimized_functions.solution import Solution


class OptimizedFunction:
    """A function that can be solved.

    It is the original until `solve` has found a kernel that is surely faster than the best baseline. From then on calls
    with the shapes, dtypes, device and further arguments of a proven example run the kernel; every other call runs the
    original: other shapes, wanted gradients, autocast, strided views, a changed constant or helper of the module."""

    def __init__(self, original: Callable[..., Any], options: dict[str, Any]) -> None:
        functools.update_wrapper(self, original)
        self.original = original
        self.solution: Solution | None = None
        """Of the last `solve`."""
        self._options = options
        self._forward: Callable[..., Any] | None = None
        self._admits = CallGuard(frozenset()).admits
        self._defaults: tuple[Any, ...] = ()
        self._arity = 0
        self._dependencies: tuple[Dependency, ...] = ()

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """The kernel's answer where it was proven for such a call, else the original's."""
        forward = self._forward
        if forward is None or keywords:
            return self.original(*arguments, **keywords)
        complete = arguments if len(arguments) == self._arity else arguments + self._defaults[len(arguments) :]
        if self._admits(complete) and (not self._dependencies or self._holds()):
            return forward(*complete)
        return self.original(*arguments)

    def solve(self, *example_inputs: Any, **options: Any) -> Solution:
        """Search for a kernel for calls like this one: `f.solve(x, w)`; for several shapes `f.solve([(x, w), (y, w)])`.

        Options are those of `kernelwright.solve` and override the decorator's. Blocks until the job has ended."""
        several = len(example_inputs) == 1 and isinstance(example_inputs[0], list)
        given: Sequence[Any] = example_inputs[0] if several else example_inputs
        solution = solve(self.original, given, **{**self._options, **options})
        self.use(solution)
        return solution

    def use(self, solution: Solution) -> None:
        """Call a solution's kernel from now on, where it gains and was proven."""
        self.reset()
        self.solution = solution
        if solution.gains:
            captured = solution.made.captured
            defaults = tuple(parameter.default for parameter in captured.parameters)
            self.install(solution.kernel.forward, solution.proven, defaults, captured.dependencies)

    def install(
        self,
        forward: Callable[..., Any],
        proven: frozenset[Signature],
        defaults: tuple[Any, ...] = (),
        dependencies: tuple[Dependency, ...] = (),
    ) -> None:
        """Call `forward` for calls with these signatures, as long as the dependencies hold. `defaults` are
        the values of arguments that a call leaves out, one for each positional parameter."""
        self._defaults, self._dependencies = defaults, dependencies
        self._arity = len(defaults)
        self._forward, self._admits = forward, CallGuard(proven).admits

    def reset(self) -> None:
        """Call the original only."""
        self._forward, self.solution = None, None

    def runs_kernel(self, *arguments: Any) -> bool:
        """Whether a call with these arguments runs the kernel."""
        complete = arguments + self._defaults[len(arguments) :]
        return self._forward is not None and self._admits(complete) and self._holds()

    def _holds(self) -> bool:
        return all(dependency.holds() for dependency in self._dependencies)


@overload
def optimize(function: Callable[..., Any], /) -> OptimizedFunction: ...


@overload
def optimize(**options: Any) -> Callable[[Callable[..., Any]], OptimizedFunction]: ...


def optimize(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Decorate a function so that it can be solved: `@optimize`, or `@optimize(rounds=20)` with options of `solve`.

    Nothing is searched for before `f.solve(…)` is called: a search takes seconds to minutes, and no call should."""
    if function is None:
        return lambda found: OptimizedFunction(found, options)
    return OptimizedFunction(function, options)
