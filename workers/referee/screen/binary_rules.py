"""What a candidate may be built of: judged on the built libraries and on resolved names, by lists of what is permitted.

The rules of `cpp_rules` and `screen` read what a source says and give the better messages. These read what came of it,
so that renaming something (by a macro, an assembler label, another module's import) changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from services.ports.devices import BuiltLibrary, ReachedName
from workers.referee.screen.cpp_source import SourceFacts, read_cpp, scan_cpp
from workers.referee.screen.library_names import is_listed
from workers.referee.screen.module_names import PERMITTED_OF_STREAMS, is_permitted_name, is_permitted_submodule
from workers.referee.screen.rules import (
    BANNED_NAMES,
    CHEAP_OPERATORS,
    LIBRARY_FILES,
    PERMITTED_IN_OS,
    PERMITTED_MODULES,
    PERMITTED_TORCH,
    Remark,
    permitted,
)

SYSTEM_FILES = re.compile(
    r"(?:libc|libm|libmvec|libstdc\+\+|libgomp|libgcc_s|libpthread|libdl|librt|ld-linux[\w-]*)\.so\.\d+"
)
TORCH_FILES = re.compile(r"lib(?:c10|c10_cuda|torch|torch_cpu|torch_cuda|torch_python)\.so|libpython3[\d.]*\.so[\d.]*")
_OF_TORCH = ("torch", "torch_cuda", "cpp_torch")
"""Languages of sources that include headers of torch, whose libraries they are linked with."""
CUDA_FILES = re.compile(r"lib(?:cuda|cudart|nvrtc)\.so\.\d+")
_CUDA_STARTERS = re.compile(r"libcudart_static_[0-9a-f]{40}|_ZL\d+__sti____cudaRegisterAll\w*")
"""What nvcc and the runtime that it links in run at load time: they register the kernels."""
_OF_PROCESSORS = "__cpu_indicator_init"
"""What g++ links in where a source asks which processor it runs on, or has functions made for several: permitted where
the source does not speak of it, and gives no function another name."""
_SPLICE = re.compile(r"\\[ \t]*\n")
_NAMED_OTHERWISE = re.compile(
    r"##|%:%:|\?\?|__\w*REDIR\w*|[\w)\]]\s*\b(?:asm|__asm|__asm__)\b\s*(?:\(|$)", re.MULTILINE
)
_OF_CUDA = re.compile(r"cudart_static|__sti__|cudaRegisterAll|constructor|init_array|__asm__\s*\(\s*\"")
"""What a source says that would pass something of its own off as that."""
_MATH = (
    "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp10 exp2 expm1 fabs fdim "
    "floor fma fmax fmin fmod frexp hypot ilogb j0 j1 jn ldexp lgamma lgamma_r llrint llround log log10 log1p "
    "log2 logb lrint lround modf nan nearbyint nextafter nexttoward pow remainder remquo rint round roundeven "
    "scalbln scalbn sin sincos sinh sqrt tan tanh tgamma trunc y0 y1 yn cexp clog cpow csqrt csin ccos ctan csinh "
    "ccosh ctanh cabs carg cimag creal conj cproj significand"
)
_C = (
    "memcpy memmove memset memcmp memchr mempcpy bcmp strlen strcmp strncmp strcpy strncpy strcat strchr strrchr "
    "strstr strnlen strdup strtol strtoul strtoll strtoull strtof strtod atoi atol atof malloc calloc realloc "
    "free aligned_alloc posix_memalign memalign valloc malloc_usable_size qsort bsearch abs labs llabs rand "
    "rand_r srand abort __assert_fail assert printf puts putchar fprintf fputs fputc fwrite fflush sprintf "
    "snprintf vsnprintf perror __printf_chk __fprintf_chk __sprintf_chk __snprintf_chk "
    "__vsnprintf_chk __once_proxy __memcpy_chk __memmove_chk __memset_chk __strcpy_chk __strcat_chk __stack_chk_fail "
    "__errno_location __tls_get_addr __libc_single_threaded __cxa_finalize __cxa_atexit __cxa_thread_atexit_impl "
    "__gmon_start__ _ITM_deregisterTMCloneTable _ITM_registerTMCloneTable _dl_find_object madvise munmap "
    "posix_madvise sysconf get_nprocs get_nprocs_conf sched_yield sched_getcpu sched_getaffinity __sched_cpucount "
    "__sched_cpualloc __sched_cpufree usleep nanosleep pthread_create pthread_join pthread_detach pthread_self "
    "pthread_equal pthread_once pthread_key_create pthread_key_delete pthread_getspecific pthread_setspecific "
    "pthread_setaffinity_np pthread_getaffinity_np isnan isinf finite toupper tolower isspace isdigit "
    "__ctype_b_loc sem_init sem_post __isoc99_sscanf __isoc23_strtol sem_wait sem_destroy feraiseexcept "
    "fesetround fegetround feclearexcept fegetenv fesetenv feholdexcept"
)
_C_NAMES = frozenset(_C.split()) | {f"{name}{end}" for name in _MATH.split() for end in ("", "f", "l", "f128")}
_C_PATTERNS = re.compile(
    r"_ZGV\w+|__\w+_finite|GOMP_\w+|GOACC_\w+|omp_\w+|_Unwind_\w+|__cxa_\w+|__gxx_personality_v0|__dynamic_cast|"
    r"__atomic_\w+|__sync_\w+|__u?(?:div|mod|mul|float|fix|extend|trunc|add|sub|neg|cmp|eq|ne|lt|le|gt|ge|powi|pop|clz|"
    r"ctz|par|ffs|bswap|lshr|ashl|ashr)\w*|__cpu_(?:model|indicator_init|features2?)|"
    r"pthread_(?:mutex|cond|rwlock|spin|barrier|attr|condattr|mutexattr|setname|getname)\w*|__pthread_\w+|"
    r"_Z(?:n|d)[wal]\w*|_ZN?K?S[tasoid]\w*|_ZT[IVSTC]\w+|_ZGR\w+|_ZTHN?St\w*|_ZGTt\w*|_ZNK?10__cxxabiv1\w*|"
    r"_ZN9__gnu_cxx(?:27__verbose_terminate_handler|20recursive_init_error|\d+__concurrence_)\w*"
)
_VISIBLE = {"mmap": "mmap", "mmap64": "mmap", "getenv": "getenv"} | {
    name: name for name in ("clock", "clock_gettime", "gettimeofday", "omp_get_wtime", "time", "timespec_get")
}
"""Permitted where the source calls them by their own names: there its rules see what they are called with."""
_CLOCKS = re.compile(r"_ZNSt6chrono3_V2\d+\w+_clock3nowEv")
"""Those of C++: permitted where the source names `chrono`, which its rules remark."""
_STREAMS = ("stdout", "stderr")
"""The C library's own objects. Permitted where the source does nothing with them but print."""
PRINTERS = frozenset({"fprintf", "vfprintf", "fputs", "fputc", "putc", "fwrite", "fflush"})
_IN_PLACE = re.compile(r"[(,]\s*(?:stdout|stderr)\s*(?=[,)])")
_TEXTS = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)+'")
_NESTED = re.compile(r"\([^()]*\)")
_LABELLED = re.compile(
    r"[\w)\]]\s*\b(?:asm|__asm|__asm__)\b\s*(?:\(|$)|#\s*define\s+(?:\w*print\w*|f?put\w*|fwrite|fflush)\b",
    re.MULTILINE,
)
"""What gives another function a printer's name, or an object another name."""
_FILES = re.compile(r"_ZNK?St\d*(?:__)?(?:basic_(?:file|[io]?fstream)|10filesystem|7__cxx11\d+basic_[io]?fstream)\w*")
_TORCH = re.compile(r"_ZN[KVRO]*(?:2at|3c10|5torch|6caffe2|8pybind11)\w*|_Z(?!N[KVRO]*\d|\d)\w+")
"""Its own namespaces; not those of libraries that lie in its files (oneDNN, FBGEMM, …)."""
_TORCH_REFUSED = (
    (
        re.compile(r"_ZNK?2at(?:3cpu|4cuda3|4meta|6native|5blas)(?P<rest>\w*)"),
        "calls a library kernel past the dispatcher",
    ),
    (re.compile(r"_ZNK?2at4_ops(?P<rest>\d+\w+?)10redispatch"), "calls a library kernel past the dispatcher"),
    (re.compile(r"_ZNK?3c1010Dispatcher\w*"), "calls library kernels by name"),
    (re.compile(r"_ZNK?3c104impl\d+\w*(?:Guard|LocalDispatchKey)\w*"), "hides work from observation"),
    (re.compile(r"_ZNK?5torch(?:3jit|4cuda|8autograd6Engine|7dynamo|8inductor)\w*"), "has PyTorch run hidden work"),
    (
        re.compile(r"_ZNK?6caffe2(?!8TypeMeta|6detail\w*metadata_index)\w*"),
        "calls a library kernel past the dispatcher",
    ),
)
_OF_FACTORIES = re.compile(r"_ZN3c104impl23ExcludeDispatchKeyGuard[CD]\w+")
"""What `torch::empty` and its like do, to leave autograd out: permitted where the source does not speak of keys."""
_KEYS = "DispatchKey"
_SPEAKS_OF_KEYS = re.compile(r"DispatchKey|AutoDispatch|AutoNonVariable|InferenceMode|##")
_STREAM_GUARDS = re.compile(r"_ZNK?3c104impl\d+\w*(?:DeviceGuard|StreamGuard|ImplRegistry)\w*")
_VECTOR_MATH = re.compile(r"Sleef_[a-z]\w*")
"""What torch's vector classes call for `exp`, `tanh` and their like: one function for all lanes."""
_PYTHON = re.compile(r"_?Py[A-Z]\w*|_?Py_\w+")
_PYTHON_PERMITTED = re.compile(
    r"_?Py(?:Arg|Bool|Buffer|ByteArray|Bytes|CFunction|CMethod|Callable|Capsule|Complex|Dict|Err|Exc|Exception|Float|"
    r"FrozenSet|GILState|Gen|Index|InstanceMethod|Iter|List|Long|Mapping|Mem|MemoryView|Method|ModuleDef|Number|Object|"
    r"Property|Sequence|Set|Slice|State|StructSequence|Thread|Tuple|Type|Unicode|Weakref)_\w+|PyBaseObject_Type|"
    r"PyModule_(?:Add\w+|Create2|New\w*|Set\w+|Type)|PyEval_(?:AcquireThread|ReleaseThread|RestoreThread|SaveThread)|"
    r"_?PyThreadState_(?:New|Clear|Delete\w*|Get|GetUnchecked|UncheckedGet|Swap)|PyInterpreterState_(?:Get|GetID|Main)|"
    r"Py_(?:BuildValue|DecRef|EnterRecursiveCall|GetVersion|IncRef|IsInitialized|IsNone|IsTrue|IsFalse|Is|"
    r"LeaveRecursiveCall|NewRef|XNewRef)|_Py_\w+"
)
"""Of the interpreter's functions: those on objects of one's own. What imports modules, runs texts, or reveals frames
and what they see is on no list: a module names what it uses, in Python."""
_PYTHON_OF_HEADERS = frozenset({
    "PyEval_GetBuiltins", "PyFrame_GetBack", "PyFrame_GetCode", "PyFrame_GetLineNumber", "PyInterpreterState_GetDict",
})  # fmt: skip
"""What pybind11's headers call: permitted where the source does not name them."""
_BLAS = re.compile(
    r"(?:cblas_)?[sdczh]?(?:gemm|gemv|symm|trsm|ger|dot|axpy|scal|gemm_batch\w*)_?(?:64_?)?|mkl_\w+|dnnl_\w+"
)
_PRODUCTS = "matmul"
_BY_NUMBER = (
    "is on no list of what a kernel needs: C++'s barriers, latches, semaphores and waiting atomics call the system by "
    "number; use a mutex and a condition variable"
)
_INSTRUCTIONS = {
    "syscall": ("calls the system past the C library", True),
    "sysenter": ("calls the system past the C library", True),
    "int": ("calls the system past the C library", True),
    "svc": ("calls the system past the C library", True),
    "rdtsc": ("reads a clock: a kernel needs none", False),
    "rdtscp": ("reads a clock: a kernel needs none", False),
}


