"""Configurations compiled side by side: the tuner gets what it would have got, in its order."""

from __future__ import annotations

import threading

import pytest

from workers.referee.baselines.parallel_compile import _side_by_side


class Tuner:
    """What of Inductor's tuner is wrapped."""

    def __init__(self, configs: list[str], unsteady: str = "") -> None:
        self.configs: list[str] | None = configs
        self.compile_results: list[str] = []
        self.threads: dict[str, list[str]] = {}
        self._unsteady = unsteady

    def _precompile_config(self, config: str) -> str:
        main = threading.current_thread() is threading.main_thread()
        self.threads.setdefault(config, []).append("main" if main else "other")
        if config == "too large" or (config == self._unsteady and not main):
            raise ValueError(config)
        return f"compiled {config}"


def worker(tuner: Tuner) -> None:
    """As Inductor's own: one after the other, without those that do not fit."""
    for config in tuner.configs or ():
        try:
            tuner.compile_results.append(tuner._precompile_config(config))
        except ValueError as error:
            assert str(error) == "too large"  # noqa: PT017 - what Inductor passes over
    tuner.configs = None


def test_all_configurations_are_compiled_by_threads_and_answered_in_order() -> None:
    tuner = Tuner(["a", "too large", "b"])
    _side_by_side(worker)(tuner)
    assert tuner.compile_results == ["compiled a", "compiled b"]
    assert tuner.threads == {"a": ["other"], "b": ["other"], "too large": ["other", "main"]}
    assert "_precompile_config" not in vars(tuner)


def test_what_fails_in_a_thread_only_is_compiled_as_ever() -> None:
    tuner = Tuner(["a", "b"], unsteady="b")
    _side_by_side(worker)(tuner)
    assert tuner.compile_results == ["compiled a", "compiled b"]
    assert tuner.threads["b"] == ["other", "main"]


@pytest.mark.parametrize("configs", [[], ["a"]])
def test_a_single_configuration_needs_no_thread(configs: list[str]) -> None:
    tuner = Tuner(configs)
    _side_by_side(worker)(tuner)
    assert set(map(tuple, tuner.threads.values())) <= {("main",)}
