"""The referee's baselines: one warm baseline process per problem, its input slots, and what it measured."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from services.domain.measurements import BASELINES, Baselines, Latency
from services.domain.validations import CompilerDraft
from workers.ipc.tensors import TensorMeta, flatten
from workers.referee.baselines.correctness import BaselineJudge, Reference, WrongBaseline
from workers.referee.baselines.process import ANY_SIZES
from workers.referee.boundary.exchange import TimeLimit
from workers.referee.boundary.isolated_problem import IsolatedProblem
from workers.referee.boundary.runner_client import RunnerSession
from workers.referee.boundary.slots import Slot
from workers.referee.boundary.worker_client import Runner, WorkerLink
from workers.referee.errors import RunnerFault, WorkerRefusal
from workers.referee.inputs.large_inputs import is_large
from workers.referee.timing import stopwatch
from workers.referee.timing.single_calls import Alone, ProtocolCost, SamplingBudget, Side
from workers.referee.timing.statistics import NoFigureError, is_told, latency
from workers.runner.answers import Acknowledged, CodeDrafted
from workers.runner.protocol import AddIdle, CompileModel, DraftCode

COMPILE_LIMIT_S = 180.0
START_LIMIT_S = 60.0
DRAFT_LIMIT_S = 120.0
LEAST_GAIN = 0.02
"""By which searched code must be faster than plain compiled code to be the compiler's draft."""
LEAST_AGE_S = 60.0
"""Younger figures are kept: a machine that drifts would do nothing else."""
DRIFT = 1.3
MODELS = {"compile_max": ("max-autotune-no-cudagraphs", "tuned")}
"""Baselines that are the fastest of several ways of compiling."""
BASELINE_BUDGET = SamplingBudget(seconds=0.2, least=2, most=14)
COST_CALLS = 15
STATIC_SETS = 8
"""Input sets up to which compilers are given each set's sizes: each costs a compilation of seconds, and Dynamo gives up
after so many. Problems with more have code for any size compiled for the sets after the first."""
TURNS = 4
"""How often each baseline's turn comes: a machine's drift lasts for seconds, and the fastest is picked from these."""
MOST_TURNS = 12
"""How often where calls of one cannot be distinguished from calls that compute nothing by then."""