def examine_built(libraries: Sequence[BuiltLibrary], sources: Sequence[str], library: frozenset[str]) -> list[Remark]:
    """Rules that the built libraries break, evidence first. `library`: operators that the problem permits."""
    named = {name for facts in map(read_cpp, sources) for name in _names_of(facts)}
    if not any(map(_hides_a_stream, sources)):
        named |= set(_STREAMS)
    if any(map(_LABELLED.search, sources)):
        named |= {*_PYTHON_OF_HEADERS, _KEYS}
    if any(map(_SPEAKS_OF_KEYS.search, sources)):
        named.add(_KEYS)
    forged = any(_OF_CUDA.search(text) for text in sources)
    asks = not any(map(_may_be_of_processors, sources))
    found = {remark for built in libraries for remark in _of(built, named, library, forged=forged, asks=asks)}
    return sorted(found, key=lambda remark: (not remark.hard, remark.text))


def _may_be_of_processors(text: str) -> bool:
    """Whether a source may itself define what g++ links in where processors are asked about."""
    spliced = _SPLICE.sub("", text)
    return _OF_PROCESSORS in spliced or _NAMED_OTHERWISE.search(spliced) is not None


def _names_of(facts: SourceFacts) -> Iterator[str]:
    """What a source calls by its own name, and `chrono` where it names that."""
    for mention in facts.calls:
        yield mention.name.removeprefix("::").removeprefix("std::")
    if any("chrono" in mention.name.split("::") for mention in (*facts.types, *facts.calls)):
        yield "chrono"


