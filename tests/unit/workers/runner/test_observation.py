"""What a candidate's call leaves in the observation, and what observing costs."""

import subprocess
import sys

import torch

from workers.runner.observation import observe

FIRST_OBSERVATION = """
import sys, torch
from workers.runner.observation import observe
observe(torch.exp, [torch.ones(4)])
print("torch._dynamo" in sys.modules)
"""


def test_operators_are_seen_with_the_elements_of_their_largest_tensor() -> None:
    result, operators = observe(lambda x: torch.exp(x).sum(), [torch.zeros(3, 5)])
    assert float(result) == 15.0
    assert operators == {"exp": 15, "sum": 15}


def test_observing_does_not_import_the_compiler() -> None:
    done = subprocess.run([sys.executable, "-c", FIRST_OBSERVATION], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
