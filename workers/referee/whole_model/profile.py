"""A whole model on one device: where its time goes, what the roofline leaves to win, and its parts as problems."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any

import torch

from services.domain.assembly import ENTRY, assembled
from services.domain.devices import DeviceSheet
from services.domain.models import ModelBlock, ModelOutline, ModelPart, ModelProfile
from services.domain.problems import Problem, ProblemAnalysis
from workers.referee.costs.analysis import exported
from workers.referee.costs.operator_costs import FREE
from workers.referee.costs.roofline import MICROSECONDS, floor_s
from workers.referee.errors import Refused
from workers.referee.problem.reference_problem import MODULE_NAME, ReferenceProblem, cloned, output_tensors
from workers.referee.validation import Progress, analysed
from workers.referee.whole_model.call_text import Node
from workers.referee.whole_model.operator_times import OperatorTimes, operator_times, repeated, sampled
from workers.referee.whole_model.outline import Names, UnwritableError, block_of, flat_inputs, outline_of
from workers.referee.whole_model.part_problems import NotAProblemError, Piece, lines_of, piece_of, problem_text
from workers.referee.whole_model.partition import calls, groups, is_part, name_of
from workers.runner.model import copy_state
from workers.runner.observation import observe

SEED = 1
TRACED = "traced_model"
AGREE_RTOL = 1e-4
TITLE_OPERATORS = 6


def profiled(problem: ReferenceProblem, device: DeviceSheet, progress: Progress) -> ModelProfile:
    """Trace, time and cut up a loaded model. Raises `Refused` with line and remedy where that is not possible."""
    progress("Model.forward", problem.line_of("Model.forward"))
    inputs = problem.make_inputs(0, SEED)
    survey = _Survey(problem, device, inputs, _traced(problem, inputs))
    try:
        outline = survey.outline()
    except UnwritableError as error:
        raise _refusal(problem, error) from None
    outline = _observed(problem, outline, inputs)
    line = problem.line_of("Model.forward")
    times = operator_times(survey.program, survey.values, problem.place, lambda: progress("the traced model", line))
    whole = repeated(lambda: problem.run(inputs), problem.place, lambda: progress("Model.forward", line))
    return survey.profile(outline, times, statistics.median(whole), progress)


@dataclass
class _Found:
    """One computation, in all its places."""

    pieces: list[Piece] = field(default_factory=list)

    @property
    def first(self) -> Piece:
        return self.pieces[0]


class _Survey:
    """A traced model in groups."""

    def __init__(self, problem: ReferenceProblem, device: DeviceSheet, inputs: Sequence[Any], program: Any) -> None:
        self._problem = problem
        self._device = device
        self._inputs = inputs
        self.program = program
        self.values = flat_inputs(problem, program, inputs)
        self._groups = groups(calls(program.graph))
        self._found: dict[str, _Found] = {}
        self._keys: list[str | None] = []

    def outline(self) -> ModelOutline:
        """The model as blocks; parts are numbered as they come. Raises `UnwritableError`."""
        named = Names(self.program)
        weights = frozenset(
            node for node in self.program.graph.nodes if node.op == "placeholder" and node.name not in named.inputs
        )
        blocks = []
        for group in self._groups:
            piece = piece_of(group, weights)
            key = piece.key if is_part(group) and piece.results else None
            if key is not None:
                self._found.setdefault(key, _Found()).pieces.append(piece)
            self._keys.append(key)
            number = None if key is None else list(self._found).index(key) + 1
            blocks.append(block_of(group, piece, named, number))
        return outline_of(self._problem, self.program, named, blocks, self._inputs)

    def profile(self, outline: ModelOutline, times: OperatorTimes, eager_s: float, progress: Progress) -> ModelProfile:
        """Everything, the parts by what they could win."""
        total = sum(times.seconds.values())
        first = [found.first for found in self._found.values()]
        samples = sampled(self.program, self.values, frozenset(node for piece in first for node in piece.inputs))
        parts = []
        for number, found in enumerate(self._found.values(), start=1):
            progress(f"part {number} of the model", None)
            parts.append(self._part(number, found, times, total, samples))
        ranked = sorted(parts, key=lambda part: (-part.ceiling, part.number))
        ranks = {part.number: rank for rank, part in enumerate(ranked, start=1)}
        return ModelProfile(
            name=outline.name,
            device=self._device.name,
            operators=len(times.seconds),
            time_us=total * MICROSECONDS,
            eager_us=eager_s * MICROSECONDS,
            runs=times.runs,
            parts=tuple(_numbered(part, ranks[part.number]) for part in ranked),
            outline=replace(outline, blocks=tuple(_renumbered(block, ranks) for block in outline.blocks)),
        )

    def _part(
        self, number: int, found: _Found, times: OperatorTimes, total: float, samples: dict[Node, torch.Tensor]
    ) -> ModelPart:
        seconds = sum(times.seconds.get(node, 0.0) for piece in found.pieces for node in piece.nodes)
        operators = _operators(found.first.nodes)
        nodes = [node for piece in found.pieces for node in piece.nodes]
        lines = lines_of(nodes, self._problem.problem.path)
        source, analysis, note = self._as_problem(found, operators, lines, samples)
        floor, bound = self._floor(analysis)
        return ModelPart(
            number=number,
            name="_".join(dict.fromkeys(operators))[:60],
            operators=operators,
            lines=lines,
            count=len(found.pieces),
            time_us=seconds * MICROSECONDS,
            share=seconds / max(total, 1e-12),
            floor_us=floor * len(found.pieces) * MICROSECONDS,
            bound=bound,
            source=source,
            analysis=analysis,
            note=note,
        )

    def _as_problem(
        self, found: _Found, operators: tuple[str, ...], lines: tuple[int, ...], samples: dict[Node, torch.Tensor]
    ) -> tuple[str | None, ProblemAnalysis | None, str | None]:
        title = _title(self._problem.problem.path, operators, lines, len(found.pieces))
        try:
            source = problem_text(found.first, samples, title)
            with _module_kept():
                part = ReferenceProblem(Problem(name="part", source=source, path="part.py"), self._problem.place)
                analysis = analysed(part, self._device, lambda _what, _line: None, size_numbers=False)
        except NotAProblemError as error:
            return None, None, str(error)
        except Refused as refusal:
            return None, None, f"it does not work as a problem of its own: {refusal.reason}"
        return source, analysis, None

    def _floor(self, analysis: ProblemAnalysis | None) -> tuple[float, str]:
        """Seconds that one place needs at least, and what they rest on: nothing is faster than an empty call."""
        launch = self._device.launch_us / MICROSECONDS
        memory, compute = (0.0, 0.0) if analysis is None else floor_s(analysis, self._device)
        if max(memory, compute) <= launch:
            return launch, "latency"
        return (memory, "memory") if memory >= compute else (compute, "compute")


def _traced(problem: ReferenceProblem, inputs: Sequence[Any]) -> Any:
    """The exported program. Raises `Refused` naming the line of the model that cannot be traced."""
    for value in inputs:
        if not isinstance(value, torch.Tensor | bool | int | float | str | None):
            raise problem.refusal(
                f"get_inputs returns a {type(value).__name__}",
                "Give the model tensors and numbers, each as an argument of its own.",
                "get_inputs",
            )
    try:
        program = exported(problem.model, inputs)
    except Exception as error:  # noqa: BLE001 - torch.export raises anything; the reason is reported
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        line = _line_of(error, problem.problem.path) or problem.line_of("Model.forward")
        remedy = "Make what forward does depend on shapes only, not on values (no if, loop or .item() on a tensor)."
        raise Refused(f"the model cannot be traced: {reason[:300]}", remedy, line) from None
    for node in program.graph.nodes:
        known = node.op != "call_function" or isinstance(node.target, torch._ops.OpOverload)
        if not known and name_of(node) != "getitem":
            raise _refusal(
                problem, UnwritableError(f"the trace holds {node.target}", "Write forward without it.", node)
            )
    return program


def _observed(problem: ReferenceProblem, outline: ModelOutline, inputs: Sequence[Any]) -> ModelOutline:
    """The outline with the operators that run in each block. Raises `Refused` where it does not compute the model."""
    model = _built(problem, outline)
    with torch.no_grad():
        expected = output_tensors(problem.run(cloned(list(inputs))))
        blocks, found = _walked(model, outline, inputs)
    for one, other in zip(expected, found, strict=True):
        scale = max(float(one.abs().max()), 1.0) if one.numel() and one.is_floating_point() else 1.0
        if not torch.allclose(one, other, rtol=AGREE_RTOL, atol=AGREE_RTOL * scale, equal_nan=True):
            remedy = "Remove state and randomness from forward."
            raise problem.refusal("the traced model gives other values than the model", remedy, "Model.forward")
    return replace(outline, blocks=tuple(blocks))


def _built(problem: ReferenceProblem, outline: ModelOutline) -> torch.nn.Module:
    """The traced model with the model's own state."""
    module = ModuleType(TRACED)
    exec(compile(assembled(outline, {}, "the model as traced"), f"{TRACED}.py", "exec"), module.__dict__)  # noqa: S102 - our own text
    with problem.place.device:
        model: torch.nn.Module = getattr(module, ENTRY)().to(problem.place.device)
    names, tensors = zip(*problem.state(), strict=True) if problem.state() else ((), ())
    copy_state(model, names, tensors)
    return model


