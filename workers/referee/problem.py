"""The problem inside the referee: its module, its reference model, its inputs, and where in the file things are."""

from __future__ import annotations

import ast
import contextlib
import copy
import linecache
import random
import secrets
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any

import torch

from services.domain.objectives import REMEDY, Objective, ObjectiveError, parse
from services.domain.problems import Problem
from services.domain.shape_lists import REMEDY as SHAPES_REMEDY
from services.domain.shape_lists import ShapeListError, entries
from workers.ipc.placement import TensorDevice
from workers.ipc.tensors import DataError, TensorMeta, encode, flatten, mapped
from workers.referee.comparison import Tolerance, tolerances
from workers.referee.differentiation import NoGradientError, draw_cotangent, gradient_names, marked, plan_of
from workers.referee.errors import Refused
from workers.referee.listed_shapes import ListedShapes, arranged, source_of
from workers.referee.value_kinds import is_constant
from workers.runner.stepping import DENSE, ModelStep, StepPlan

MODULE_NAME = "kernelwright_problem"
SEED_BITS = 31


class ReferenceProblem:
    """An imported problem. Raises `Refused` with reason, remedy and line when its file cannot be used."""

    def __init__(self, problem: Problem, place: TensorDevice | None = None, *, memory_bytes: int | None = None) -> None:
        """`memory_bytes` bounds a process: shapes of a list that need more are left out."""
        self.problem = problem
        self.place = place or TensorDevice()
        self.init_seed = secrets.randbits(SEED_BITS)
        """What the model's weights are drawn under. Secret until a process is given them, so that no candidate can be
        written for them."""
        self.tree = _parse(problem)
        self.module = self._guarded("the module", self._import)
        functions = self._sets("INPUT_SETS")
        self.objective = self._objective()
        listed = self._listed(memory_bytes)
        self.input_sets = (*functions, *(source for _, source in listed.announced))
        self.held_out = (*self._sets("HELD_OUT"), *listed.others)
        names = _names(["get_inputs", *map(_name, functions)])
        self.set_names = (*names, *(name for name, _ in listed.announced))
        """What the objective calls the open input sets, the first one's first."""
        self.notes = listed.notes
        """What became of the problem's list of shapes."""
        self._check_objective()
        self.init_inputs = self._init_inputs()
        self.model: torch.nn.Module = self._guarded("Model", self._construct)
        self.tolerances = self._tolerances()
        self._output_metas: dict[tuple[TensorMeta, ...], list[TensorMeta]] = {}
        self.gradient_names: tuple[str, ...] = ()
        """How people call the gradients that are judged; empty where only the forward pass is."""
        self.step = self._step()
        """Forward and backward as one call, where the problem asks for gradients."""

    @property
    def library(self) -> frozenset[str]:
        """Operators a candidate may call from a library."""
        own = getattr(self.module, "LIBRARY", ())
        return frozenset(str(name) for name in (*own, *self.problem.allow_library))

    @property
    def step_plan(self) -> StepPlan | None:
        """What runners have to know to call both passes; None where only the forward pass is judged."""
        return None if self.step is None else self.step.plan

    def make_inputs(self, number: int, seed: int, layout: int = DENSE) -> list[Any]:
        """Arguments of a call: input set `number` (0 is `get_inputs`; negative numbers are held out), drawn under
        `seed`, and cotangents in a layout of theirs where gradients are asked for."""
        drawn = mapped(self._drawn(number, seed), _without_graph)
        return drawn if self.step is None else self.with_cotangents(drawn, layout)

    def forward_arguments(self, arguments: Sequence[Any]) -> list[Any]:
        """Of a call's arguments, those of `forward`."""
        return list(arguments) if self.step is None else self.step.plan.forward_arguments(arguments)

    def with_cotangents(self, arguments: Sequence[Any], layout: int = DENSE) -> list[Any]:
        """Arguments of a call from those of `forward`, with cotangents drawn for them. Raises `Refused`."""
        if self.step is None:
            return list(arguments)
        metas = tuple(TensorMeta.of(tensor) for tensor in flatten(list(arguments)))
        if metas not in self._output_metas:
            outputs = output_tensors(self._forward(cloned(list(arguments))))
            self._output_metas[metas] = [TensorMeta.of(outputs[index]) for index in self.step.plan.outputs]
        wanted = self._output_metas[metas]
        drawn = [draw_cotangent(meta.shape, meta.torch_dtype, self.place.device) for meta in wanted]
        return [*arguments, *drawn, layout]

    def _drawn(self, number: int, seed: int) -> list[Any]:
        """What the problem's own function returns, tensors marked for differentiation among it."""
        source = self._source_of(number)
        seed_everything(seed)
        arguments = self._guarded(_name(source), lambda: self._placed(source))
        if not isinstance(arguments, list | tuple):
            raise self.refusal(f"{_name(source)}() must return a list of arguments", "Return a list.", _name(source))
        try:
            encode(list(arguments), [])
        except DataError as error:
            raise self.refusal(f"{_name(source)}(): {error}", "Use tensors and plain data.", _name(source)) from None
        return list(arguments)

    def _placed(self, source: Callable[[], Any]) -> Any:
        """Values made on the device: what is made without naming one there, and the rest moved."""
        with self.place.device:
            return moved(source(), self.place.device)

    def _source_of(self, number: int) -> Callable[[], Any]:
        if number == 0:
            return self.module.get_inputs  # type: ignore[no-any-return]
        return self.input_sets[number - 1] if number > 0 else self.held_out[-number - 1]

    def run(self, arguments: Sequence[Any]) -> Any:
        """What the reference returns, and the gradients where they are asked for. The arguments are left alone by
        honest references only."""
        return self._forward(arguments) if self.step is None else self._called(self.step, arguments)

    def run_first_pass(self, arguments: Sequence[Any]) -> Any:
        """What a step's forward pass alone hands over. Of problems with a backward pass only."""
        assert self.step is not None
        return self._called(self.step.first_pass, arguments)

    def _forward(self, arguments: Sequence[Any]) -> Any:
        return self._called(self.model, arguments)

    def _called(self, function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        with torch.no_grad():
            return self._guarded("Model.forward", lambda: function(*arguments))

    def run_double(self, arguments: Sequence[Any]) -> Any | None:
        """The reference in float64, which tensors that it makes itself have too where it does not say; None where it
        cannot be run so (a dtype written into the code)."""
        usual = torch.get_default_dtype()
        try:
            model = copy.deepcopy(self.model if self.step is None else self.step).double()
            torch.set_default_dtype(torch.float64)
            with torch.no_grad():
                return model(*doubled(list(arguments)))
        except Exception:  # noqa: BLE001 - untrusted code that was not written for float64
            return None
        finally:
            torch.set_default_dtype(usual)

    @contextlib.contextmanager
    def other_parameters(self) -> Iterator[bool]:
        """Inside, parameters and statistics that hold one value only, as before any training (ones, zeros), hold
        others; whether there are any. The model is as it was afterwards."""
        usual, usual_step = self.model, self.step
        self.model = copy.deepcopy(usual)
        if usual_step is not None:
            self.step = ModelStep(self.model, usual_step.plan)
        try:
            yield _trained(self.model)
        finally:
            self.model, self.step = usual, usual_step

    def state(self) -> list[tuple[str, torch.Tensor]]:
        """Parameters, then buffers, in order of registration."""
        named = [*self.model.named_parameters(), *self.model.named_buffers()]
        return [(name, tensor.detach()) for name, tensor in named]

    def refusal(self, reason: str, remedy: str, name: str | None = None) -> Refused:
        """A refusal that points at the definition of `name`."""
        return Refused(reason, remedy, self.line_of(name) if name else None)

    def line_of(self, name: str) -> int | None:
        """The line that defines a function, class, method (`Model.forward`) or variable."""
        body: list[ast.stmt] = self.tree.body
        line: int | None = None
        for part in name.split("."):
            node = next((item for item in body if part in _defined(item)), None)
            if node is None:
                return line
            line, body = node.lineno, getattr(node, "body", [])
        return line

    def _guarded(self, name: str, function: Callable[[], Any]) -> Any:
        try:
            return function()
        except (Refused, NoGradientError):
            raise
        except BaseException as error:  # noqa: BLE001 - untrusted code may raise anything, SystemExit too
            line = _line_in(error, self.problem.path)
            text = "".join(traceback.format_exception_only(error)).strip()[:1000]
            if isinstance(error, MemoryError) or "can't allocate memory" in text:
                remedy = "Make the problem smaller, or give workers more memory."
                raise Refused(f"{name} ran out of memory: {text}", remedy, line or self.line_of(name)) from None
            remedy = "Run the file with plain PyTorch and repair it."
            if "can require gradients" in text:
                remedy = "Remove requires_grad=True from whole numbers and truth values: they have no gradient."
            raise Refused(f"{name} raised {text}", remedy, line or self.line_of(name)) from None

    def _import(self) -> ModuleType:
        module = ModuleType(MODULE_NAME)
        module.__file__ = self.problem.path
        lines = self.problem.source.splitlines(keepends=True)
        linecache.cache[self.problem.path] = (len(self.problem.source), None, lines, self.problem.path)
        sys.modules[MODULE_NAME] = module
        exec(compile(self.tree, self.problem.path, "exec"), module.__dict__)  # noqa: S102 - that is what it is for
        return module

    def _init_inputs(self) -> Any:
        source = getattr(self.module, "get_init_inputs", None)
        seed_everything(self.init_seed)
        values = self._guarded("get_init_inputs", lambda: self._placed(source)) if source else []
        try:
            encode(values, [])
        except DataError as error:
            raise self.refusal(f"get_init_inputs(): {error}", "Use plain data.", "get_init_inputs") from None
        return values if isinstance(values, dict) else list(values)

    def _construct(self) -> torch.nn.Module:
        torch.manual_seed(self.init_seed)
        kind, init = self.module.Model, self.init_inputs
        with self.place.device:
            model = kind(**init) if isinstance(init, dict) else kind(*init)
        if not isinstance(model, torch.nn.Module):
            raise self.refusal("Model is no torch.nn.Module", "Derive Model from torch.nn.Module.", "Model")
        return model.to(self.place.device)

    def _step(self) -> ModelStep | None:
        """Both passes as one call, where the module says `BACKWARD = True` or `get_inputs` marks inputs."""
        wanted = getattr(self.module, "BACKWARD", None)
        if wanted not in (None, True, False):
            raise self.refusal("BACKWARD is not True or False", "Write BACKWARD = True.", "BACKWARD")
        if wanted is False or (wanted is None and "requires_grad" not in self.problem.source):
            return None
        arguments = self._drawn(0, self.init_seed)
        if wanted is None and not marked(arguments):
            return None
        try:
            plan: StepPlan = self._guarded("Model.forward", lambda: plan_of(self.model, arguments))
        except NoGradientError as error:
            raise self.refusal(str(error), error.remedy, "Model.forward") from None
        self.gradient_names = gradient_names(plan, self.model, arguments)
        return ModelStep(self.model, plan)

    def _sets(self, name: str) -> tuple[Callable[[], Any], ...]:
        sets = getattr(self.module, name, ())
        if isinstance(sets, list | tuple) and name == "HELD_OUT":
            sets = [one if callable(one) else self._of_shape(one) for one in sets]
        if not isinstance(sets, list | tuple) or not all(callable(item) for item in sets):
            raise self.refusal(f"{name} must be a list of functions", "List zero-argument functions.", name)
        return tuple(sets)

    def _of_shape(self, shape: object) -> Callable[[], Any]:
        """The source of a held-out shape, written as in `SHAPES`."""
        try:
            return source_of(entries([shape])[0], self.module.get_inputs)
        except ShapeListError as error:
            raise self.refusal(f"HELD_OUT: {error}", SHAPES_REMEDY, "HELD_OUT") from None

    def _objective(self) -> Objective:
        """What the job asks for, else what the module says."""
        text = self.problem.objective or getattr(self.module, "OBJECTIVE", "")
        try:
            if not isinstance(text, str):
                raise ObjectiveError("it is not a text")
            return parse(text)
        except ObjectiveError as error:
            raise self._objective_refused(error) from None

    def _check_objective(self) -> None:
        try:
            self.objective.check(self.set_names)
        except ObjectiveError as error:
            raise self._objective_refused(error) from None

    def _objective_refused(self, error: ObjectiveError) -> Refused:
        return self.refusal(str(error), REMEDY, None if self.problem.objective else "OBJECTIVE")

    def _listed(self, memory_bytes: int | None) -> ListedShapes:
        """The input sets of the module's list of shapes."""
        value = getattr(self.module, "SHAPES", None)
        if value is None:
            return ListedShapes()
        wanted = (*self.objective.weights, *filter(None, (self.objective.name,)))
        try:
            with self.place.device:
                found = arranged(
                    entries(value), self.module.get_inputs, memory_bytes or self.place.free_bytes(), wanted
                )
        except ShapeListError as error:
            raise self.refusal(str(error), SHAPES_REMEDY, "SHAPES") from None
        if not found.announced:
            raise self.refusal(f"no entry of SHAPES can be used. {'; '.join(found.notes)}", SHAPES_REMEDY, "SHAPES")
        return found

    def _tolerances(self) -> dict[str, Tolerance]:
        given = getattr(self.module, "TOLERANCE", None)
        try:
            return tolerances(given)
        except (TypeError, ValueError) as error:
            remedy = 'Write TOLERANCE = {"float32": (atol, rtol)}.'
            raise self.refusal(f"TOLERANCE cannot be read: {error}", remedy, "TOLERANCE") from None


def _names(given: Sequence[str]) -> tuple[str, ...]:
    """Names of input sets, each once: lambdas, and functions of the same name, are counted."""
    found: list[str] = []
    for number, name in enumerate(given):
        unique = name if name not in found and name.isidentifier() else f"set{number}"
        found.append(unique)
    return tuple(found)


def _trained(model: torch.nn.Module) -> bool:
    """Give what holds one value others of the same sign, or small ones in the place of zeros; whether there is any."""
    norms = [part for part in model.modules() if isinstance(part, torch.nn.modules.batchnorm._NormBase)]
    statistics = [one for part in norms for one in (part.running_mean, part.running_var) if one is not None]
    given = [tensor.detach() for tensor in (*model.parameters(), *statistics)]
    found = [one for one in given if is_constant(one) or (one.numel() == 1 and one.is_floating_point())]
    for tensor in found:
        noise = torch.rand(tensor.shape, device=tensor.device).to(tensor.dtype)
        is_zero = bool((tensor == 0).all())
        tensor.copy_(noise - 0.5 if is_zero else tensor * (noise + 0.6))
    return bool(found)


def seed_everything(seed: int) -> None:
    """Seed every generator that a problem may draw from."""
    torch.manual_seed(seed)
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed % (1 << 32))


