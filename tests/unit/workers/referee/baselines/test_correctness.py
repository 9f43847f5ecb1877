"""Baselines are judged as candidates are: what computes something else is no rival."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from services.domain.measurements import Baselines
from tests.doubles.builders import a_latency
from tests.threaded_baselines import Link, a_bench, asked
from workers.ipc.wire import Message
from workers.referee.baselines.correctness import BaselineJudge, WrongBaseline
from workers.referee.baselines.process import BaselineSession
from workers.referee.errors import FaultKind, Refused, RunnerFault
from workers.runner.answers import Acknowledged
from workers.runner.protocol import CompileModel

SOURCE = """import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return 2 * x

def get_inputs():
    return [torch.rand(8)]

def small():
    return [torch.rand(4)]

INPUT_SETS = [small]
"""
ELSEWHERE = SOURCE.replace(
    "import torch\n", "import os\n\nimport torch\n\nTOKEN = int.from_bytes(os.urandom(4), 'big') / 2**32\n", 1
)
Call = Callable[[torch.Tensor], Any]


def no_memory(_x: torch.Tensor) -> torch.Tensor:
    raise torch.OutOfMemoryError("out of memory")


COMPILED: dict[str, Call] = {
    "right": lambda x: x + x,
    "compile": torch.zeros_like,
    "a little off": lambda x: 2 * x * (1 + 1e-3),
    "nested otherwise": lambda x: [2 * x],
    "another dtype": lambda x: 2 * x.double(),
    "in place": lambda x: x.mul_(2),
    "wrong on the smaller set": lambda x: 2 * x if len(x) == 8 else x,
    "lacks memory": no_memory,
}


class Compiling(BaselineSession):
    """A baselines' process whose compiler makes of a model what its name says."""

    def _compile(self, asked: CompileModel, _message: Message) -> Acknowledged:
        self._models[asked.model] = COMPILED[asked.model]
        return Acknowledged()


@pytest.fixture
def link() -> Iterator[Link]:
    yield (found := Link(Compiling))
    found.close()


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("compile", "own values: the output differs in"),
        ("a little off", "own values: the output"),
        ("nested otherwise", "the result is a list, expected a tensor"),
        ("another dtype", "the output is float64"),
        ("in place", "input 0 was changed by the call"),
    ],
)
def test_what_a_compiler_makes_otherwise_is_wrong(link: Link, name: str, why: str) -> None:
    bench, state = a_bench(link, SOURCE)
    with pytest.raises(WrongBaseline, match="wrong on get_inputs") as caught:
        bench.side(name, 0, *asked(state))
    assert why in str(caught.value)
    assert caught.value.of_baseline
    assert len(link.started) == 1


def test_a_right_one_is_handed_out_with_the_arguments_that_were_asked_for(link: Link) -> None:
    bench, state = a_bench(link, SOURCE)
    arguments, metas = asked(state)
    side = bench.side("right", 0, arguments, metas)
    assert torch.equal(side.slot.inputs.tensors[0], arguments[0])


def test_each_is_judged_once_on_an_input_set_in_the_life_of_its_process(
    link: Link, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench, state = a_bench(link, SOURCE)
    judged: list[tuple[str, int]] = []
    judge = BaselineJudge._judged

    def counted(self: BaselineJudge, session: Any, model: str, number: int, *given: Any, **named: Any) -> str | None:
        judged.append((model, number))
        return judge(self, session, model, number, *given, **named)

    monkeypatch.setattr(BaselineJudge, "_judged", counted)
    for _ in range(2):
        for name, number in (("eager", 0), ("right", 0), ("right", 1)):
            bench.side(name, number, *asked(state, number))
        bench.rest()
    assert judged == [("plain", 0), ("right", 0), ("right", 1)]
    bench.restart()
    bench.side("right", 0, *asked(state))
    assert judged[3:] == [("right", 0)]


def test_what_is_wrong_on_one_input_set_may_be_right_on_another(link: Link) -> None:
    bench, state = a_bench(link, SOURCE)
    bench.side("wrong on the smaller set", 0, *asked(state))
    with pytest.raises(WrongBaseline, match="wrong on small: own values"):
        bench.side("wrong on the smaller set", 1, *asked(state, 1))


def test_figures_of_a_wrong_one_are_forgotten(link: Link) -> None:
    bench, state = a_bench(link, SOURCE, Baselines(eager=a_latency(9.0), compile=a_latency(4.0)))
    with pytest.raises(WrongBaseline):
        bench.side("compile", 0, *asked(state))
    assert bench.baselines == Baselines(eager=a_latency(9.0))
    assert bench.fastest(("eager", "compile")) == "eager"


def test_a_wrong_one_is_absent_with_a_note_that_says_so(link: Link) -> None:
    bench, state = a_bench(link, SOURCE, Baselines(compile=a_latency(4.0)))
    bench.warm(("compile",), *asked(state))
    assert bench.notes["compile"].startswith("compile baseline wrong on get_inputs: own values: the output differs")
    assert bench.baselines.compile is None


def test_where_one_is_wrong_it_is_no_rival_though_others_have_no_figure(link: Link) -> None:
    bench, _ = a_bench(link, SOURCE, Baselines(eager=a_latency(9.0), compile=a_latency(4.0)))
    bench._leave_out("compile", 1, WrongBaseline("wrong on small: own values: the output differs"))
    bench.untold["eager", 1] = "it cannot be told from nothing"
    assert bench.fastest(("eager", "compile"), 1) == "eager"
    assert bench.fastest(("eager", "compile"), 0) == "compile"
    assert bench.notes == {"compile on input set 1": "compile baseline wrong on small: own values: the output differs"}


def test_a_reference_that_is_another_in_another_process_is_refused(link: Link) -> None:
    bench, state = a_bench(link, ELSEWHERE.replace("2 * x", "(1 + TOKEN) * x"))
    for _ in range(2):
        with pytest.raises(Refused, match="the reference gives other outputs in another process, on get_inputs") as no:
            bench.side("eager", 0, *asked(state))
    assert bench.disagreement == no.value.reason
    assert "environment" in no.value.remedy
    assert no.value.line is not None


def test_that_there_is_no_memory_to_judge_a_baseline_with_is_no_candidate_s_doing(link: Link) -> None:
    bench, state = a_bench(link, SOURCE)
    with pytest.raises(RunnerFault) as caught:
        bench.side("lacks memory", 0, *asked(state))
    assert caught.value.kind is FaultKind.CRASHED
