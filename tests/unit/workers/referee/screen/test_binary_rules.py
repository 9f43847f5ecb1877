"""Sources that include headers of torch may call its vector mathematics, and none of its kernels."""

import pytest

from services.ports.devices import BuiltLibrary
from workers.referee.screen.binary_rules import examine_built

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


@pytest.mark.parametrize(
    "name",
    [
        "_ZN6caffe28TypeMeta26error_unsupported_typemetaES0_",
        "_ZN6caffe28TypeMeta13typeMetaDatasEv",
        "_ZNK2at10TensorBase8data_ptrIfEEPT_v",
        "_ZTVN5torch8autograd12AutogradMetaE",
        "_ZN2at15get_num_threadsEv",
        "_ZN3c104warnERKNS_7WarningE",
        "_ZTHN3c104impl26raw_local_dispatch_key_setE",
        "_ZNSt7__cxx1118basic_stringstreamIcSt11char_traitsIcESaIcEEC1Ev",
        "_ZNSolsEi",
        "_ZN5torch16PyWarningHandlerC1Ev",
        "stderr",
    ],
)
def test_what_headers_of_torch_bring_along_is_permitted(name: str) -> None:
    assert remarks("torch", name) == []


@pytest.mark.parametrize(
    "name",
    [
        "_ZN3c1034ApproximateClockToUnixTimeConverter13makeConverterEv",
        "_ZN2at14DynamicLibraryC1EPKcS2_b",
        "_ZN2at12MapAllocatorC1E",
        "_ZN3c105utils7set_envEPKcS2_b",
        "_ZN2at24set_record_function_tls_E",
        "_ZN6caffe210ThreadPool3runE",
        "_ZN5torch8autograd8profiler14enableProfilerE",
        "_ZNSt12__basic_fileIcE8sys_openEiSt13_Ios_Openmode",
        "_ZN9__gnu_cxx13stdio_filebufIcSt11char_traitsIcEEC1EiSt13_Ios_Openmodem",
        "_ZNSt13random_device7_M_initE",
        "_ZNSt6chrono3_V212steady_clock3nowEv",
        "environ",
    ],
)
def test_a_name_on_no_list_is_refused_by_that_name(name: str) -> None:
    (told,) = remarks("torch", name)
    assert name in told


def test_a_clock_that_the_source_names_is_left_to_the_rules_on_sources() -> None:
    built = BuiltLibrary(name="a.so", language="cpp", imports=("_ZNSt6chrono3_V212steady_clock3nowEv",))
    source = "#include <chrono>\nlong f() { return std::chrono::steady_clock::now().time_since_epoch().count(); }"
    assert examine_built([built], [source], frozenset()) == []


@pytest.mark.parametrize(
    ("source", "permitted"),
    [
        ('void f() { fprintf(stderr, "no"); fputs("no", stdout); std::fflush(stdout); }', True),
        ('void f() { asm volatile("" ::: "memory"); fprintf(stderr, "no"); }', True),
        ("// what goes to stderr\n#define SAY(...) fprintf(stderr, __VA_ARGS__)\nvoid f() { SAY(1); }", True),
        ('void f() { fprintf(stderr, "(stderr)", fflush(stderr)); g(stderr); }', False),
        ("void f() { stdout->_fileno = 7; fflush(stdout); }", False),
        ("FILE* out = stderr; void f() { fflush(stderr); }", False),
        ("#define fflush(a) (a)->_fileno = 7\nvoid f() { fflush(stderr); }", False),
        ('extern FILE* mine __asm__("std" "err"); void f() { fflush(stderr); }', False),
        ("void fputs(FILE* f, int n) { f->_fileno = n; } void f() { fputs(stderr, 7); }", False),
    ],
)
def test_the_c_library_s_streams_are_there_to_print_to(source: str, permitted: bool) -> None:
    built = BuiltLibrary(name="a.so", language="cpp", imports=("stdout", "stderr"))
    assert (examine_built([built], [source], frozenset()) == []) is permitted


@pytest.mark.parametrize(
    "name", ["PyTuple_New", "PyObject_GetAttrString", "PyGILState_Ensure", "PyModule_AddObject", "_Py_Dealloc"]
)
def test_an_extension_works_with_objects_of_its_own(name: str) -> None:
    assert remarks("torch", name) == []


@pytest.mark.parametrize(
    "name",
    ["PyImport_ImportModule", "PyEval_GetFrame", "PyFunction_GetGlobals", "PySys_GetObject", "PyThreadState_GetFrame"],
)
def test_modules_and_frames_are_on_no_list(name: str) -> None:
    (told,) = remarks("torch", name)
    assert "on no list of what an extension needs of the interpreter" in told


GUARD = "_ZN3c104impl23ExcludeDispatchKeyGuardC1ENS_14DispatchKeySetE"


@pytest.mark.parametrize("name", [GUARD, "PyEval_GetBuiltins", "PyFrame_GetBack"])
def test_what_only_headers_call_is_permitted_where_the_source_does_not_speak_of_it(name: str) -> None:
    speaks = f"#include <torch/extension.h>\nvoid run() {{ auto kept = {name}(); c10::DispatchKeySet keys; }}\n"
    renames = '#include <torch/extension.h>\nextern "C" void* own() asm("P" "y");\n'
    built = BuiltLibrary(name="a.so", language="torch", needed=(), imports=(name,))
    assert examine_built([built], [SOURCE], frozenset()) == []
    assert examine_built([built], [speaks], frozenset())
    assert examine_built([built], [renames], frozenset())


@pytest.mark.parametrize(
    "source",
    [
        "int __cpu_indicator_init();",
        "int __cpu_indi\\\ncator_init();",
        "#define JOINED(a, b) a##b\nint JOINED(__cpu_indi, cator_init)();",
        'extern "C" int f() __asm__ ("__cpu_indi" "cator_init");',
        "int __REDIRECT(f, (), NAME);",
    ],
)
def test_asking_the_processor_at_load_time_is_permitted_unless_the_source_may_mean_it(source: str) -> None:
    built = BuiltLibrary(name="a.so", language="cpp", needed=(), imports=(), starters=("__cpu_indicator_init",))
    assert examine_built([built], ['int f() { return __builtin_cpu_supports("avx2"); }'], frozenset()) == []
    (told,) = examine_built([built], [source], frozenset())
    assert "runs when it is loaded" in told.text


def test_setting_the_process_s_mode_at_load_time_is_evidence() -> None:
    built = BuiltLibrary(name="a.so", language="cpp", needed=(), imports=(), starters=("set_fast_math",))
    (told,) = examine_built([built], ["int f();"], frozenset())
    assert told.hard


def test_of_an_extension_for_cuda_the_interpreter_s_names_are_judged_too() -> None:
    def told(*imports: str) -> list[str]:
        built = BuiltLibrary(name="a.so", language="torch_cuda", needed=(), imports=imports)
        return [remark.text for remark in examine_built([built], [SOURCE], frozenset())]

    assert told("PyObject_Str", "PyGILState_Check", "dlopen", "ioctl") == []
    (text,) = told("PyImport_ImportModule", "dlopen")
    assert "PyImport_ImportModule" in text
