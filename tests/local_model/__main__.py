"""Build the local model server for `pytest -m local_model`: python -m tests.local_model"""

from __future__ import annotations

import subprocess
import sys

from tests.local_model.building import build, server, weights


def main() -> int:
    try:
        build()
    except (subprocess.CalledProcessError, OSError) as error:
        sys.stderr.write(f"the local model server cannot be built: {error}\n")
        return 1
    sys.stdout.write(f"{server()}\n{weights()}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
