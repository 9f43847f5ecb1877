"""What runs when a CUDA library is loaded: the runtime's own registration, and nothing of the candidate's."""

from services.ports.devices import BuiltLibrary
from workers.referee.screen.binary_rules import examine_built

RUNTIME = ("libcudart_static_" + "7b" * 20, "_ZL24__sti____cudaRegisterAllv")
SOURCE = 'extern "C" void f(cudaStream_t stream) {}'


def built(*starters: str, language: str = "cuda") -> BuiltLibrary:
    return BuiltLibrary(name="a.so", language=language, starters=starters)


def test_the_registration_of_kernels_by_the_runtime_is_no_offence() -> None:
    assert examine_built([built(*RUNTIME)], [SOURCE], frozenset()) == []


def test_a_constructor_of_the_candidates_own_is_one() -> None:
    (remark,) = examine_built([built(*RUNTIME, "_GLOBAL__sub_I_f")], [SOURCE], frozenset())
    assert "`_GLOBAL__sub_I_f` runs when it is loaded" in remark.text


def test_a_source_that_names_the_runtimes_functions_passes_nothing_off_as_them() -> None:
    forged = 'extern "C" __attribute__((constructor)) void libcudart_static_0() {}'
    assert examine_built([built(*RUNTIME)], [forged], frozenset())


def test_a_library_without_cuda_registers_no_kernels() -> None:
    assert examine_built([built(RUNTIME[1], language="cpp")], [SOURCE], frozenset())
