"""One evaluator for all designs of this process, the same as the corpus of cheats has."""

from tests.integrity.conftest import evaluator

__all__ = ["evaluator"]