def _hides_a_stream(text: str) -> bool:
    """Whether a source does something else with `stdout` or `stderr` than to print there."""
    facts, own = scan_cpp(text), read_cpp(text)
    if _LABELLED.search(text) or PRINTERS & (facts.functions | own.functions | own.own):
        return True
    printed = sum(
        len(_IN_PLACE.findall(_outermost(one.arguments)))
        for one in facts.calls
        if one.name.removeprefix("::").removeprefix("std::") in PRINTERS
    )
    return sum(one.name in _STREAMS for one in facts.mentions) > printed


def _outermost(arguments: str) -> str:
    """A call's arguments without texts, and without what stands between parentheses of their own."""
    text = _TEXTS.sub("", arguments.strip())
    inner = text[1:-1]
    while (shorter := _NESTED.sub("", inner)) != inner:
        inner = shorter
    return f"({inner})"


def _of(
    built: BuiltLibrary,
    named: set[str],
    library: frozenset[str],
    *,
    forged: bool = False,
    asks: bool = False,
) -> Iterator[Remark]:
    """`asks`: whether what is called like g++'s own question which processor this is can be nothing else."""
    if built.broken:
        yield _remark(f"a built library cannot be read: {built.broken}")
        return
    for name in built.needed:
        if (reason := _refused_file(name, built.language, library)) is not None:
            yield _remark(f"`{name}` {reason}")
    for name in [one for one in built.starters if not (asks and one == _OF_PROCESSORS)]:
        if forged or not (built.language.endswith("cuda") and _CUDA_STARTERS.fullmatch(name)):
            yield _remark(f"`{name}` runs when it is loaded")
    for name in built.instructions:
        reason, hard = _INSTRUCTIONS[name]
        yield Remark(line=0, text=f"a built library: the instruction `{name}` {reason}", hard=hard)
    is_cuda = built.language in ("cuda", "torch_cuda")  # its runtime is linked in, and imports what it likes of C
    for name in filter(_PYTHON.fullmatch, built.imports) if is_cuda else built.imports:
        if (reason := _refused_import(name, built.language, named, library)) is not None:
            yield _remark(f"`{name}` {reason}")