def _walked(
    model: torch.nn.Module, outline: ModelOutline, inputs: Sequence[Any]
) -> tuple[list[ModelBlock], list[torch.Tensor]]:
    """The blocks run one after another, with what ran in each; and what forward returns."""
    space: dict[str, Any] = {"torch": torch, "F": torch.nn.functional, "self": model}
    space |= dict(zip(outline.inputs, cloned(list(inputs)), strict=True))
    blocks = []
    for block in outline.blocks:
        text = "\n".join(block.lines)
        try:
            _, ran = observe(lambda code=text: exec(code, space), ())  # noqa: S102 - our own text
        except Exception as error:  # noqa: BLE001 - a call that has no form as PyTorch
            reason = next(iter(str(error).splitlines()), type(error).__name__)
            remedy = "Write this operation with functions of torch or torch.nn.functional."
            raise Refused(f"`{text}` cannot be written as a call of PyTorch: {reason[:200]}", remedy, None) from None
        called = {line.split("(")[0].rsplit(".", 1)[-1] for line in block.lines if "(" in line}
        blocks.append(replace(block, operators=tuple(sorted(set(ran) | called))))
    return blocks, output_tensors(eval(outline.result, space))  # noqa: S307 - our own text


def _refusal(problem: ReferenceProblem, error: UnwritableError) -> Refused:
    lines = () if error.node is None else lines_of([error.node], problem.problem.path)
    line = lines[0] if lines else problem.line_of("Model.forward")
    return Refused(f"the model cannot be cut up: {error}", error.remedy, line)


