"""What `load_inline` asks to have compiled in place of torch's own, and what it refuses. Nothing is compiled here."""

from collections.abc import Iterator

import pytest

import kernelwright_rt
from workers import extensions
from workers.backends import torch_extensions
from workers.backends.flags import refused_flags

Asked = list[tuple[str, tuple[str, ...], str]]


class Stopped(Exception):  # noqa: N818 - ends a call before anything is loaded
    """The request has been seen."""


@pytest.fixture
def asked() -> Iterator[Asked]:
    seen: Asked = []

    def builder(source: str, flags: tuple[str, ...], language: str) -> str:
        seen.append((source, flags, language))
        raise Stopped

    kernelwright_rt.set_builder(builder)
    yield seen
    kernelwright_rt.set_builder(None)


def test_cpp_sources_become_one_source_with_bindings(asked: Asked) -> None:
    with pytest.raises(Stopped):
        extensions.load_inline(
            "mine", ["at::Tensor f(at::Tensor x) { return x; }"], functions=["f"], extra_cflags=[" -O3"]
        )
    ((source, flags, language),) = asked
    assert (flags, language) == (("-O3",), "torch")
    assert source.startswith("#define TORCH_EXTENSION_NAME mine\n")
    assert source.index("#include <torch/extension.h>") < source.index("at::Tensor f") < source.index("PYBIND11_MODULE")
    assert 'm.def("f", torch::wrap_pybind_function(f), "f");' in source


def test_cuda_sources_come_before_what_calls_them_and_take_the_gpu_compilers_flags(asked: Asked) -> None:
    with pytest.raises(Stopped):
        extensions.load_inline("mine", "void g();", "void g() {}", functions="g", extra_cuda_cflags=["--use_fast_math"])
    ((source, flags, language),) = asked
    assert (flags, language) == (("--use_fast_math",), "torch_cuda")
    assert source.index("void g() {}") < source.index("void g();")
    assert refused_flags(["--use_fast_math"], language) == []
    assert refused_flags(["-O3", "-I/root"], "torch") == ["-I/root"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"name": "not a name", "cpp_sources": ""}, "no identifier"),
        ({"name": "a", "cpp_sources": "", "extra_include_paths": ["/root"]}, "without further include paths"),
        ({"name": "a", "cpp_sources": "", "is_python_module": False}, "Python modules"),
        ({"name": "a", "cpp_sources": "", "sycl_sources": "x"}, "only C++ and CUDA"),
    ],
)
def test_what_is_not_built_is_refused_with_words(asked: Asked, arguments: dict[str, object], says: str) -> None:
    with pytest.raises(kernelwright_rt.CompileError, match=r".+") as caught:
        extensions.load_inline(**arguments)  # type: ignore[arg-type]
    assert says in str(caught.value)
    assert asked == []


def test_files_are_refused_with_the_way_out() -> None:
    with pytest.raises(kernelwright_rt.CompileError, match="use load_inline"):
        extensions.load(name="a", sources=["a.cpp"])


def test_the_command_has_torchs_headers_and_the_gpus_architecture() -> None:
    cpp = torch_extensions.command("kernel.cpp", "kernel.so", ("-O3",), "torch", None)
    assert cpp[0] == "g++"
    assert any(part.endswith("torch/include") for part in cpp)
    assert all(mount.path.is_dir() for mount in torch_extensions.mounts())


def test_libraries_of_torchs_headers_have_names_of_their_own() -> None:
    names = {
        kernelwright_rt.artefact_name("x", (), "cpp"),
        kernelwright_rt.artefact_name("x", (), "torch"),
        kernelwright_rt.artefact_name("x", (), "torch_cuda", "80"),
        kernelwright_rt.artefact_name("x", (), "torch_cuda", "90a"),
    }
    assert len(names) == 4


@pytest.mark.parametrize(
    "flags",
    [
        ["-gencode=arch=compute_90,code=sm_90"],
        ["-gencode", "arch=compute_80,code=sm_80"],
        ["-arch=sm_90", "--threads=4"],
        ["-arch", "sm_90", "--threads", "4", "-t4"],
    ],
)
def test_what_to_build_for_is_the_worker_s_choice(flags: list[str]) -> None:
    assert extensions._without_targets(["-O3", *flags, "--use_fast_math"]) == ["-O3", "--use_fast_math"]