def _refused_file(name: str, language: str, library: frozenset[str]) -> str | None:
    if SYSTEM_FILES.fullmatch(name):
        return None
    if language in _OF_TORCH and TORCH_FILES.fullmatch(name):
        return None
    if language.endswith("cuda") and CUDA_FILES.fullmatch(name):
        return None
    for pattern, operators in LIBRARY_FILES.items():
        if re.fullmatch(pattern, name):
            if operators & library:
                return None
            return "is a library of kernels, and the problem's LIBRARY permits none of them"
    return "is loaded with it, and the compile stage did not build it"


def _refused_import(name: str, language: str, named: set[str], library: frozenset[str]) -> str | None:
    if _FILES.fullmatch(name):
        return "reads or writes files"
    by_source = _judged_by_source(name, named)
    if by_source is not None:
        return by_source or None
    if not is_listed(name):
        return _refused_of_torch(name, library) or "is on no list of what a kernel needs"
    if name in _VISIBLE:
        return None if _VISIBLE[name] in named else "is called, and the source does not say so"
    if name == "syscall":
        return _BY_NUMBER
    if name in _C_NAMES or _C_PATTERNS.fullmatch(name):
        return None
    if _BLAS.fullmatch(name):
        return None if permitted(_PRODUCTS, library) else "does the work by a library call"
    if language in _OF_TORCH:
        return _refused_of_torch(name, library)
    return "is on no list of what a kernel needs"