def doubled(value: Any) -> Any:
    """Floating-point tensors of a nested value in float64, complex ones in complex128."""

    def exact(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.is_complex():
            return tensor.to(torch.complex128)
        return tensor.double() if tensor.is_floating_point() else tensor.clone()

    return mapped(value, exact)


def moved(value: Any, device: torch.device) -> Any:
    """A nested value with its tensors on a device."""
    return mapped(value, lambda tensor: tensor.to(device))


def cloned(value: Any) -> Any:
    """A nested value with its tensors copied."""
    return mapped(value, torch.clone)


def _without_graph(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach() if tensor.requires_grad else tensor


def output_tensors(value: Any) -> list[torch.Tensor]:
    """The tensors that `forward` returned."""
    return flatten(value)


def _parse(problem: Problem) -> ast.Module:
    try:
        tree = ast.parse(problem.source, problem.path)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None)
        raise Refused(f"syntax error: {getattr(error, 'msg', error)}", "Correct the file.", line) from None
    defined = {name for node in tree.body for name in _defined(node)}
    for name, remedy in (
        ("Model", "Define `class Model(torch.nn.Module)` with a `forward` method."),
        ("get_inputs", "Define `get_inputs()` returning the list of arguments of `forward`."),
    ):
        if name not in defined:
            raise Refused(f"the module defines no {name}", remedy, None)
    return tree


def _defined(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {alias.asname or alias.name for alias in node.names}
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return {target.id for target in targets if isinstance(target, ast.Name)}


def _name(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__name__", "input set"))


def _line_in(error: BaseException, path: str) -> int | None:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    return frames[-1].lineno if frames else None
