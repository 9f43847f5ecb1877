"""What a sandbox on a CPU imports beforehand, in an interpreter of its own."""

import os
import subprocess
import sys

import pytest

from kernelwright.wiring.workbench import CPU_PRELOAD

pytestmark = pytest.mark.integration

PROGRAM = """
import importlib
for name in {preload!r}:
    module, _, function = name.partition(":")
    loaded = importlib.import_module(module)
    if function:
        getattr(loaded, function)()
import triton.language as tl
print(type(tl.max).__name__)
"""


def test_what_a_cpu_s_sandbox_imports_leaves_triton_s_language_to_the_interpreter() -> None:
    pytest.importorskip("triton", reason="Triton is not installed: pip install triton")
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    program = PROGRAM.format(preload=CPU_PRELOAD)
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "InterpretedFunction"
