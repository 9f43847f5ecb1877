"""What a reference does besides returning something: it changes arguments, or returns memory that others have too."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Sequence
from typing import Any

import torch

from workers.ipc.tensors import begins_in, flatten, mapped, overlap
from workers.referee.boundary.problem_messages import Manners
from workers.referee.comparison.error_scales import same_bytes
from workers.referee.problem.reference_problem import ReferenceProblem, cloned, output_tensors
from workers.runner.outputs import mode_of


def learned_manners(problem: ReferenceProblem, arguments: list[Any]) -> Manners:
    """The reference's manners in two calls: memory that both return is the model's. Raises `Refused`."""
    given = cloned(arguments)
    outputs = output_tensors(problem.run(given))
    tensors = flatten(given)
    aliases = [
        (index, number)
        for index, out in enumerate(outputs)
        for number, tensor in enumerate(tensors)
        if begins_in(out, tensor)
    ]
    strided = [(index, out) for index, out in enumerate(outputs) if out.layout is torch.strided]
    pairs = [
        (later, earlier) for (earlier, one), (later, other) in itertools.combinations(strided, 2) if overlap(one, other)
    ]
    state = problem.state()
    of_model = [(index, None) for index, out in enumerate(outputs) if any(begins_in(out, one) for _, one in state)]
    again = output_tensors(problem.run(cloned(arguments)))
    of_model += [(index, None) for index, out in enumerate(again) if any(begins_in(out, one) for one in outputs)]
    return Manners(
        mutates=not all(same_bytes(a, b) for a, b in zip(flatten(arguments), tensors, strict=True)),
        aliases=tuple(aliases),
        shares=(*pairs, *of_model),
        modes=tuple((index, mode) for index, out in enumerate(outputs) if (mode := mode_of(out)) is not None),
    )


def takes_on_host(problem: ReferenceProblem, arguments: Sequence[Any]) -> bool:
    """Whether the model takes arguments on the CPU: an index that is out of range raises there; on a GPU it costs the
    process its device."""
    host = torch.device("cpu")
    model = copy.deepcopy(problem.model).to(host)
    try:
        with torch.no_grad():
            model(*mapped(list(arguments), lambda tensor: tensor.to(host)))
    except Exception:  # noqa: BLE001 - untrusted code that was not written for these shapes
        return False
    return True