class BaselineBench:
    """Measures the reference through the candidates' own protocol. Survives candidates; restarted when it dies."""

    def __init__(
        self,
        link: WorkerLink,
        problem: IsolatedProblem,
        known: Baselines,
        threads: int,
        *,
        reference: Reference,
        age_s: float = 0.0,
    ) -> None:
        """`known` was measured `age_s` seconds ago; `reference` says what is right."""
        self._judge = BaselineJudge(reference, problem)
        self._link = link
        self._problem = problem
        self._threads = threads
        self._runner: Runner | None = None
        self._slots: dict[int, Slot] = {}
        self._ready: set[tuple[str, int]] = set()
        self._of_sets: dict[int, Baselines] = {}
        """What is known of the baselines on further input sets."""
        self._compiled: set[str] = set()
        self._idle: set[int] = set()
        """The input set whose outputs the model that computes nothing returns, where there is one."""
        self._measured_at = time.monotonic() - age_s
        self._canary_s: dict[str, float] = {}
        self._drift: str | None = None
        self._quickest_us: dict[str, float] = {}
        """The lowest median of each baseline so far, on input set 0."""
        self.baselines = known
        self.notes: dict[str, str] = {}
        """Why a baseline is absent, or one of its ways of compiling: it is wrong, or it failed."""
        self.untold: dict[tuple[str, int], str] = {}
        """Why a baseline has no figure on an input set for now: it is measured again when it is next asked for."""

    @property
    def disagreement(self) -> str | None:
        """What eager mode gives in the baselines' process that the reference does not give in the referee's."""
        return self._judge.disagreement

    def refresh(self, max_age_s: float) -> str | None:
        """Forget what is older than that, or what the machine has drifted away from; why, where something was.

        What is forgotten is measured again when it is next asked for."""
        age = time.monotonic() - self._measured_at
        if self.baselines == Baselines() or age < LEAST_AGE_S:
            return None
        why = f"older than {max_age_s:.0f} s" if age > max_age_s else self._drift
        if why is not None:
            self.baselines, self.notes, self._of_sets = Baselines(), {}, {}
            self._canary_s, self._drift = {}, None
        return why

    def observe(self, name: str, seconds: float) -> None:
        """A baseline's median next to a candidate on input set 0: it is the canary that shows a machine's drift."""
        first = self._canary_s.setdefault(name, seconds)
        ratio = seconds / first if first > 0 else 1.0
        if not 1 / DRIFT <= ratio <= DRIFT:
            self._drift = f"{name} takes {ratio:.2f} times as long as it did"

    def ensure(self, names: tuple[str, ...], arguments: list[Any], metas: list[TensorMeta]) -> Baselines:
        """Measure the named baselines that are not known yet, on input set 0, in turns with all that were asked for.

        One that is wrong or fails is absent, with a note; so is one that has no figure on a busy machine, for now.
        Raises `Refused` where the reference is another in the baselines' process."""
        if all(getattr(self.baselines, name, None) is not None or name in self.notes for name in names):
            return self.baselines
        self.untold = {key: why for key, why in self.untold.items() if key[1] != 0}
        if self.baselines == Baselines():
            self._measured_at = time.monotonic()
        found: dict[tuple[str, str], Alone] = {
            (name, model): Alone() for name in names if name not in self.notes for model in MODELS.get(name, (name,))
        }
        failed: dict[tuple[str, str], RunnerFault] = {}
        for turn in range(MOST_TURNS):
            running = [key for key in found if key not in failed]
            if turn >= TURNS and all(is_told(found[key].seconds, found[key].off) for key in running):
                break
            for name, model in running:
                try:
                    found[name, model].add(self._turn(model, arguments, metas))
                except RunnerFault as fault:
                    failed[name, model] = fault
                    self._end_after(fault)
        for name in {name for name, _ in found}:
            self._keep(name, {key: values for key, values in found.items() if key[0] == name}, failed)
        return self.baselines

    def _keep(self, name: str, timed: dict[tuple[str, str], Alone], failed: dict[tuple[str, str], RunnerFault]) -> None:
        """The fastest of a baseline's ways of compiling that are right; notes on those that are not, and where none
        works."""
        ran = {model: values for (_, model), values in timed.items() if (name, model) not in failed}
        faults = {model: fault for (of, model), fault in failed.items() if of == name}
        if not ran:
            faulty = sorted(faults.values(), key=lambda fault: not isinstance(fault, WrongBaseline))
            self._leave_out(name, 0, faulty[0])
            return
        for model, fault in faults.items():
            if isinstance(fault, WrongBaseline):
                self.notes[f"{name} by {model}"] = f"{_why(name, 0, fault)} (by {model}; its other way counts)"
        figures = {model: self._figures(name, 0, values) for model, values in ran.items()}
        found = [
            replace(one, mode=model if name in MODELS else None) for model, one in figures.items() if one is not None
        ]
        if len(found) < len(figures):
            return
        best = min(found, key=lambda one: one.median_us)
        self.baselines = replace(self.baselines, **{name: best})
        self._quickest_us[name] = min(best.median_us, self._quickest_us.get(name, best.median_us))

    def _leave_out(self, name: str, number: int, fault: RunnerFault) -> None:
        """A baseline that is wrong on an input set, or fails there, is absent there, and a note says which."""
        self._forget(name, number)
        self.notes[name if number == 0 else _on_set(name, number)] = _why(name, number, fault)

    def _forget(self, name: str, number: int) -> None:
        """Have no figure of a baseline on an input set."""
        if getattr(self.known(number), name, None) is None:
            return
        left = replace(self.known(number), **{name: None})
        if number == 0:
            self.baselines = left
        else:
            self._of_sets[number] = left

    def _end_after(self, fault: RunnerFault) -> None:
        """End the process where it failed; one that has computed wrong values is well."""
        if not isinstance(fault, WrongBaseline):
            self.restart()

    def _figures(self, name: str, number: int, timed: Alone) -> Latency | None:
        """A baseline's figures; none, with the reason kept, where its calls cannot be distinguished from calls that
        compute nothing."""
        try:
            return latency(timed.seconds, timed.off)
        except NoFigureError:
            what = name if number == 0 else _on_set(name, number)
            known = f"which are known only to within {1e6 * timed.off.shorter_s:.1f} µs"
            self.untold[name, number] = (
                f"calls of {what} cannot be distinguished from calls that compute nothing, {known}"
            )
            return None

    def _turn(self, model: str, arguments: list[Any], metas: list[TensorMeta]) -> Alone:
        """Some calls of a compiled model, or of the plain one. Raises `RunnerFault`."""
        return self._alone(replace(self.side(model, 0, arguments, metas), trusted=True), arguments)

    def _alone(self, side: Side, arguments: list[Any]) -> Alone:
        return stopwatch.solo(side, flatten(arguments), BASELINE_BUDGET, self.cost(side), has_idle=True)

    def known(self, number: int) -> Baselines:
        """What was measured on an input set."""
        return self.baselines if number == 0 else self._of_sets.get(number, Baselines())

    def ensure_set(
        self, names: tuple[str, ...], number: int, draw: Callable[[], list[Any]], metas: Callable[[], list[TensorMeta]]
    ) -> None:
        """Measure eager mode and the compiled baseline that is the fastest on input set 0 on another set, where they
        are not known there: which of the two is the faster depends on sizes. One that is wrong or fails there is left
        out there, for the compiled one that is the next, and so is one that has no figure there, for now."""
        tried: set[str] = set()
        while lacking := set(self.lacks(names, number)) - tried:
            name = min(lacking)
            tried.add(name)
            self.untold.pop((name, number), None)
            of_first: Latency | None = getattr(self.baselines, name)
            arguments = draw()
            try:
                side = replace(self.side(name, number, arguments, metas()), trusted=True)
                timed = self._alone(side, arguments)
            except RunnerFault as fault:
                self._leave_out(name, number, fault)
                self._end_after(fault)
                continue
            figures = self._figures(name, number, timed)
            if figures is not None:
                found = replace(figures, mode=None if of_first is None else of_first.mode)
                self._of_sets[number] = replace(self.known(number), **{name: found})

    def lacks(self, names: tuple[str, ...], number: int) -> list[str]:
        """The baselines that are to be measured on an input set other than the first, and are not known there."""
        names = self._working(names, number)
        compiled = tuple(name for name in names if name != "eager" and getattr(self.baselines, name, None) is not None)
        wanted = {"eager", self.fastest(compiled)} & {*names, self.fastest(names)}
        known = self.known(number)
        return sorted(
            name for name in wanted if getattr(known, name) is None and _on_set(name, number) not in self.notes
        )

    def _working(self, names: tuple[str, ...], number: int) -> tuple[str, ...]:
        """The names without those that are wrong or fail on an input set."""
        return tuple(name for name in names if _on_set(name, number) not in self.notes)

    def warm(self, names: tuple[str, ...], arguments: list[Any], metas: list[TensorMeta]) -> None:
        """Have the fastest baseline ready for input set 0; one that fails is absent."""
        fastest = self.fastest(names)
        try:
            self.side(fastest, 0, arguments, metas)
        except RunnerFault as fault:
            self._leave_out(fastest, 0, fault)
            self._end_after(fault)

    def fastest(self, names: tuple[str, ...], number: int = 0) -> str:
        """The quickest baseline among the names that is known on an input set; the one of the first set where one of
        them has no figure there, and eager when none is known."""
        names = self._working(names, number)
        measured = self.known(0 if any((name, number) in self.untold for name in names) else number)
        known = {name: getattr(measured, name) for name in names if getattr(measured, name, None)}
        return min(known, key=lambda name: float(known[name].median_us)) if known else "eager"

    def side(self, name: str, number: int, arguments: list[Any], metas: list[TensorMeta]) -> Side:
        """One baseline on one input set, right and warmed up. Raises `RunnerFault`: `WrongBaseline` where its outputs
        are not the reference's, and then nothing is known of it any more; `Refused` where eager mode's are not."""
        known: Latency | None = getattr(self.baselines, name, None)
        chosen = known.mode if known is not None else None
        try:
            return self._side(chosen or MODELS.get(name, (name,))[0], number, arguments, metas)
        except WrongBaseline:
            self._forget(name, number)
            raise

    def _side(self, name: str, number: int, arguments: list[Any], metas: list[TensorMeta]) -> Side:
        session = self._session()
        large = number == 0 and is_large(session.place, flatten(arguments), metas)  # as the state's `is_large`
        model = "plain" if name == "eager" else name if self._is_static(number) else f"{name}{ANY_SIZES}"
        if model != "plain" and model not in self._compiled:
            session.ask(CompileModel(model=model), Acknowledged, limit_s=COMPILE_LIMIT_S)
            self._compiled.add(model)
        if large and not self._judge.knows(model, number):
            self.release(number)  # there is room for one copy of the set
        self._judge.check(session, model, number, arguments, metas, few=large)
        if number not in self._slots:
            self._slots[number] = session.open_slot(number, arguments, () if large else metas)
        slot = self._slots[number]
        slot.write(flatten(arguments))
        if (name, number) not in self._ready:
            session.call(slot, model, limit_s=COMPILE_LIMIT_S)
            session.drop()
            self._ready.add((name, number))
        return Side(session=session, slot=slot, model=model)

    def _is_static(self, number: int) -> bool:
        """Whether compilers write code for the very sizes of an input set, or code for any size."""
        return number == 0 or self._problem.input_sets < STATIC_SETS

    def rest(self) -> None:
        """Have the baseline's process give its device memory back until it is asked again; compiled code stays."""
        slots, self._slots = list(self._slots.values()), {}
        self._ready, self._idle = set(), set()
        self._give_back(slots)

    def release(self, number: int) -> None:
        """Give the memory of an input set back."""
        slots = [self._slots.pop(number)] if number in self._slots else []
        self._ready = {(name, other) for name, other in self._ready if other != number}
        self._idle.discard(number)
        if slots:
            self._give_back(slots)

    def _give_back(self, slots: list[Slot]) -> None:
        """Close slots, in the baseline's process too."""
        try:
            if self._runner is not None:
                self._session().forget(slots)
        except RunnerFault:
            self.restart()
        finally:
            for slot in slots:
                slot.close()

    def draft(self, inputs: list[tuple[list[Any], list[TensorMeta]]], library: frozenset[str]) -> CompilerDraft:
        """The compiler's own code as a candidate, or the reason why there is none.

        In a process of its own: options set there must not reach the baselines."""
        runner = self._start()
        slots: list[Slot] = []
        try:
            runner.session.time_limit = TimeLimit(left_s=DRAFT_LIMIT_S)
            for number, (arguments, metas) in enumerate(inputs):
                large = is_large(runner.session.place, flatten(arguments), metas)
                slots.append(runner.session.open_slot(number, arguments, () if large else metas))
                slots[-1].write(flatten(arguments))
            wanted = DraftCode(
                slots=tuple(range(len(slots))),
                name=self._problem.problem.name,
                way=self._best_way(),
                library=tuple(sorted(library)),
            )
            drafted, _ = runner.session.ask(wanted, CodeDrafted, limit_s=DRAFT_LIMIT_S)
        except RunnerFault as fault:
            return CompilerDraft(reason=f"the compiler's process gave none: {str(fault)[:300]}")
        finally:
            for slot in slots:
                slot.close()
            self._link.kill(runner)
        return CompilerDraft(source=drafted.source, reason=drafted.reason)

    def _best_way(self) -> str:
        """How the compiler's fastest code came about; its plain way where a search has brought nothing to speak of."""
        plain, searched = self.baselines.compile, self.baselines.compile_max
        if searched is None or searched.mode is None:
            return "compile"
        gains = plain is None or searched.median_us < plain.median_us * (1 - LEAST_GAIN)
        return searched.mode if gains else "compile"

    def cost(self, side: Side) -> ProtocolCost:
        """What a call costs that computes nothing, outputs of the side's size copied: by a process that we trust, while
        no other runs. Measured anew each time: it drifts with the machine. Nothing on a GPU, where events are read.
        """
        if side.session.place.is_gpu:
            return ProtocolCost()
        if side.slot.number not in self._idle:
            side.session.ask(AddIdle(slot=side.slot.number), Acknowledged)
            self._idle = {side.slot.number}
        return protocol_cost(side)

    def slowdown(self, arguments: list[Any], metas: list[TensorMeta]) -> float:
        """How many times as long as it once did the fastest baseline takes now, on input set 0; 0 where none was ever
        measured. Raises `RunnerFault`."""
        name = self.fastest(BASELINES)
        known: Latency | None = getattr(self.baselines, name)
        least_us = min(self._quickest_us.get(name, math.inf), math.inf if known is None else known.median_us)
        if least_us == math.inf:
            return 0.0
        side = replace(self.side(name, 0, arguments, metas), trusted=True)
        return 1e6 * statistics.median(self._alone(side, arguments).seconds) / least_us

    def own_cost(self, number: int, arguments: list[Any], metas: list[TensorMeta]) -> ProtocolCost:
        """The same for an input set, in eager mode."""
        return ProtocolCost() if self._problem.place.is_gpu else self.cost(self.side("eager", number, arguments, metas))

    def restart(self) -> None:
        """Forget the process; the next use starts another."""
        runner, self._runner = self._runner, None
        for slot in self._slots.values():
            slot.close()
        self._slots, self._ready, self._compiled, self._idle = {}, set(), set(), set()
        self._judge.forget()
        if runner is not None:
            self._link.kill(runner)

    def _session(self) -> RunnerSession:
        if self._runner is None:
            self._runner = self._start()
        self._runner.session.time_limit = TimeLimit(left_s=2 * COMPILE_LIMIT_S)
        return self._runner.session

    def _start(self) -> Runner:
        runner = self._link.spawn("baseline", TimeLimit(left_s=START_LIMIT_S))
        problem = self._problem
        try:
            matched = problem.build_in(
                runner.session, seed=problem.init_seed, copy_state=True, threads=self._threads, limit_s=START_LIMIT_S
            )
        except RunnerFault as fault:
            raise WorkerRefusal(f"the baseline process failed: {fault}") from None
        if not matched:
            raise WorkerRefusal("the reference's parameters change between two constructions")
        return runner


def protocol_cost(side: Side) -> ProtocolCost:
    """The cost that some calls of a side's model `idle` show."""
    return ProtocolCost.of([_spaced_call(side) for _ in range(COST_CALLS)])


def _why(name: str, number: int, fault: RunnerFault) -> str:
    """The note on a baseline that is absent on an input set."""
    said = str(fault)[:300]
    if isinstance(fault, WrongBaseline):
        return f"{name} baseline {said}"
    return f"{name} baseline absent: {said}" if number == 0 else f"{_on_set(name, number)} is absent: {said}"


def _on_set(name: str, number: int) -> str:
    return f"{name} on {'held-out ' if number < 0 else ''}input set {abs(number)}"


def _spaced_call(side: Side) -> float:
    time.sleep(0.002)  # a timed call follows work of the referee, never another call at once
    return side.session.call(side.slot, "idle").wall_s
