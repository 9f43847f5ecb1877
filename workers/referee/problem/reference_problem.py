"""The imported problem: its module, its reference model, its inputs, and where in the file things are."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
import inspect
import linecache
import math
import random
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any

import torch

from services.domain.errors import InfrastructureError
from services.domain.objectives import REMEDY, Objective, ObjectiveError, parse
from services.domain.problems import ArgumentForm, CallForm, Problem, TensorForm
from services.domain.shape_lists import REMEDY as SHAPES_REMEDY
from services.domain.shape_lists import ShapeListError, entries
from workers.ipc.placement import TensorDevice
from workers.ipc.tensors import (
    DataError,
    TensorMeta,
    check_supported,
    encode,
    flatten,
    leaves,
    mapped,
    relaid,
    structure,
    with_leaves,
)
from workers.referee.comparison.tolerance import tolerances
from workers.referee.errors import Refused
from workers.referee.problem.differentiation import NoGradientError, draw_cotangent, gradient_names, marked, plan_of
from workers.referee.problem.float64 import in_float64
from workers.referee.problem.listed_shapes import ListedShapes, arranged, source_of
from workers.referee.problem.problem_file import line_in, line_of, parsed
from workers.referee.problem.process_state import as_found
from workers.runner.model import state_of
from workers.runner.step import DENSE, GraphUse, ModelStep, StepPlan

MODULE_NAME = "kernelwright_problem"
PLAIN = (bool, int, float, str, type(None))
NUMBERS_SEED = 1
"""Of the draw that says which plain numbers an input set has: a problem is examined under it too."""
SHOWN = 4
"""Of the tensors that a refusal names."""


class ReferenceProblem:
    """An imported problem. Raises `Refused` with reason, remedy and line when its file cannot be used."""

    def __init__(
        self,
        problem: Problem,
        place: TensorDevice | None = None,
        *,
        memory_bytes: int | None = None,
        init_seed: int = 0,
        sample_seed: int = 0,
    ) -> None:
        """`memory_bytes` bounds a process: shapes of a list that need more are left out. The model's weights are drawn
        under `init_seed`, the held-out shapes of a list under `sample_seed`."""
        self.problem = problem
        self.place = place or TensorDevice()
        self.init_seed = init_seed
        self.changing: tuple[str, ...] = ()
        """The model's parameters and buffers that a call changes, where that was looked at."""
        self._kept: dict[str, torch.Tensor] = {}
        """The values of those that each call finds."""
        self.tree = parsed(problem)
        self.torch_found = as_found()
        """PyTorch as it was before the problem's code ran."""
        self.module = self._guarded("the module", self._import)
        functions = self._sets("INPUT_SETS")
        self.objective = self._objective()
        listed = self._listed(memory_bytes, sample_seed)
        self.input_sets = (*functions, *(source for _, source in listed.announced))
        self.held_out = (*self._sets("HELD_OUT"), *listed.others)
        names = _names(["get_inputs", *map(_name, functions)])
        self.set_names = (*names, *(name for name, _ in listed.announced))
        """What the objective calls the open input sets, the first one's first."""
        self.notes = listed.notes
        """What became of the problem's list of shapes."""
        self._check_objective()
        self.init_inputs = self._init_inputs()
        self.init_sets = self._sets("INIT_SETS")
        """What else the model may be built with, the inputs being the same."""
        self.model: torch.nn.Module = self._guarded("Model", lambda: self._construct(self.init_inputs))
        self.tolerance = self._tolerance()
        """What the module's `TOLERANCE` says: atol and rtol by dtype."""
        self._input_metas: dict[int, list[TensorMeta]] = {}
        self._numbers: dict[int, list[Any]] = {}
        """Of each input set, what all its draws have where their plain numbers would not be the same."""
        self._output_metas: dict[str, list[TensorMeta]] = {}
        """Of what a call returns, by what is called and what its arguments are but for the tensors' values."""
        self.gradient_names: tuple[str, ...] = ()
        """Names of the gradients that are judged; empty where only the forward pass is."""
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
        metas = _metas(drawn)
        known = self._input_metas.setdefault(number, metas)
        if known != metas:
            name = _name(self._source_of(number))
            reason = f"{name}() gives {_in_words(known)} under one seed and {_in_words(metas)} under another"
            remedy = "Draw values at random, not sizes or dtypes; give other sizes in INPUT_SETS or HELD_OUT."
            raise self.refusal(reason, remedy, name)
        if self._learn_numbers(number, seed, drawn):  # cotangents follow from where that left the generator
            drawn = mapped(self._drawn(number, seed), _without_graph)
        drawn = self._with_its_numbers(number, drawn)
        return drawn if self.step is None else self.with_cotangents(drawn, layout)

    def _learn_numbers(self, number: int, seed: int, drawn: list[Any]) -> bool:
        """Remember what all draws of an input set have where their plain numbers would not be the same; whether that
        took a draw of its own."""
        if number in self._numbers or all(isinstance(leaf, torch.Tensor) for _, leaf in leaves(drawn)):
            return False
        first = drawn if seed == NUMBERS_SEED else self._drawn(number, NUMBERS_SEED)
        self._numbers[number] = [_copied(leaf) for _, leaf in leaves(first) if not _is_of_floats(leaf)]
        return first is not drawn

    def _with_its_numbers(self, number: int, drawn: list[Any]) -> list[Any]:
        """A draw. Where its plain numbers are not those of the input set's draw under `NUMBERS_SEED`, it gets that
        one's, with the whole numbers and masks that they may come from, such as a longest length from offsets:
        after a first call, a kernel gets other tensors and no other numbers."""
        if number not in self._numbers:
            return drawn
        found = [leaf for _, leaf in leaves(drawn)]
        places, known = [place for place, leaf in enumerate(found) if not _is_of_floats(leaf)], self._numbers[number]
        if len(places) != len(known):
            return drawn
        pairs = list(zip(places, known, strict=True))
        if all(found[place] == leaf for place, leaf in pairs if not isinstance(leaf, torch.Tensor)):
            return drawn
        for place, leaf in pairs:
            found[place] = _copied(leaf)
        return list(with_leaves(drawn, found))

    def forward_arguments(self, arguments: Sequence[Any]) -> list[Any]:
        """Of a call's arguments, those of `forward`."""
        return list(arguments) if self.step is None else self.step.plan.forward_arguments(arguments)

    def with_cotangents(self, arguments: Sequence[Any], layout: int = DENSE) -> list[Any]:
        """Arguments of a call from those of `forward`, with cotangents drawn for them. Raises `Refused`."""
        if self.step is None:
            return list(arguments)
        call = _call(self.model, arguments)
        if call not in self._output_metas:
            self._called(self.model, cloned(list(arguments)))
        wanted = [self._output_metas[call][index] for index in self.step.plan.outputs]
        drawn = [draw_cotangent(meta.shape, meta.torch_dtype, self.place.device) for meta in wanted]
        return [*arguments, *drawn, layout]

    def calls(self) -> tuple[CallForm, ...]:
        """Forms of the arguments of `forward` in all input sets, each once. Held-out sets are made without memory; one
        that cannot be is left out."""
        numbers = (*range(len(self.input_sets) + 1), *range(-len(self.held_out), 0))
        found = (self._forms(number) for number in numbers)
        return tuple(dict.fromkeys(forms for forms in found if forms is not None))

    def _forms(self, number: int) -> CallForm | None:
        try:
            with torch.device("meta"):
                drawn = list(self._source_of(number)())
        except (Exception, SystemExit):  # noqa: BLE001 - it looks at values, or names a device
            if number < 0:
                return None
            drawn = self._drawn(number, 1)
        return tuple(_form(value) for value in drawn)

    def _drawn(self, number: int, seed: int) -> list[Any]:
        """What the problem's own function returns, tensors marked for differentiation among it."""
        source = self._source_of(number)
        seed_everything(seed)
        arguments = self._guarded(_name(source), lambda: self._placed(source))
        if not isinstance(arguments, list | tuple):
            raise self.refusal(f"{_name(source)}() must return a list of arguments", "Return a list.", _name(source))
        for number, value in enumerate(arguments):
            try:
                encode(value, [])
            except DataError as error:
                reason = f"{_name(source)}(): {self._argument(number)}: {error}"
                raise self.refusal(reason, "Use supported tensors and plain data.", _name(source)) from None
        return list(arguments)

    def _argument(self, number: int) -> str:
        """The name of an argument of `forward`."""
        names = self.argument_names
        return f"`{names[number]}`" if number < len(names) else f"argument {number}"

    @property
    def argument_names(self) -> tuple[str, ...]:
        """The parameters of `Model.forward`, as far as they have names of their own."""
        return tuple(one.name for one in self._parameters())

    @property
    def defaults(self) -> dict[str, bool | int | float | str | None]:
        """Of those of them that may be left out, what they are then, where that is plain."""
        known = {one.name: one.default for one in self._parameters() if type(one.default) in PLAIN}
        return {name: value for name, value in known.items() if not isinstance(value, float) or math.isfinite(value)}

    def _parameters(self) -> list[inspect.Parameter]:
        parameters = inspect.signature(self.model.forward).parameters.values()
        named = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        return [one for one in parameters if one.kind in named]

    def _placed(self, source: Callable[[], Any]) -> Any:
        """Values made on the device: what is made without naming one there, and the rest moved."""
        with self.place.device:
            return mapped(source(), lambda tensor: tensor.to(self.place.device))

    def _source_of(self, number: int) -> Callable[[], Any]:
        if number == 0:
            return self.module.get_inputs  # type: ignore[no-any-return]
        return self.input_sets[number - 1] if number > 0 else self.held_out[-number - 1]

    def run(self, arguments: Sequence[Any], use: GraphUse | None = None) -> Any:
        """What the reference returns, and the gradients where they are asked for, with another `use` of a step's graph
        than the usual one. The arguments are left alone by honest references only."""
        return self._called(self.model if self.step is None else _used(self.step, use), arguments)

    def run_first_pass(self, arguments: Sequence[Any]) -> Any:
        """What a step's forward pass alone hands over. Of problems with a backward pass only."""
        assert self.step is not None
        return self._called(self.step.first_pass, arguments)

    def _called(self, function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        call = _call(function, arguments)
        with torch.no_grad():
            try:
                outputs = self._guarded("Model.forward", lambda: function(*arguments))
            finally:
                self._put_back()
        for index, tensor in enumerate(flatten(outputs)):
            self.check_supported(f"Model.forward: output {index}", tensor, "Model.forward")
        metas = _metas(outputs)
        known = self._output_metas.setdefault(call, metas)
        if known != metas:
            both = f"{_in_words(known)} in one call and {_in_words(metas)} in another"
            remedy = "Let sizes and dtypes of the outputs follow from those of the inputs: mask elements, or pad."
            raise self.refusal(f"Model.forward returns {both} of the same sizes", remedy, "Model.forward")
        return outputs

    def keep(self, names: Sequence[str]) -> None:
        """Have each call find the parameters and buffers of these names, which calls change, as the model was built."""
        self.changing = tuple(names)
        if not names:
            return
        built = self._guarded("Model", lambda: self._construct(self.init_inputs))
        values = {name: tensor.detach() for name, tensor in (*built.named_parameters(), *built.named_buffers())}
        self._kept = {name: values[name] for name in names}
        self._put_back()

    def _put_back(self) -> None:
        """Give what calls change its values again."""
        state = dict(self.state()) if self._kept else {}
        for name, value in self._kept.items():
            state[name].copy_(value)

    def run_double(self, arguments: Sequence[Any]) -> Any | None:
        """The reference in float64, whatever it names; None where it cannot be run so."""
        found = self.run_double_in_place(arguments)
        return None if found is None else found[0]

    def run_double_in_place(
        self, arguments: Sequence[Any], use: GraphUse | None = None
    ) -> tuple[Any, list[Any]] | None:
        """The same, with the arguments in float64 as the call leaves them."""

        def run() -> tuple[Any, list[Any]]:
            given = doubled(list(arguments))
            return _used(self._double(), use)(*given), given

        try:
            with torch.no_grad():
                return in_float64(run)
        except torch.OutOfMemoryError as error:
            raise InfrastructureError(f"no room for the reference in float64: {str(error)[:200]}") from None
        except Exception:  # noqa: BLE001 - untrusted code that was not written for float64
            return None

    def _double(self) -> Any:
        return copy.deepcopy(self.model if self.step is None else self.step).double()

    @contextlib.contextmanager
    def standing_in(self, model: torch.nn.Module, init_inputs: Any = None) -> Iterator[None]:
        """Inside, another model is the reference, built with other init inputs where they are given."""
        usual = self.model, self.init_inputs, self.step, self._output_metas, self._kept
        self.model, self._kept = model, {}
        if init_inputs is not None:
            self.init_inputs, self._output_metas = init_inputs, {}  # outputs may have other shapes
        if self.step is not None:
            self.step = ModelStep(model, self.step.plan)
        try:
            yield
        finally:
            self.model, self.init_inputs, self.step, self._output_metas, self._kept = usual

    @contextlib.contextmanager
    def other_settings(self, number: int) -> Iterator[None]:
        """Inside, the reference is built with the init inputs of `INIT_SETS[number]`. Raises `Refused`."""
        init = self._init_of(self.init_sets[number], f"INIT_SETS[{number}]")
        with self.standing_in(self._guarded("Model", lambda: self._construct(init)), init):
            yield

    def state(self) -> list[tuple[str, torch.Tensor]]:
        """Parameters, then buffers that are saved, then those that are not; each in order of registration."""
        return [(name, tensor.detach()) for name, tensor in state_of(self.model)]

    def refusal(self, reason: str, remedy: str, name: str | None = None) -> Refused:
        """A refusal that points at the definition of `name`."""
        return Refused(reason, remedy, self.line_of(name) if name else None)

    def check_supported(self, what: str, tensor: torch.Tensor, name: str) -> None:
        """Refuse, at the definition of `name`, a tensor that cannot be handed to another process."""
        try:
            check_supported(tensor)
        except DataError as error:
            raise self.refusal(f"{what}: {error}", "Convert it to a supported one.", name) from None

    def line_of(self, name: str) -> int | None:
        """The line that defines a function, class, method (`Model.forward`) or variable."""
        return line_of(self.tree, name)

    def _guarded(self, name: str, function: Callable[[], Any]) -> Any:
        try:
            return function()
        except (Refused, NoGradientError):
            raise
        except BaseException as error:  # noqa: BLE001 - untrusted code may raise anything, SystemExit too
            line = line_in(error, self.problem.path)
            text = "".join(traceback.format_exception_only(error)).strip()[:1000]
            if isinstance(error, MemoryError) or "can't allocate memory" in text:
                remedy = "Make the problem smaller, or give workers more memory."
                raise Refused(f"{name} ran out of memory: {text}", remedy, line or self.line_of(name)) from None
            remedy = (
                "Repair it. If the file runs with plain PyTorch, it uses what a sandbox does not have: network, other "
                "files or packages, more threads."
            )
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
        return self._init_of(source, "get_init_inputs") if source else []

    def _init_of(self, source: Callable[[], Any], name: str) -> Any:
        """What `Model` is built with: arguments in order, or by keyword."""
        seed_everything(self.init_seed)
        values = self._guarded(name, lambda: self._placed(source))
        try:
            encode(values, [])
        except DataError as error:
            raise self.refusal(f"{name}(): {error}", "Use plain data.", name) from None
        return values if isinstance(values, dict) else list(values)

    def _construct(self, init: Any) -> torch.nn.Module:
        torch.manual_seed(self.init_seed)
        kind = self.module.Model
        with self.place.device:
            model = kind(**init) if isinstance(init, dict) else kind(*init)
        if not isinstance(model, torch.nn.Module):
            raise self.refusal("Model is no torch.nn.Module", "Derive Model from torch.nn.Module.", "Model")
        return model.to(self.place.device)

    def built_under(self, seed: int) -> torch.nn.Module:
        """A model built under another seed, from the same arguments, in the same mode. Raises `Refused`."""
        usual, self.init_seed = self.init_seed, seed
        try:
            model: torch.nn.Module = self._guarded("Model", lambda: self._construct(self.init_inputs))
            return model
        finally:
            self.init_seed = usual

    def draw_weights_anew(self, seed: int) -> None:
        """Build the model under another seed, from the same arguments."""
        self.init_seed = seed
        self.model = self._guarded("Model", lambda: self._construct(self.init_inputs))
        self.keep(self.changing)
        if self.step is not None:
            self.step = ModelStep(self.model, self.step.plan)

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

    def _listed(self, memory_bytes: int | None, sample_seed: int) -> ListedShapes:
        """The input sets of the module's list of shapes."""
        value = getattr(self.module, "SHAPES", None)
        if value is None:
            return ListedShapes()
        wanted = (*self.objective.weights, *filter(None, (self.objective.name,)))
        try:
            with self.place.device:
                found = arranged(
                    entries(value),
                    self.module.get_inputs,
                    memory_bytes or self.place.free_bytes(),
                    wanted,
                    seed=sample_seed,
                )
        except ShapeListError as error:
            raise self.refusal(str(error), SHAPES_REMEDY, "SHAPES") from None
        if not found.announced:
            raise self.refusal(f"no entry of SHAPES can be used. {'; '.join(found.notes)}", SHAPES_REMEDY, "SHAPES")
        return found

    def _tolerance(self) -> dict[str, tuple[float, float]]:
        given = getattr(self.module, "TOLERANCE", None)
        try:
            return {name: (one.atol, one.rtol) for name, one in tolerances(given).items() if one.given}
        except (TypeError, ValueError) as error:
            remedy = 'Write TOLERANCE = {"float32": (atol, rtol)}.'
            raise self.refusal(f"TOLERANCE cannot be read: {error}", remedy, "TOLERANCE") from None


def _used(step: Callable[..., Any], use: GraphUse | None) -> Callable[..., Any]:
    """A step whose graph is used so."""
    return step if use is None or not isinstance(step, ModelStep) else functools.partial(step.used, use)


def _names(given: Sequence[str]) -> tuple[str, ...]:
    """Names of input sets, each once: lambdas, and functions of the same name, are counted."""
    found: list[str] = []
    for number, name in enumerate(given):
        unique = name if name not in found and name.isidentifier() else f"set{number}"
        found.append(unique)
    return tuple(found)


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


def cloned(value: Any) -> Any:
    """A nested value with its tensors copied, which lie in memory as those do."""
    tensors = flatten(value)
    copies = iter(relaid([tensor.clone() for tensor in tensors], tensors))
    return mapped(value, lambda _: next(copies))


def _without_graph(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach() if tensor.requires_grad else tensor


def _is_of_floats(leaf: object) -> bool:
    return isinstance(leaf, torch.Tensor) and (leaf.is_floating_point() or leaf.is_complex())


def _copied(leaf: Any) -> Any:
    return leaf.detach().clone() if isinstance(leaf, torch.Tensor) else leaf


def output_tensors(value: Any) -> list[torch.Tensor]:
    """The tensors that `forward` returned."""
    return flatten(value)


def _metas(value: Any) -> list[TensorMeta]:
    return [TensorMeta.of(tensor) for tensor in flatten(value)]


def _call(function: object, arguments: Sequence[Any]) -> str:
    """What is the same of two calls that differ in the values of tensors only."""
    tensors: list[torch.Tensor] = []
    plain = structure(list(arguments), tensors)
    return repr((type(function).__name__, plain, _metas(tensors)))


def _in_words(metas: Sequence[TensorMeta]) -> str:
    """Dtypes and shapes, as a refusal names them."""
    shown = ", ".join(f"{meta.dtype}{list(meta.shape)}" for meta in metas[:SHOWN])
    more = len(metas) - SHOWN
    return f"({shown} and {more} more)" if more > 0 else f"({shown})"


def _name(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__name__", "input set"))


def _form(value: Any) -> ArgumentForm:
    if isinstance(value, torch.Tensor):
        return TensorForm(dtype=str(value.dtype).removeprefix("torch."), rank=value.dim(), is_empty=value.numel() == 0)
    return tuple(form for part in _parts(value) for form in _tensor_forms(_form(part))) or None


def _tensor_forms(form: ArgumentForm) -> tuple[TensorForm, ...]:
    return (form,) if isinstance(form, TensorForm) else form or ()


def _parts(value: Any) -> Sequence[Any]:
    """What a nested argument holds, one level of it."""
    if isinstance(value, dict):
        return tuple(value.values())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [getattr(value, field.name) for field in dataclasses.fields(value)]
    return value if isinstance(value, list | tuple) else ()