def _judged_by_source(name: str, named: set[str]) -> str | None:
    """Of what is permitted where the source speaks of it, or where it does not and headers bring it along: why it is
    refused, empty where it is not. None for everything else."""
    if _CLOCKS.fullmatch(name):
        return "" if "chrono" in named else "reads a clock, and the source does not say so"
    if name in _STREAMS:
        return "" if name in named else "is used, and the source does not only print there"
    if name in _PYTHON_OF_HEADERS:
        return "reaches into the interpreter" if name in named else ""
    if _OF_FACTORIES.fullmatch(name):
        return "hides work from observation" if _KEYS in named else ""
    return None


def _refused_of_torch(name: str, library: frozenset[str]) -> str | None:
    if _PYTHON.fullmatch(name):
        return (
            None if _PYTHON_PERMITTED.fullmatch(name) else "is on no list of what an extension needs of the interpreter"
        )
    if _STREAM_GUARDS.fullmatch(name) or _VECTOR_MATH.fullmatch(name):
        return None
    for pattern, reason in _TORCH_REFUSED:
        match = pattern.match(name)
        if match is not None and not _is_permitted_kernel(match.groupdict().get("rest"), library):
            return reason
    return None if _TORCH.fullmatch(name) else "is on no list of what a kernel needs"


def _is_permitted_kernel(mangled: str | None, library: frozenset[str]) -> bool:
    """Whether the function that a mangled name continues with (`7softmaxERK…`) allocates, views or is permitted."""
    match = re.match(r"(\d+)", mangled or "")
    if match is None or mangled is None:
        return False
    name = mangled[match.end() : match.end() + int(match[1])]
    name = name.removesuffix("_out").removesuffix("_outf").removesuffix("_symint").removesuffix("_cpu")
    return name in CHEAP_OPERATORS or permitted(name.rstrip("_"), library)


def examine_reached(reached: Sequence[ReachedName]) -> list[Remark]:
    """Rules that the names in a module break, by what they really lead to, evidence first."""
    found = {
        Remark(line=one.line, text=f"`{one.written}` {reason}", hard=True)
        for one in reached
        if (reason := _refused_name(one)) is not None
    }
    return sorted(found, key=lambda remark: (remark.line, remark.text))


def _refused_name(one: ReachedName) -> str | None:
    """Why a name may not be used; None where it may. What the screen refuses by its text is left to it."""
    if one.name != one.written and (reason := _banned(one.name)) is not None:
        return f"is `{one.name}`: it {reason}"
    root = one.modules[0]
    for module in one.modules:
        if not _is_permitted_module(module):
            return f"reaches the module `{module}`, which is on no list of what a kernel needs"
        if not is_permitted_submodule(module):
            return f"reaches the module `{module}`, which a kernel does not need"
        if module.split(".")[0] != root and (root, module) not in {("os", "posixpath"), ("os", "ntpath")}:
            return f"reaches the module `{module}` through `{root}`"
    return _refused_inside(one, root)


def _refused_inside(one: ReachedName, root: str) -> str | None:
    """Why a name of the last module on the way may not be used, or that module as a value."""
    module = one.modules[-1]
    if one.handed_on:
        return "is passed on as a value, so the names that are read from it cannot be checked"
    if one.name == module:
        return None
    if module == "sys" and len(parts := one.name.split(".")) > 2 and parts[2] not in PERMITTED_OF_STREAMS:
        return "is on no list of what a kernel needs of a stream"
    inside = one.name.removeprefix(f"{module}.").split(".")[0]
    if root == "os" and module == "os" and inside not in PERMITTED_IN_OS:
        return "is on no list of what a kernel needs of the system"
    if not is_permitted_name(module, inside):
        return f"is on no list of what a kernel needs of `{module}`"
    return _refused_of_ours(inside) if module == "kernelwright_rt" else None


def _refused_of_ours(name: str) -> str | None:
    from kernelwright_rt import __all__ as public

    return None if name in public else "is no public name of kernelwright_rt"


def _is_permitted_module(name: str) -> bool:
    if name == "torch" or name.startswith("torch."):
        return (
            any(name == one or name.startswith(f"{one}.") for one in PERMITTED_TORCH if one != "torch")
            or name == "torch"
        )
    return name.split(".")[0] in PERMITTED_MODULES


def _banned(dotted: str) -> str | None:
    parts = dotted.split(".")
    for length in range(len(parts), 1, -1):
        if (reason := BANNED_NAMES.get(".".join(parts[:length]))) is not None:
            return reason
    return None


def _remark(text: str) -> Remark:
    return Remark(line=0, text=f"a built library: {text}", hard=True)
