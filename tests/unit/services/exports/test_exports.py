"""What the exports say and hold, without running them."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace

import pytest

from services.domain.candidates import EvaluatedCandidate
from services.domain.errors import ConflictError
from services.domain.problems import TensorSpec
from services.exports.evidence import evidence_files
from services.exports.gpu_mode import submission
from services.exports.packages import kernel_builder_tree, python_package
from services.exports.winner import Winner, identifier, imports, lineage
from tests.doubles import a_candidate, a_job, a_report, an_analysis

SOURCE = "from __future__ import annotations\nimport kernelwright_rt\nclass ModelNew: ...\n"


def a_winner(source: str = SOURCE) -> Winner:
    """A job's accepted draft."""
    candidate, report = a_candidate(source=source), a_report()
    return Winner(
        job=replace(a_job(), analysis=an_analysis()),
        candidate=candidate,
        report=report,
        source=source,
        lineage=(EvaluatedCandidate(candidate=candidate, report=report),),
        runtime="VERSION = 1\n",
    )


def test_the_bundle_names_the_figures_and_the_lineage() -> None:
    files = evidence_files(a_winner())
    assert "2.00× the fastest baseline" in files["README.md"]
    assert json.loads(files["lineage.json"])[0]["verdict"] == "accepted"
    assert json.loads(files["job.json"])["needs_gpu"] is False


def test_both_source_trees_have_valid_manifests_and_the_runtime_beside_the_kernel() -> None:
    package, tree = python_package(a_winner()), kernel_builder_tree(a_winner())
    assert tomllib.loads(package["pyproject.toml"])["project"]["name"] == "relu"
    assert tomllib.loads(tree["build.toml"])["general"]["backends"] == ["cpu"]
    assert {"src/relu/kernel.py", "src/relu/kernelwright_rt.py"} <= set(package)
    assert {"torch-ext/relu/kernel.py", "torch-ext/relu/kernelwright_rt.py"} <= set(tree)


def test_a_kernel_that_needs_no_runtime_is_shipped_without_one() -> None:
    package = python_package(a_winner("class ModelNew: ...\n"))
    assert "src/relu/kernelwright_rt.py" not in package
    assert "kernelwright_rt" not in package["src/relu/__init__.py"]


def test_a_submission_keeps_future_imports_first() -> None:
    lines = submission(a_winner())["submission.py"].splitlines()
    assert lines[:3] == ["#!POPCORN leaderboard relu", "#!POPCORN gpu CPU", "from __future__ import annotations"]
    compile("\n".join(lines), "submission.py", "exec")


def test_a_kernel_with_weights_is_no_submission() -> None:
    winner = a_winner()
    weight = TensorSpec(name="w", shape=(4,), dtype="float32", origin="weight")
    weighted = replace(winner, job=replace(winner.job, analysis=replace(an_analysis(), parameters=(weight,))))
    with pytest.raises(ConflictError, match="passes inputs only"):
        submission(weighted)


def test_a_lineage_is_told_from_the_first_draft_and_survives_a_circle() -> None:
    first = a_candidate(step=0)
    second = replace(a_candidate(step=1), parent_id=first.id)
    known = {one.id: EvaluatedCandidate(candidate=one, report=None) for one in (first, second)}
    assert [entry.candidate.id for entry in lineage(second, known)] == [first.id, second.id]
    circle = {**known, first.id: EvaluatedCandidate(candidate=replace(first, parent_id=second.id), report=None)}
    assert len(lineage(second, circle)) == 2


@pytest.mark.parametrize(
    ("name", "expected"),
    [("Fused bias+GELU", "fused_bias_gelu"), ("19_ReLU", "kernel_19_relu"), ("///", "kernel"), ("rmsnorm", "rmsnorm")],
)
def test_names_become_identifiers(name: str, expected: str) -> None:
    assert identifier(name) == expected


def test_an_import_is_found_in_the_syntax_not_in_the_text() -> None:
    assert imports("def f():\n    from kernelwright_rt import compile_cpp\n", "kernelwright_rt")
    assert not imports("'import kernelwright_rt'", "kernelwright_rt")
    assert not imports("def broken(", "kernelwright_rt")