def _line_of(error: BaseException | None, path: str) -> int | None:
    """The innermost line of a file that an error, or what it came from, passed through."""
    while error is not None:
        trace, line = error.__traceback__, None
        while trace is not None:
            line = trace.tb_lineno if trace.tb_frame.f_code.co_filename == path else line
            trace = trace.tb_next
        if line is not None:
            return line
        error = error.__cause__ or error.__context__
    return None


def _operators(nodes: Sequence[Node]) -> tuple[str, ...]:
    working = tuple(name_of(node) for node in nodes if name_of(node) not in FREE | {"getitem", "_unsafe_view"})
    return working or tuple(name_of(node) for node in nodes)


def _title(path: str, operators: tuple[str, ...], lines: tuple[int, ...], count: int) -> str:
    named = ", ".join(operators[:TITLE_OPERATORS]) + (", …" if len(operators) > TITLE_OPERATORS else "")
    where = f" (lines {', '.join(map(str, lines))})" if lines else ""
    place = path.replace("\\", "/").rsplit("/", 1)[-1].replace('"', "'")
    return f"Part of {place}{where}: {named}. The model computes it in {count} place{'' if count == 1 else 's'}."


def _numbered(part: ModelPart, rank: int) -> ModelPart:
    return replace(part, number=rank, name=f"part{rank}_{part.name}")


def _renumbered(block: ModelBlock, ranks: dict[int, int]) -> ModelBlock:
    return block if block.part is None else replace(block, part=ranks[block.part])


@contextmanager
def _module_kept() -> Iterator[None]:
    """A problem is imported under a fixed name; the model's own module stays there."""
    kept = sys.modules.get(MODULE_NAME)
    try:
        yield
    finally:
        if kept is not None:
            sys.modules[MODULE_NAME] = kept
