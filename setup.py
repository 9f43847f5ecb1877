"""Puts the example problems into the wheel: `kernelwright demo` and the web UI's form need them without a checkout."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

PROBLEMS = Path("examples", "problems")


class BuildWithExamples(build_py):
    """Packages, and beside their modules the example problems, which are texts and no package."""

    def run(self) -> None:
        """Build into `build_lib`."""
        super().run()
        if not self.editable_mode:
            target = Path(self.build_lib, "kernelwright", "example_problems")
            target.mkdir(parents=True, exist_ok=True)
            for path in PROBLEMS.glob("*.py"):
                shutil.copyfile(path, target / path.name)


setup(cmdclass={"build_py": BuildWithExamples})
