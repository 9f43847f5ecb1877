"""The rules for C++ and CUDA source, with each reader that this machine has."""

from collections.abc import Callable

import pytest

from workers.referee.screen.cpp_rules import CppRemark, examine_cpp, looks_like_cpp
from workers.referee.screen.cpp_source import SourceFacts, read_cpp, scan_cpp

HEAD = "#include <cstdint>\n"


Examine = Callable[[str], list[CppRemark]]


@pytest.fixture(params=["tree-sitter", "scanner"])
def remarks(request: pytest.FixtureRequest) -> Examine:
    """The scanner is what a machine without tree-sitter has."""
    if request.param == "scanner":
        return lambda code: examine_cpp(HEAD + code, read=scan_cpp)
    for module in ("tree_sitter", "tree_sitter_cpp", "tree_sitter_cuda"):
        pytest.importorskip(module, reason="pip install tree-sitter tree-sitter-cpp tree-sitter-cuda")
    return lambda code: examine_cpp(HEAD + code, read=read_cpp)


@pytest.fixture
def said(remarks: Examine) -> Callable[[str], str]:
    return lambda code: "; ".join(f"{one.line} {'hard' if one.hard else 'hint'} {one.text}" for one in remarks(code))


@pytest.mark.parametrize(
    "code",
    [
        "// fork(); system(1)\nint f() { return 1; }",
        "/* open(\n fopen( */ int x;",
        'const char* text = "fork(); \\" system(2)";',
        'const char* text = R"(fork(); "system(2)")";',
        'const char* text = R"mark(fork()" )mark";\nint n = 1\'000\'000;',
        "struct P { int open() { return 1; } }; int f(P p) { return p.open(); }",
        "int raise(int v) { return v; }\nint f() { return raise(3); }",
        "void f(float* out, int64_t send, int64_t kill) { out[send] = kill; }",
        "namespace mine { int socket(int v) { return v; } }\nint f() { return mine::socket(2); }",
        'void f() { asm volatile("prefetcht0 (%0)" : : "r"(0)); }',
        "void f() { int signal = 3; float raise[4]; raise[signal] = 1.0f; }",
    ],
)
def test_what_only_sounds_forbidden_is_no_offence(said: Callable[[str], str], code: str) -> None:
    assert said(code) == ""


@pytest.mark.parametrize(
    ("code", "wanted"),
    [
        ("void f() {\n  fork();\n}", "3 hard `fork()` starts processes"),
        ("void f() { ::system(nullptr); }", "2 hard `system()`"),
        ("void f() { std :: system (nullptr); }", "hard `system()`"),
        ("void f() { (popen)(nullptr, nullptr); }", "hard `popen"),
        ("struct S { int fork; };\nvoid f() { fork(); }", "hard `fork()`"),
        ("void f(int system) {}\nvoid g() { system(nullptr); }", "hard `system()`"),
        ("static int kill(int v) { return v; }\nvoid g() { ::kill(1, 9); }", "hard `kill()`"),
        ("int (*hidden)(const char*) = &system;", "hard `system` starts processes"),
        ("#define RUN fork\nvoid f() { RUN(); }", "2 hard `fork` starts processes"),
        ("#define RUN(x) \\\n  fork()\nvoid f() { RUN(1); }", "hard `fork()`"),
        ('extern "C" int fork();\nint f() { return fork(); }', "hard `fork()`"),
        ("#include <fstream>\nstd::ifstream file;", "hard `ifstream` reads or writes files"),
        ("namespace fs = std::filesystem;", "hard `filesystem`"),
        ("__attribute__((constructor)) void f() {}", "hard runs code when it is loaded"),
        ("[[gnu::constructor]] void f() {}", "hard runs code when it is loaded"),
        ('void f() { asm volatile("syscall"); }', "hard reaches for the system in assembly"),
        ('void f() { __asm__("int $0x80"); }', "hard reaches for the system in assembly"),
        ('void f() { asm("call fork"); }', "hard reaches for the system in assembly"),
        ('asm(".section .init_array");', "hard reaches for the system in assembly"),
    ],
)
def test_evidence_is_found_with_its_line(said: Callable[[str], str], code: str, wanted: str) -> None:
    assert wanted in said(code)


@pytest.mark.parametrize(
    ("code", "wanted"),
    [
        ("void f() { clock_gettime(1, nullptr); }", "hint `clock_gettime()` reads a clock"),
        ("auto t = std::chrono::steady_clock::now();", "hint `chrono` reads a clock"),
        ("#include <sys/socket.h>", "2 hint <sys/socket.h> is for the network"),
        ("#include <dlfcn.h>", "hint <dlfcn.h> loads foreign code"),
        ('void f() { asm volatile("rdtsc"); }', "hint reads a clock in assembly"),
        ('__global__ void k() { asm("mov.u64 %0, %globaltimer;" : "=l"(t)); }', "hint reads a clock in assembly"),
        ("__global__ void k(long* t) { *t = clock64(); }", "hint `clock64()` reads a clock"),
    ],
)
def test_hints_are_found_and_are_no_evidence(
    said: Callable[[str], str], remarks: Examine, code: str, wanted: str
) -> None:
    assert wanted in said(code)
    assert not any(one.hard for one in remarks(code))


def test_cuda_with_launches_and_ptx_is_read(said: Callable[[str], str]) -> None:
    code = """
__global__ void scale(const float* x, float* y, int64_t n) {
  __shared__ float tile[256];
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(0), "l"(x + i));
  if (i < n) y[i] = __expf(x[i]) + tile[threadIdx.x];
}
extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
  scale<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
"""
    assert said(code) == ""
    assert "hard `system()`" in said(code.replace("scale<<<", "system(nullptr); scale<<<"))


@pytest.mark.parametrize("code", ["", "}}}}", "int f( {", "#define", 'R"(', "/*", "'", "asm(", "\x00\xff", "(" * 2000])
def test_text_that_is_no_source_is_read_all_the_same(remarks: Examine, code: str) -> None:
    assert isinstance(remarks(code), list)


def test_prose_is_not_taken_for_source() -> None:
    assert looks_like_cpp("It is fast (mostly); no system needed.")
    assert examine_cpp("It is fast (mostly); no system needed, open to all.") == []


@pytest.mark.parametrize("read", [read_cpp, scan_cpp], ids=["parser", "scanner"])
@pytest.mark.parametrize(
    "source",
    [
        "auto system = [](float v) { return v; }; float f(float v) { return system(v); }",
        "enum class Stage { exit, kill }; bool f(Stage s) { return s == Stage::exit; }",
        'int f() { return getenv("OMP_NUM_THREADS") != nullptr; }',
        "void* f(long n) { return mmap(nullptr, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }",
    ],
)
def test_what_only_looks_forbidden_is_permitted(read: Callable[[str], SourceFacts], source: str) -> None:
    assert examine_cpp(source, surely=True, read=read) == []


@pytest.mark.parametrize("read", [read_cpp, scan_cpp], ids=["parser", "scanner"])
@pytest.mark.parametrize(
    "source",
    [
        'int f() { return getenv("HOME") != nullptr; }',
        "void* f(int d) { return mmap(nullptr, 64, PROT_READ, MAP_PRIVATE, d, 0); }",
        "void* f() { return mmap(nullptr, 64, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }",
        "void* f() { return mmap(nullptr, 64, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }",
        "void* f(void* p) { return mmap(p, 64, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0); }",
        'auto system = [] {}; int f() { return ::system("true"); }',
    ],
)
def test_what_only_looks_harmless_is_refused(read: Callable[[str], SourceFacts], source: str) -> None:
    assert examine_cpp(source, surely=True, read=read)
