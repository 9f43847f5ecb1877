"""What a C++ source says that its functions take, read without a compiler."""

from __future__ import annotations

import pytest

from kernelwright_rt import _element_bytes, _parameters, with_macros


def kinds(source: str, function: str = "run") -> list[str] | None:
    found = _parameters(source, function)
    return None if found is None else [kind for _, kind in found]


@pytest.mark.parametrize(
    ("parameter", "kind"),
    [
        ("float k", "float"),
        ("const double k", "double"),
        ("double", "double"),
        ("int n", "int32"),
        ("unsigned n", "uint32"),
        ("unsigned long long n", "uint64"),
        ("std::int64_t n = 3", "int64"),
        ("uint8_t n", "uint8"),
        ("signed char n", "int8"),
        ("size_t n", "uint64"),
        ("bool b", "bool"),
        ("const float* __restrict__ x", "pointer"),
        ("float x[4]", "pointer"),
        ("const float *const *xs", "pointer"),
        ("const float& k", "reference"),
        ("_Float16 h", "half"),
        ("long double k", ""),
        ("std::array<float, 4> k", ""),
        ("Settings s", ""),
    ],
)
def test_a_parameter_is_read_as_it_is_passed(parameter: str, kind: str) -> None:
    assert kinds(f'extern "C" void run(float* y, {parameter}) {{}}') == ["pointer", kind]


@pytest.mark.parametrize(
    "source",
    [
        'extern "C" void run(float k) noexcept { if (k) run(2.0f); }',
        'extern "C" {\n// void run(double k) {}\nstatic int f(int n) { return n; }\nvoid run(float k) { f(3); }\n}',
        'extern "C" void run(float k);\nvoid run(float k) {}',
        'template <class T> void run(T* x, int n) {}\nextern "C" void run(float k) {}',
        '#define C 64\n#define EXPORT extern "C" __attribute__((visibility("default")))\nEXPORT void run(float k) {}',
        'using real = float;\nextern "C" void run(real k) {}',
        'typedef float real;\n#define scalar real\nextern "C" void run(const scalar k) {}',
        '#define KEPT \\\n  const\nextern "C" void run(KEPT float /* double */ k) {}',
        'extern "C" __attribute__((target_clones("default", "avx2"))) void run(float k) {}',
        with_macros('extern "C" void run(T k) {}', ("-O2", "-DT=float")),
    ],
)
def test_declarations_are_found_however_they_are_written(source: str) -> None:
    assert kinds(source) == ["float"]


@pytest.mark.parametrize(
    "source",
    [
        "void run(float k) {}",
        'extern "C" void run(POINTERS, float k) {}',
        '#define WITH(a) a\nextern "C" void run(WITH(float) k) {}',
        '#ifdef A\n#define T float\n#else\n#define T double\n#endif\nextern "C" void run(T k) {}',
        '#ifdef A\nextern "C" void run(float k) {}\n#else\nextern "C" void run(double k) {}\n#endif',
        'extern "C" void run(void (*f)(int), float k) {}',
        'extern "C" void run(float k, ...) {}',
    ],
)
def test_what_may_mean_several_things_is_not_known(source: str) -> None:
    assert kinds(source) is None


@pytest.mark.parametrize("written", ["", "void", " /* nothing */ "])
def test_a_function_may_take_nothing(written: str) -> None:
    assert kinds(f'extern "C" void run({written}) {{}}') == []


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("const float* x", 4),
        ("float x[4]", 4),
        ("const float *__restrict__ x", 4),
        ("std::uint16_t* x", 2),
        ("const double*", 8),
        ("unsigned long long* x", 8),
        ("const __half* x", 2),
        ("bool* x", 1),
        ("real* x", 8),
        ("void* x", 0),
        ("const unsigned char* x", 0),
        ("float** x", 0),
        ("float* x[2]", 0),
        ("Settings* x", 0),
        ("unclear* x", 0),
        ("float x", 0),
    ],
)
def test_the_size_of_what_is_pointed_to_is_known_or_nothing(text: str, size: int) -> None:
    aliases = "using real = double;\n#ifdef A\nusing unclear = float;\n#else\nusing unclear = double;\n#endif\n"
    assert _element_bytes(aliases, text) == size
