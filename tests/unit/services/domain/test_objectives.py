"""Objectives over input sets: how they are written, and the figures that they make."""

import math

import pytest

from services.domain.evaluations import HeldOutResult, ObjectiveKind, ShapeResult
from services.domain.measurements import Baselines, Latency, Speedup
from services.domain.objectives import ObjectiveError, described, headline, parse


def latency(median_us: float) -> Latency:
    return Latency(
        median_us=median_us,
        mean_us=median_us,
        p10_us=median_us,
        p90_us=median_us,
        ci95_us=(median_us * 0.9, median_us * 1.1),
        samples=20,
    )


def shape(name: str, ratio: float, weight: float = 1.0, spread: float = 0.1) -> ShapeResult:
    return ShapeResult(
        shapes=((8, 8),),
        latency=latency(100.0 / ratio),
        speedup=Speedup(eager=ratio, best_baseline=ratio, ci95=(ratio * (1 - spread), ratio * (1 + spread))),
        name=name,
        weight=weight,
        baselines=Baselines(eager=latency(100.0)),
    )


def held_out(ratio: float, spread: float = 0.1) -> HeldOutResult:
    ends = (ratio * (1 - spread), ratio * (1 + spread))
    return HeldOutResult(number=2, latency=latency(100.0), speedup=Speedup(best_baseline=ratio, ci95=ends))


def test_the_default_is_the_geometric_mean_of_all_sets() -> None:
    found = headline(parse(""), [shape("get_inputs", 4.0), shape("wide", 1.0)])
    assert found.speedup.best_baseline == pytest.approx(2.0)
    assert found.speedup.eager == pytest.approx(2.0)
    assert found.latency.median_us == pytest.approx(50.0)
    assert found.baselines.eager is not None
    assert found.baselines.eager.median_us / found.latency.median_us == pytest.approx(found.speedup.best_baseline)
    assert described(found.objective) == "geometric mean over 2 input sets"


def test_one_set_alone_keeps_its_own_figures() -> None:
    only = shape("get_inputs", 1.7)
    found = headline(parse(""), [only])
    assert (found.latency, found.speedup) == (only.latency, only.speedup)
    assert described(found.objective) == ""


def test_weights_count_and_zero_leaves_a_set_out() -> None:
    objective = parse("geometric_mean:decode=3, warmup=0")
    names = ("get_inputs", "decode", "warmup")
    ratios = (16.0, 1.0, 0.001)
    sets = [shape(name, ratio, objective.weight(name)) for name, ratio in zip(names, ratios, strict=True)]
    found = headline(objective, sets)
    assert found.speedup.best_baseline == pytest.approx(2.0)
    assert found.objective.sets == 2


def test_more_sets_narrow_the_interval_but_not_below_what_they_share() -> None:
    few, many = (headline(parse(""), [shape("get_inputs", 2.0)] * count).speedup.ci95 for count in (2, 1000))
    assert few is not None
    assert many is not None
    assert few[0] < many[0] < 2.0 < many[1] < few[1]
    assert math.log(many[1] / many[0]) > 2 * 1.9 * 0.013


def test_the_worst_set_counts_with_the_lowest_ends_of_all_intervals() -> None:
    found = headline(
        parse("worst"), [shape("get_inputs", 2.0), shape("a", 1.2, spread=0.01), shape("b", 1.3, spread=0.3)]
    )
    assert found.objective.input_set == "a"
    assert found.speedup.best_baseline == 1.2
    assert found.speedup.ci95 is not None
    assert found.speedup.ci95 == pytest.approx((1.3 * 0.7, 1.2 * 1.01))
    assert described(found.objective) == "worst of 3 input sets, a"


def test_a_named_set_counts_alone() -> None:
    found = headline(parse("set:rows=16 cols=256"), [shape("get_inputs", 2.0), shape("rows=16 cols=256", 0.5)])
    assert found.speedup.best_baseline == 0.5
    assert (found.objective.kind, found.objective.sets) == (ObjectiveKind.SET, 1)


def test_a_kernel_that_wins_here_and_loses_on_a_held_out_set_has_that_sets_speedup() -> None:
    found = headline(parse(""), [shape("get_inputs", 2.0)], [held_out(1.9), held_out(0.5)])
    assert found.speedup.best_baseline == 0.5
    assert found.objective.collapse is not None
    assert "0.50× (0.45–0.55) on held-out input set 2" in found.objective.collapse


@pytest.mark.parametrize(
    ("announced", "ratio", "spread"),
    [(2.0, 0.85, 0.01), (2.0, 0.7, 0.5), (0.9, 0.3, 0.1)],
    ids=["not so far below", "perhaps noise", "it did not win anyway"],
)
def test_nobody_collapses_otherwise(announced: float, ratio: float, spread: float) -> None:
    found = headline(parse(""), [shape("get_inputs", announced)], [held_out(ratio, spread)])
    assert found.objective.collapse is None
    assert found.speedup.best_baseline == announced


@pytest.mark.parametrize(
    "text",
    ["fastest", "worst:a", "set", "set:", "geometric_mean:", "geometric_mean:a", "geometric_mean:a=-1",
     "geometric_mean:a=inf", "geometric_mean:a=nan", "geometric_mean:=2", "geometric_mean:a=1,a=2", "x" * 5000],
)  # fmt: skip
def test_what_is_no_objective_is_refused(text: str) -> None:
    with pytest.raises(ObjectiveError):
        parse(text)


def test_names_and_weights_are_held_against_the_sets_that_there_are() -> None:
    parse("geometric_mean:a=2").check(["get_inputs", "a"])
    with pytest.raises(ObjectiveError, match="'b', and there are get_inputs, a"):
        parse("set:b").check(["get_inputs", "a"])
    with pytest.raises(ObjectiveError, match="weight 0"):
        parse("geometric_mean:get_inputs=0").check(["get_inputs"])
