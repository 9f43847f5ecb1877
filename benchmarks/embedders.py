"""Which embedder finds related experience? Word hashing against MiniLM on the thirty example problems.

    python -m benchmarks.embedders          (make minilm installs MiniLM; without it only hashing is measured)

Every problem is traced by the product's analysis and gets an experience's text, as the playbook's first kernel would
leave it. Then each problem asks for the others: in the words that a job's recall uses (its operators and shapes), and
in those that a person types (its name). Told are the share of nearest ones that are of the asking problem's family
(precision at 1 and at 3; chance is what a random order gives), and what embedding costs.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from agents.prompts.describe import need
from benchmarks.memory_real import KNOWN, UNSEEN, problems_in
from services.adapters.embeddings.hashing import HashingEmbedder
from services.adapters.embeddings.minilm import minilm_or
from services.domain.experiences import embedded_text
from services.domain.problems import Problem, ProblemAnalysis
from services.ports.models import Embedder
from services.team_memory.seeds import seed_experiences
from workers.referee.costs.analysis import analyse
from workers.referee.problem.reference_problem import ReferenceProblem

OUTCOME = " Moves: fuse, parallelise(threads=0), vectorise(lanes=64). Outcome: accepted, 2.00× the best baseline."


@dataclass(frozen=True, kw_only=True)
class Case:
    """A problem as memory sees it."""

    name: str
    analysis: ProblemAnalysis

    @property
    def text(self) -> str:
        """Of an experience made of it."""
        return self.analysis.subject + OUTCOME


def case(problem: Problem) -> Case:
    """A problem, traced. Runs its code in this process: the problems are our own."""
    reference = ReferenceProblem(problem)
    given = reference.init_inputs
    analysis = analyse(
        reference.model,
        reference.make_inputs(0, 1),
        given if isinstance(given, list) else list(given.values()),
        copy_bandwidth_gb_s=10.0,
        peak_gflop_s=100.0,
    )
    return Case(name=problem.name, analysis=analysis)


async def precision(embedder: Embedder, cases: Sequence[Case], queries: Sequence[str]) -> dict[str, float]:
    """Share of the nearest other problems that are of the asking one's family."""
    texts = np.array((await embedder.embed([one.text for one in cases])).vectors)
    asked = np.array((await embedder.embed(list(queries))).vectors)
    families = np.array([one.analysis.family for one in cases])
    similar = asked @ texts.T
    np.fill_diagonal(similar, -np.inf)
    order = np.argsort(-similar, axis=1)[:, :-1]
    alike = families[order] == families[:, None]
    with_kin = alike.any(axis=1)
    return {
        "at_1": round(float(alike[with_kin, 0].mean()), 3),
        "at_3": round(float(alike[with_kin, :3].mean()), 3),
        "chance": round(float(alike[with_kin].mean()), 3),
    }


async def seconds(embedder: Embedder, texts: Sequence[str]) -> tuple[float, float]:
    """What a batch takes: wall-clock and processor seconds of the whole process."""
    start, start_cpu = time.perf_counter(), time.process_time()
    await embedder.embed(texts)
    return time.perf_counter() - start, time.process_time() - start_cpu


def milliseconds(taken: Sequence[tuple[float, float]]) -> dict[str, float]:
    """Medians."""
    wall, cpu = (float(np.median(column)) * 1e3 for column in zip(*taken, strict=True))
    return {"wall_ms": round(wall, 2), "cpu_ms": round(cpu, 2)}


async def costs(embedder: Embedder, queries: Sequence[str], seeds: Sequence[str]) -> dict[str, object]:
    """What an embedder that was not used yet costs."""
    resident = resident_mib()
    first = await seconds(embedder, ["an embedder's first text"])
    new = [await seconds(embedder, [query]) for query in dict.fromkeys(queries)]
    again = [await seconds(embedder, [query]) for query in dict.fromkeys(queries)]
    return {
        "first_query": milliseconds([first]),
        "further_queries": milliseconds(new),
        "asked_before": milliseconds(again),
        f"{len(seeds)}_seeds": milliseconds([await seconds(embedder, seeds)]),
        "grown_mib": round(resident_mib() - resident),
        "load_average": round(os.getloadavg()[0], 1),
    }


def resident_mib() -> float:
    """Of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


async def measure() -> dict[str, object]:
    cases = [case(problem) for problem in problems_in((*KNOWN, *UNSEEN))]
    queries = {
        "a job's words": [need(one.analysis, "draft", None) for one in cases],
        "a person's words": [one.name.replace("_", " ") for one in cases],
    }
    seeds = [embedded_text(one.title, one.text, one.family) for one in seed_experiences("local")]
    told: dict[str, object] = {"problems": len(cases), "load_average": [round(one, 1) for one in os.getloadavg()]}
    best, note = minilm_or(HashingEmbedder())
    if note:
        told["minilm"] = note
    for embedder in {one.name: one for one in (HashingEmbedder(), best)}.values():
        cost = await costs(embedder, queries["a job's words"], seeds)
        found = {words: await precision(embedder, cases, texts) for words, texts in queries.items()}
        told[embedder.name] = found | cost
    return told


if __name__ == "__main__":
    print(json.dumps(asyncio.run(measure()), indent=2))
