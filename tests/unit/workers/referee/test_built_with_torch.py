"""Sources that include headers of torch may call its vector mathematics, and none of its kernels."""

import pytest

from services.ports.devices import BuiltLibrary
from workers.referee.built_rules import examine_built

SOURCE = '#include <ATen/cpu/vec/vec.h>\nextern "C" void run(const float* x, float* y, long n) {}\n'
SLEEF = "Sleef_expf8_u10"


def remarks(language: str, *imports: str) -> list[str]:
    built = BuiltLibrary(
        name="a.so", language=language, needed=("libtorch_cpu.so", "libc10.so", "libc.so.6"), imports=imports
    )
    return [remark.text for remark in examine_built([built], [SOURCE], frozenset())]


@pytest.mark.parametrize("language", ["cpp_torch", "torch"])
def test_vector_mathematics_of_torch_s_headers_is_permitted(language: str) -> None:
    assert remarks(language, SLEEF, "Sleef_tanhd4_u10", "_ZN3c106detail14torchCheckFailEPKcS2_jS2_") == []


@pytest.mark.parametrize("language", ["cpp_torch", "torch"])
def test_kernels_of_torch_are_not(language: str) -> None:
    (told,) = remarks(language, "_ZN2at6native7softmaxERKNS_6TensorElb")
    assert "past the dispatcher" in told


def test_a_source_without_the_headers_may_not_link_torch() -> None:
    assert [text.split("`")[1] for text in remarks("cpp", SLEEF)] == [SLEEF, "libc10.so", "libtorch_cpu.so"]
