"""Source trees that other tools build: a pip-installable package, and a Hugging Face kernel-builder repository.

The kernel-builder tree follows build.toml edition 5 with `[torch-noarch]`: nothing is compiled ahead of time, the
kernel compiles itself on first use (https://huggingface.co/docs/kernels/builder/writing-kernels).
"""

from __future__ import annotations

import json

from services.exports.evidence import KERNEL, REPORT, RUNTIME, evidence_files, figures
from services.exports.proven_calls import delivered
from services.exports.winner import RUNTIME_MODULE, Winner

PYPROJECT = """[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "{distribution}"
version = "0.1.0"
description = {description}
readme = "README.md"
requires-python = ">=3.10"
dependencies = [{dependencies}]

[tool.setuptools]
package-dir = {{ "" = "src" }}

[tool.setuptools.packages.find]
where = ["src"]
"""

_INIT = '''"""{description}"""

{registration}from .kernel import ModelNew

__all__ = ["ModelNew"]
'''

_REGISTRATION = f"""import sys

from . import {RUNTIME_MODULE}

sys.modules.setdefault("{RUNTIME_MODULE}", {RUNTIME_MODULE})  # kernel.py imports it by its plain name

"""

_BUILD_TOML = """[general]
name = "{distribution}"
version = 1
edition = 5
license = "Apache-2.0"
backends = [{backends}]

[general.hub]
repo-id = "OWNER/{distribution}"

[torch-noarch]
"""

_FLAKE = """{
  description = "Flake for a Torch kernel written by Kernelwright";
  inputs.kernel-builder.url = "github:huggingface/kernels";
  outputs = { self, kernel-builder }:
    kernel-builder.lib.genKernelFlakeOutputs {
      inherit self;
      path = ./.;
    };
}
"""


def python_package(winner: Winner) -> dict[str, str]:
    """A source package: `pip install .`, then `from NAME import ModelNew`."""
    description = f"{winner.job.spec.problem.name}: a kernel written and judged by Kernelwright"
    dependencies = ['"torch"', *(['"triton"'] if winner.candidate.backend == "triton" else [])]
    evidence = {f"evidence/{name}": text for name, text in evidence_files(winner).items()}
    return {
        "pyproject.toml": PYPROJECT.format(
            distribution=_distribution(winner),
            description=json.dumps(description, ensure_ascii=False),
            dependencies=", ".join(dependencies),
        ),
        "README.md": _package_readme(winner),
        **_modules(winner, f"src/{winner.name}"),
        **evidence,
    }


def kernel_builder_tree(winner: Winner) -> dict[str, str]:
    """A repository that `kernel-builder` builds and uploads; the owner fills in `OWNER`."""
    backends = '"cuda"' if winner.on_gpu else '"cpu"'
    files = evidence_files(winner)
    return {
        "build.toml": _BUILD_TOML.format(distribution=_distribution(winner), backends=backends),
        "flake.nix": _FLAKE,
        "CARD.md": _package_readme(winner),
        **_modules(winner, f"torch-ext/{winner.name}"),
        **{f"tests/{name}": files[name] for name in _TESTED if name in files},
        f"evidence/{REPORT}": files[REPORT],
    }


_TESTED = ("problem.py", "pairing.py", "test_kernel.py", "benchmark.py", "job.json", KERNEL, RUNTIME)


def _modules(winner: Winner, folder: str) -> dict[str, str]:
    description = f"{winner.name}: `ModelNew`, written and judged by Kernelwright."
    files = {
        f"{folder}/__init__.py": _INIT.format(
            description=description, registration=_REGISTRATION if winner.uses_runtime else ""
        ),
        f"{folder}/{KERNEL}": delivered(winner),
    }
    if winner.uses_runtime:
        files[f"{folder}/{RUNTIME}"] = winner.runtime
    return files


def _distribution(winner: Winner) -> str:
    return winner.name.replace("_", "-")


def _package_readme(winner: Winner) -> str:
    return (
        f"# {winner.job.spec.problem.name}\n\n{figures(winner)}\n\n"
        f"```python\nfrom {winner.name} import ModelNew\n```\n\n"
        "Same constructor and `forward` as the reference's `Model`. Calls with other constructor arguments, dtypes, "
        "ranks or devices than those judged raise `TypeError` or `ValueError`.\n"
    )
